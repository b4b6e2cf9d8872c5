"""Pooling: `avg_pool2d` and `max_pool2d`, on integers and on floats; a mean over the image is an average
pool. Those of Relax's `avg_pool1d` and `max_pool1d` are of images of one row.
"""

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import COUNT_IN_MULTIPLIER, Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import Graph, dtype_of, operator_name, shape_of
from target_arch.relax.ir.variables import variables_of
from target_arch.relax.patterns.matcher import NCHW, NHWC, Draft, Match, Matcher, full_range
from target_arch.relax.patterns.pieces import (
    INTEGER_ACTIVATIONS,
    clipped,
    dequantized,
    float_activation,
    float_ending,
    input_quantization,
    integer_activation,
    integer_ending,
    output_quantization,
)
from target_arch.relax.patterns.windows import LAYOUTS, one_of, pair, sides

_Sides = tuple[int, int, int, int]

_AVG, _MAX = ("nn.avg_pool2d", "nn.avg_pool1d"), ("nn.max_pool2d", "nn.max_pool1d")
_KINDS = dict.fromkeys(_AVG, OperatorKind.AVG_POOL2D) | dict.fromkeys(_MAX, OperatorKind.MAX_POOL2D)


@frozen(kw_only=True, eq=False)
class _Pool:
    """The parameters of a pool call, or of a mean over height and width."""

    kind: OperatorKind
    attributes: Mapping[str, Attribute]
    layout: str


def stored_avg_pool2d() -> Matcher:
    """`astype int32 → avg_pool2d → astype → [clip]`: TFLite's average of stored integers."""
    pool = is_op("relax.nn.avg_pool2d")(is_op("relax.astype")(wildcard()))
    return _stored(is_op("relax.astype")(pool), pool, "astype")


def stored_max_pool2d() -> Matcher:
    """`max_pool2d → [clip]` of stored integers."""
    pool = is_op("relax.nn.max_pool2d")(wildcard())
    return _stored(pool, pool, "nn.max_pool2d")


def integer_avg_pool2d() -> Matcher:
    """`dequantize → avg_pool2d → [relu | clip] → quantize`."""
    return _integer_pool(*_AVG)


def integer_max_pool2d() -> Matcher:
    """`dequantize → max_pool2d → [relu | clip] → quantize` with equal parameters."""
    return _integer_pool(*_MAX)


def integer_mean() -> Matcher:
    """`dequantize → mean over height and width → [relu | clip] → quantize`."""
    return _integer_pool("mean")


def float_avg_pool2d() -> Matcher:
    """`avg_pool2d → [relu | clip]` on floats."""
    return _float_pool(*_AVG)


def float_max_pool2d() -> Matcher:
    """`max_pool2d → [relu | clip]` on floats."""
    return _float_pool(*_MAX)


def float_mean() -> Matcher:
    """`mean over height and width → [relu | clip]` on floats."""
    return _float_pool("mean")


def _integer_pool(*names: str) -> Matcher:
    x = dequantized()
    pool = one_of(names, x)
    ending = integer_ending(pool)
    calls = {"x": x, "pool": pool, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_integer)


def _float_pool(*names: str) -> Matcher:
    pool = one_of(names, wildcard())
    ending = float_ending(pool, names)
    calls = {"pool": pool, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_float)


def _stored(value: Any, pool: Any, root: str) -> Matcher:
    clamp = clipped(value)
    calls = {"pool": pool, "clamp": clamp}
    return Matcher(roots=("clip", root), pattern=clamp | value, calls=calls, build=_build_stored)


def _build_stored(match: Match) -> Draft | None:
    call = match.required("pool")
    pool = _read(match.graph, call)
    source = call.args[0]
    inner = match.graph.call(source)
    if (
        inner is not None
        and operator_name(inner) == "astype"
        and pool is not None
        and pool.kind is OperatorKind.AVG_POOL2D
    ):
        source = inner.args[0]
    if pool is None or not match.is_activation(source) or dtype_of(source) not in INTEGER_ACTIVATIONS:
        return None
    if dtype_of(match.root) != dtype_of(source):
        return None
    least, most = full_range(dtype_of(source))
    clamp = match.call("clamp")
    if clamp is not None:
        least, most = max(least, int(clamp.args[1].value)), min(most, int(clamp.args[2].value))
    return Draft(
        kind=pool.kind,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        attributes={**pool.attributes, "activation_min": least, "activation_max": most},
        layout=pool.layout,
    )


