"""TE definitions of avg_pool2d and max_pool2d.

Channels are adjacent, so up to `LANES` of them are reduced together. Padding is a condition, as in
convolutions.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.plan.arithmetic import (
    DTYPE_RANGE,
    Requantization,
    activation_range,
    counts_in_multiplier,
    requantization,
)
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.windows import Windows, required_windows
from target_arch.relax.definitions.products import LANES
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    activated,
    activation_of,
    guarded,
    image_axes,
    in_lanes,
    placeholder,
    stage,
    tensor_of,
)
from target_arch.relax.te.scaling import clamped, requantized, widened
from target_arch.relax.te.windows import all_inside, under


@frozen(kw_only=True, eq=False)
class _Pool:
    """The parts of a pool's definition; `rows` and `columns` are the kernel's axes."""

    windows: Windows
    data: Any
    axes: Axes
    dtype: str
    rows: Any
    columns: Any

    def value(self, index: tuple[Any, ...], otherwise: Any, element: Callable[[Any], Any]) -> Any:
        """The stored element under a kernel position, through `element`; `otherwise` in the padding."""
        batch, i, j, k = index
        iy, ix = under(self.windows, (i, j), (self.rows, self.columns))
        return guarded(all_inside(self.windows, (iy, ix)), element(self.data[batch, iy, ix, k]), otherwise)


def max_pool2d(operator: Operator, model: Model) -> Definition:
    """The greatest value of each window; rescaled where (`onnx` only) output and input differ in scale."""
    pool = _pool(operator, model)
    floating = operator.arithmetic == Arithmetic.FLOAT
    least = tirx.const(float("-inf") if floating else DTYPE_RANGE[pool.dtype][0], pool.dtype)

    def greatest(*index: Any) -> Any:
        return te.max(pool.value(index, least, lambda stored: stored), axis=[pool.rows, pool.columns])

    acc = stage("acc", pool.axes, greatest)
    if not floating and not same_quantization(operator, model):
        r = requantization(operator, model)
        scaled = requantized(r, lambda *i: widened(acc(*i), r.input_offset), pool.axes, pool.dtype)
        return Definition(arguments=(pool.data, scaled.out), schedule=in_lanes(("product",), LANES))

    def finish(*index: Any) -> Any:
        if floating:
            return activated(acc(*index), activation_of(operator))
        return clamped(acc(*index), *activation_range(operator, model))

    return Definition(arguments=(pool.data, stage("out", pool.axes, finish)), schedule=in_lanes((), LANES))


def avg_pool2d(operator: Operator, model: Model) -> Definition:
    """The mean of each window, of the values inside the image unless `count_include_pad`."""
    pool = _pool(operator, model)
    floating = operator.arithmetic == Arithmetic.FLOAT
    scales = operator.arithmetic == Arithmetic.ONNX or counts_in_multiplier(operator)
    parameters = requantization(operator, model) if scales else None
    accumulator = "float32" if floating else "int32"

    def element(stored: Any) -> Any:
        return stored if floating else widened(stored, parameters.input_offset if parameters else 0)

    def total(*index: Any) -> Any:
        value = pool.value(index, tirx.const(0, accumulator), element)
        return te.sum(value, axis=[pool.rows, pool.columns])

    acc = stage("acc", pool.axes, total)
    include = bool(operator.attributes.get("count_include_pad", False))

    def count(i: Any, j: Any) -> Any:
        return _count(pool.windows, (i, j), include_padding=include)

    if parameters is not None and counts_in_multiplier(operator):
        scaled = requantized(parameters, acc.__call__, pool.axes, pool.dtype)
        return Definition(arguments=(pool.data, scaled.out), schedule=in_lanes(("product",), LANES))
    if parameters is not None:
        return _onnx_mean(parameters, pool, acc, count)
    if not floating:
        return _tflite_mean(pool, acc, count, *activation_range(operator, model))
    activation = activation_of(operator)

    def mean(b: Any, i: Any, j: Any, k: Any) -> Any:
        return activated(acc(b, i, j, k) / count(i, j).astype("float32"), activation)

    return Definition(arguments=(pool.data, stage("out", pool.axes, mean)), schedule=in_lanes((), LANES))


def same_quantization(operator: Operator, model: Model) -> bool:
    """True where input and output of an operator stand for numbers in the same way."""
    return model.tensors[operator.inputs[0]].quantization == model.tensors[operator.output].quantization


def _pool(operator: Operator, model: Model) -> _Pool:
    x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
    windows = required_windows(operator, model)
    return _Pool(
        windows=windows,
        data=placeholder(x, x.shape, "x"),
        axes=image_axes(out),
        dtype=out.dtype,
        rows=te.reduce_axis((0, windows[0].kernel), name="kh"),
        columns=te.reduce_axis((0, windows[1].kernel), name="kw"),
    )


def _count(windows: Windows, places: tuple[Any, Any], *, include_padding: bool) -> Any:
    """How many values the window at a place of the output has, int32."""
    counts = []
    for window, place in zip(windows, places, strict=True):
        size = tirx.const(window.kernel, "int32")
        if not include_padding and (window.leaves_before or window.leaves_after):
            start = window.at(place)
            end = tirx.min(start + size, tirx.const(window.extent, "int32"))
            size = end - tirx.max(start, tirx.const(0, "int32"))
        counts.append(size)
    return counts[0] * counts[1]


def _tflite_mean(pool: _Pool, acc: Any, count: Any, low: int, high: int) -> Definition:
    """LiteRT's AveragePool: half the count is added away from zero, then division goes towards zero."""

    def mean(b: Any, i: Any, j: Any, k: Any) -> Any:
        total, size = acc(b, i, j, k), count(i, j)
        half = tirx.truncdiv(size, tirx.const(2, "int32"))
        return tirx.truncdiv(tirx.Select(total > 0, total + half, total - half), size)

    quotient = stage("mean", pool.axes, mean)
    out = stage("out", pool.axes, lambda *i: clamped(quotient(*i), low, high).astype(pool.dtype))
    return Definition(arguments=(pool.data, out), schedule=in_lanes(("mean",), LANES))


