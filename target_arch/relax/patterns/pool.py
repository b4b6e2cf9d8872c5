"""Pooling: `avg_pool2d` and `max_pool2d`, on integers and on floats; a mean over the image is an average
pool.
"""

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.patterns.conv import four_sides
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

_KINDS = {"nn.avg_pool2d": OperatorKind.AVG_POOL2D, "nn.max_pool2d": OperatorKind.MAX_POOL2D}


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
    return _integer_pool("nn.avg_pool2d")


def integer_max_pool2d() -> Matcher:
    """`dequantize → max_pool2d → [relu | clip] → quantize` with equal parameters."""
    return _integer_pool("nn.max_pool2d")


def integer_mean() -> Matcher:
    """`dequantize → mean over height and width → [relu | clip] → quantize`."""
    return _integer_pool("mean")


def float_avg_pool2d() -> Matcher:
    """`avg_pool2d → [relu | clip]` on floats."""
    return _float_pool("nn.avg_pool2d")


def float_max_pool2d() -> Matcher:
    """`max_pool2d → [relu | clip]` on floats."""
    return _float_pool("nn.max_pool2d")


def float_mean() -> Matcher:
    """`mean over height and width → [relu | clip]` on floats."""
    return _float_pool("mean")


def _integer_pool(name: str) -> Matcher:
    x = dequantized()
    pool = is_op(f"relax.{name}")(x)
    ending = integer_ending(pool)
    calls = {"x": x, "pool": pool, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_integer)


def _float_pool(name: str) -> Matcher:
    pool = is_op(f"relax.{name}")(wildcard())
    ending = float_ending(pool, (name,))
    calls = {"pool": pool, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_float)


def _stored(value: Any, pool: Any, root: str) -> Matcher:
    clamp = clipped(value)
    calls = {"pool": pool, "clamp": clamp}
    return Matcher(roots=("clip", root), pattern=clamp | value, calls=calls, build=_build_stored)


def _build_stored(match: Match) -> Draft | None:
    call = match.required("pool")
    pool = _read(call)
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
    x, out, pool = input_quantization(match, "x"), output_quantization(match), _read(call)
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
        attributes={**pool.attributes, **integer_activation(match, out)},
        layout=pool.layout,
        quantizations={source: x, match.root: out},
    )


def _build_float(match: Match) -> Draft | None:
    call = match.required("pool")
    pool, activation, source = _read(call), float_activation(match), call.args[0]
    if pool is None or activation is None or not match.is_activation(source) or dtype_of(source) != "float32":
        return None
    return Draft(
        kind=pool.kind,
        inputs=(source,),
        output=match.root,
        attributes={**pool.attributes, **activation},
        layout=pool.layout,
    )


def _read(call: Any) -> _Pool | None:
    return _read_mean(call) if operator_name(call) == "mean" else _read_pool(call)


def _read_mean(call: Any) -> _Pool | None:
    """A mean over exactly height and width of an image, as a pool over all of it."""
    shape = shape_of(call.args[0])
    axes = sorted(int(axis) % len(shape) for axis in call.attrs.axis or ())
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


def _read_pool(call: Any) -> _Pool | None:
    layout = str(call.attrs.layout)
    if layout not in (NHWC, NCHW) or any(int(step) != 1 for step in call.attrs.dilation):
        return None
    kind = _KINDS[operator_name(call)]
    kernel = tuple(int(extent) for extent in call.attrs.pool_size)
    strides = tuple(int(step) for step in call.attrs.strides)
    padding = four_sides(call.attrs.padding)
    covering = _covering(call, layout, kernel, strides, padding)
    counts_padding = bool(call.attrs.count_include_pad)
    if kind is OperatorKind.AVG_POOL2D and counts_padding and covering != padding:
        return None
    attributes: dict[str, Attribute] = {"kernel": kernel, "strides": strides, "padding": covering}
    if kind is OperatorKind.AVG_POOL2D:
        attributes["count_include_pad"] = counts_padding
    return _Pool(kind=kind, attributes=attributes, layout=layout)


def _covering(
    call: Any,
    layout: str,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, int, int, int],
) -> tuple[int, int, int, int]:
    """The padding, grown at bottom and right as far as `ceil_mode` reaches."""
    before, after = shape_of(call.args[0]), shape_of(call)
    top, left, bottom, right = padding
    rows, columns = layout.index("H"), layout.index("W")
    reach_down = (after[rows] - 1) * strides[0] + kernel[0] - before[rows] - top
    reach_right = (after[columns] - 1) * strides[1] + kernel[1] - before[columns] - left
    return top, left, max(bottom, reach_down), max(right, reach_right)