def _build_integer(match: Match) -> Draft | None:
    call = match.required("pool")
    x, out, pool = input_quantization(match, "x"), output_quantization(match), _read(match.graph, call)
    mean = operator_name(call) == "mean" and match.graph.arithmetic == Arithmetic.TFLITE
    counted: dict[str, Attribute] = {COUNT_IN_MULTIPLIER: True} if mean else {}
    if x is None or out is None or pool is None:
        return None
    if pool.kind is OperatorKind.MAX_POOL2D and x != out:  # a maximum keeps its scale
        return None
    source = match.required("x").args[0]
    return Draft(
        kind=pool.kind,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        attributes={**pool.attributes, **counted, **integer_activation(match, out)},
        layout=pool.layout,
        quantizations={source: x, match.root: out},
    )


def _build_float(match: Match) -> Draft | None:
    call = match.required("pool")
    pool, activation, source = _read(match.graph, call), float_activation(match), call.args[0]
    if pool is None or activation is None or not match.is_activation(source) or dtype_of(source) != "float32":
        return None
    return Draft(
        kind=pool.kind,
        inputs=(source,),
        output=match.root,
        attributes={**pool.attributes, **activation},
        layout=pool.layout,
    )


def _read(graph: Graph, call: Any) -> _Pool | None:
    return _read_mean(graph, call) if operator_name(call) == "mean" else _read_pool(call)


def _read_mean(graph: Graph, call: Any) -> _Pool | None:
    """A mean over exactly height and width of an image, or over the columns of one that is held as a
    convolution made it, as a pool over all of it.
    """
    shape = shape_of(call.args[0])
    axes = sorted(int(axis) % len(shape) for axis in call.attrs.axis or ())
    if len(shape) == 3 and axes == [2] and _is_convolved(graph, call.args[0]):
        shape, axes = (*shape[:2], 1, shape[2]), [2, 3]
    layout = NHWC if axes == [1, 2] else NCHW if axes == [2, 3] else None
    if len(shape) != 4 or layout is None:
        return None
    kernel = tuple(shape[axis] for axis in axes)
    attributes: dict[str, Attribute] = {
        "kernel": kernel,
        "strides": kernel,
        "padding": (0, 0, 0, 0),
        "count_include_pad": False,
    }
    return _Pool(kind=OperatorKind.AVG_POOL2D, attributes=attributes, layout=layout)


def _is_convolved(graph: Graph, value: Any) -> bool:
    """Whether a convolution along one axis made the value, or one of those it was made of, but for operators
    that keep batch and channels: on each element, and pools. Where others are among them, the pool takes a
    transpose.
    """
    seen, open_ones = {value}, [value]
    while open_ones:
        call = graph.call(open_ones.pop())
        if call is not None and operator_name(call) == "nn.conv1d":
            return True
        for before in () if call is None else variables_of(call):
            if before not in seen and shape_of(before)[:2] == shape_of(value)[:2]:
                seen.add(before)
                open_ones.append(before)
    return False


def _read_pool(call: Any) -> _Pool | None:
    axes = str(call.attrs.layout)
    if axes not in LAYOUTS or any(int(step) != 1 for step in call.attrs.dilation):
        return None
    kind = _KINDS[operator_name(call)]
    kernel, strides = pair(call.attrs.pool_size), pair(call.attrs.strides)
    padding = sides(call.attrs.padding, axes)
    covering = _covering(call, axes, kernel, strides, padding)
    counts_padding = bool(call.attrs.count_include_pad)
    if kind is OperatorKind.AVG_POOL2D and counts_padding and covering != padding:
        return None
    attributes: dict[str, Attribute] = {"kernel": kernel, "strides": strides, "padding": covering}
    if kind is OperatorKind.AVG_POOL2D:
        attributes["count_include_pad"] = counts_padding
    return _Pool(kind=kind, attributes=attributes, layout=LAYOUTS[axes])


def _covering(
    call: Any, axes: str, kernel: tuple[int, ...], strides: tuple[int, ...], padding: _Sides
) -> _Sides:
    """The padding, grown at bottom and right as far as `ceil_mode` reaches."""
    before, after = shape_of(call.args[0]), shape_of(call)
    top, left, bottom, right = padding

    def reach(axis: str, along: int, start: int) -> int:
        at = axes.index(axis)
        return (after[at] - 1) * strides[along] + kernel[along] - before[at] - start

    down = reach("H", 0, top) if "H" in axes else 0
    return top, left, max(bottom, down), max(right, reach("W", 1, left))
