"""TE definitions of sums of products of float32 values with int8 weights, as LiteRT computes them ("dynamic
range"): every row of a matrix, and every image, is brought to eight bits on a grid of its own extremes, and
sums are of integers.

Source: TensorFlow Lite, `kernels/internal/reference/portable_tensor_utils.cc` and
`kernels/internal/reference/conv.h`.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.plan.model import Model, Operator
from target_arch.plan.windows import required_windows
from target_arch.relax.te import dynamic_range
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    Packed,
    activated,
    activation_of,
    guarded,
    image_axes,
    in_lanes,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)
from target_arch.relax.te.windows import all_inside, under

_LANES = 16


def conv2d(operator: Operator, model: Model) -> Definition:
    """NHWC with weights [O,KH,KW,C]."""
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    _, *kernel, channels = w.shape
    windows = required_windows(operator, model)
    weights = placeholder(w, w.shape, "w")
    row, column = te.reduce_axis((0, kernel[0]), name="kh"), te.reduce_axis((0, kernel[1]), name="kw")
    channel = te.reduce_axis((0, channels), name="c")

    def summand(values: _Values, b: Any, i: Any, j: Any, k: Any) -> Any:
        iy, ix = under(windows, (i, j), (row, column))
        term = values.centred(b, iy, ix, channel) * weights[k, row, column, channel].astype("int32")
        value = guarded(all_inside(windows, (iy, ix)), term, tirx.const(0, "int32"))
        return te.sum(value, axis=[row, column, channel])

    axes = image_axes(model.tensors[operator.output])
    return _definition(operator, model, _Sums(shape=x.shape, axes=axes, weights=weights, summand=summand))


def depthwise_conv2d(operator: Operator, model: Model) -> Definition:
    """NHWC with weights [KH,KW,O]; output channel k reads input channel k / (O / C)."""
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    *kernel, outputs = w.shape
    multiplier, windows = outputs // x.shape[3], required_windows(operator, model)
    weights = placeholder(w, w.shape, "w")
    row, column = te.reduce_axis((0, kernel[0]), name="kh"), te.reduce_axis((0, kernel[1]), name="kw")

    def summand(values: _Values, b: Any, i: Any, j: Any, k: Any) -> Any:
        iy, ix = under(windows, (i, j), (row, column))
        source = k if multiplier == 1 else tirx.floordiv(k, multiplier)
        term = values.centred(b, iy, ix, source) * weights[row, column, k].astype("int32")
        value = guarded(all_inside(windows, (iy, ix)), term, tirx.const(0, "int32"))
        return te.sum(value, axis=[row, column])

    axes = image_axes(model.tensors[operator.output])
    sums = _Sums(shape=x.shape, axes=axes, weights=weights, summand=summand, lanes=_LANES)
    return _definition(operator, model, sums)


def dense(operator: Operator, model: Model) -> Definition:
    """Rows of `in_features` values times weights [O, I]."""
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    outputs, inputs = w.shape
    rows = prod(x.shape) // inputs
    weights, index = placeholder(w, w.shape, "w"), te.reduce_axis((0, inputs), name="c")

    def summand(values: _Values, i: Any, k: Any) -> Any:
        return te.sum(values.centred(i, index) * weights[k, index].astype("int32"), axis=[index])

    axes = (("row", rows), ("k", outputs))
    return _definition(
        operator, model, _Sums(shape=(rows, inputs), axes=axes, weights=weights, summand=summand)
    )


@frozen(kw_only=True, eq=False)
class _Values:
    """The input in eight bits, and the scale and the zero point of each row or image."""

    stored: Any
    scale: Any
    zero: Any

    def centred(self, *at: Any) -> Any:
        """A stored value less its zero point."""
        return self.stored(*at).astype("int32") - self.zero(at[0])


@frozen(kw_only=True, eq=False)
class _Sums:
    """Sums of an input of this shape: the axes of the results, and the terms of each of them."""

    shape: tuple[int, ...]
    axes: Axes
    weights: Any
    summand: Callable[..., Any]
    lanes: int = 1


def _definition(operator: Operator, model: Model, sums: _Sums) -> Definition:
    symmetric, activation = bool(operator.attributes["symmetric"]), activation_of(operator)
    data = placeholder(tensor_of(model, operator, 0), sums.shape, "x")
    bias = placeholder(tensor_of(model, operator, 2), (sums.axes[-1][1],), "bias")
    values = _stored(data, symmetric)
    acc = stage("acc", sums.axes, lambda *at: sums.summand(values, *at))
    scales = _scales(operator, model)
    own = scales.placeholder()

    def element(*at: Any) -> Any:
        total, row = acc(*at).astype("float32"), values.scale(at[0])
        several = len(scales.values) > 1
        real = total * own[at[-1]] * row if several else total * (row * own[0])
        return activated(real + bias[at[-1]], activation)

    out = stage("out", sums.axes, element)
    arguments = (data, sums.weights, bias, own, out)
    return Definition(arguments=arguments, schedule=_schedule(sums.lanes), packed=(scales,))


def _scales(operator: Operator, model: Model) -> Packed:
    grid = tensor_of(model, operator, 1).quantization
    if grid is None or any(grid.zero_point):
        raise ValueError(f"`{operator.id}`: weights for floats have a scale and no zero point")
    return Packed(suffix="scales", dtype="float32", values=grid.scale)


def _stored(data: Any, symmetric: bool) -> _Values:
    shape = tuple(int(extent) for extent in data.shape)
    rows: Axes = (("n", shape[0]),)
    low, high = (
        stage(name, rows, _extreme(data, shape, reduce))
        for name, reduce in (("low", te.min), ("high", te.max))
    )
    scale, inverse, zero = (
        stage(name, rows, _of(element, low, high))
        for name, element in zip(
            ("scale", "inverse", "zero"), dynamic_range.elements(symmetric=symmetric), strict=True
        )
    )
    axes = tuple((f"x{number}", extent) for number, extent in enumerate(shape))

    def value(*at: Any) -> Any:
        return dynamic_range.stored(data(*at), inverse(at[0]), zero(at[0]), symmetric=symmetric)

    return _Values(stored=stage("values", axes, value), scale=scale, zero=zero)


def _extreme(data: Any, shape: tuple[int, ...], reduce: Callable[..., Any]) -> Callable[[Any], Any]:
    inner = [te.reduce_axis((0, extent), name=f"r{number}") for number, extent in enumerate(shape[1:])]
    return lambda n: reduce(data(n, *inner), axis=inner)


def _of(element: dynamic_range.Element, low: Any, high: Any) -> Callable[[Any], Any]:
    return lambda n: element(low(n), high(n))


def _schedule(lanes: int) -> Callable[[Any], None]:
    sums = in_lanes((), lanes) if lanes > 1 else one_by_one(("acc",), ("acc",))

    def schedule(sch: Any) -> None:
        for name in ("low", "high"):
            block = sch.get_sblock(name)
            sch.decompose_reduction(block, sch.get_loops(block)[1])
        sums(sch)

    return schedule