def _onnx_mean(r: Requantization, pool: _Pool, acc: Any, count: Any) -> Definition:
    """The exact quotient sum * multiplier / (count * 2**shift), rounded half to even."""
    one, two, zero = (tirx.const(value, "int64") for value in (1, 2, 0))
    area = pool.windows[0].kernel * pool.windows[1].kernel
    if r.shifts[0] + area.bit_length() > 61:
        raise ValueError(f"a mean of {area} values scaled by 2**-{r.shifts[0]} has no exact form in 64 bits")

    def denominator(i: Any, j: Any) -> Any:
        return tirx.shift_left(count(i, j).astype("int64"), tirx.const(r.shifts[0], "int64"))

    def scaled(*index: Any) -> Any:
        return acc(*index).astype("int64") * tirx.const(r.multipliers[0], "int64")

    product = stage("product", pool.axes, scaled)

    def whole(b: Any, i: Any, j: Any, k: Any) -> Any:
        return tirx.truncdiv(product(b, i, j, k), denominator(i, j))

    quotient = stage("quotient", pool.axes, whole)

    def rest(b: Any, i: Any, j: Any, k: Any) -> Any:
        value = product(b, i, j, k) - quotient(b, i, j, k) * denominator(i, j)
        return tirx.Select(value < zero, -value, value) * two

    doubled = stage("doubled_rest", pool.axes, rest)

    def rounded(b: Any, i: Any, j: Any, k: Any) -> Any:
        value, twice, full = quotient(b, i, j, k), doubled(b, i, j, k), denominator(i, j)
        odd = tirx.bitwise_and(value, one) == one
        away = tirx.any(twice > full, tirx.all(twice == full, odd))
        direction = tirx.Select(product(b, i, j, k) < zero, -one, one)
        result = value + tirx.Select(away, direction, zero) + tirx.const(r.output_offset, "int64")
        return clamped(result, r.activation_min, r.activation_max).astype(pool.dtype)

    out = stage("out", pool.axes, rounded)
    schedule = in_lanes(("product", "quotient", "doubled_rest"), LANES)
    return Definition(arguments=(pool.data, out), schedule=schedule)
