"""Float layers with weights of eight bits, as LiteRT computes them ("dynamic range").

Every row of activations is brought to eight bits on a grid that its own extremes give; the sums are of
integers, and become floats by the scales of row and weights. Source: TensorFlow Lite,
`kernels/internal/reference/portable_tensor_utils.cc` and `kernels/internal/reference/conv.h`.

Tests: `tests/relax/readers/tflite_operators/test_dynamic_range.py`.
"""

from collections.abc import Callable
from typing import Any

from attrs import field, frozen
from tvm import relax, te, tirx

from target_arch.plan.windows import Windows
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.te.fixed_point import bound
from target_arch.relax.te.windows import reaching

_LEAST, _MOST = -128, 127


Element = Callable[[Any, Any], Any]
"""A number of the grid of a row, from the least and the greatest of its elements."""


@frozen(kw_only=True, eq=False)
class Rows:
    """Rows of eight bits: `values` [rows, elements], and of each row its scale and zero point, [rows, 1]."""

    values: Any = field(repr=False)
    scale: Any = field(repr=False)
    zero: Any = field(repr=False)

    @property
    def count(self) -> int:
        """How many rows these are."""
        return int(shape_of(self.values)[0])


def rows(builder: Any, x: Any, *, symmetric: bool) -> Rows:
    """The rows of a float32 matrix, each on a grid of its own; a `symmetric` one has the zero point 0."""
    least, most = (builder.emit(find(x, axis=[1], keepdims=True)) for find in (relax.op.min, relax.op.max))
    scale, inverse, zero = (
        builder.emit_te(_of_extremes(element), least, most, primfunc_name_hint="row_grid")
        for element in elements(symmetric=symmetric)
    )
    values = builder.emit_te(_quantized(symmetric), x, inverse, zero, primfunc_name_hint="row_values")
    return Rows(values=values, scale=scale, zero=zero)


def grid(least: Any, most: Any, *, symmetric: bool) -> tuple[Any, ...]:
    """Scale, its inverse and zero point of a row, from its extremes."""
    return tuple(element(least, most) for element in elements(symmetric=symmetric))


def elements(*, symmetric: bool) -> tuple[Element, ...]:
    """Scale, its inverse and zero point, each from the extremes of a row."""
    return _SYMMETRIC if symmetric else _ASYMMETRIC


def stored(x: Any, inverse: Any, zero: Any, *, symmetric: bool) -> Any:
    """`x / scale + zero`, rounded, within eight bits."""
    moved = zero.astype("float32") + x * inverse
    return _within(_nearest(moved), -_MOST if symmetric else _LEAST, _MOST).astype("int8")


def _of_extremes(element: Element) -> Callable[[Any, Any], Any]:
    def definition(least: Any, most: Any) -> Any:
        return te.compute(least.shape, lambda row, at: element(least[row, at], most[row, at]))

    return definition


def _quantized(symmetric: bool) -> Callable[[Any, Any, Any], Any]:
    def definition(x: Any, inverse: Any, zero: Any) -> Any:
        def element(row: Any, at: Any) -> Any:
            return stored(x[row, at], inverse[row, 0], zero[row, 0], symmetric=symmetric)

        return te.compute(x.shape, element)

    return definition


def _nearest(value: Any) -> Any:
    """The nearest integer, of two the one farther from zero."""
    dtype, whole = str(value.ty.dtype), value.astype("int32")
    rest, half = value - whole.astype(dtype), tirx.const(0.5, dtype)
    return whole + (rest >= half).astype("int32") - (rest <= -half).astype("int32")


def _within(value: Any, least: float, most: float) -> Any:
    low, high = (tirx.const(end, str(value.ty.dtype)) for end in (least, most))
    return tirx.max(tirx.min(value, high), low)


def _ends(least: Any, most: Any) -> tuple[Any, Any]:
    """Both ends, around zero."""
    nothing = tirx.const(0, "float32")
    return tirx.min(least, nothing), tirx.max(most, nothing)


def _step(low: Any, high: Any) -> Any:
    """A difference in float32, which LiteRT divides in float64."""
    return (high - low).astype("float64") / tirx.const(_MOST - _LEAST, "float64")


def _scale(least: Any, most: Any) -> Any:
    low, high = _ends(least, most)
    return tirx.if_then_else(low == high, tirx.const(1, "float32"), _step(low, high).astype("float32"))


def _zero(least: Any, most: Any) -> Any:
    """From the end of the range where that gives the smaller error."""
    low, high = _ends(least, most)
    below, above = (end.astype("float64") / _step(low, high) for end in (low, high))
    first, last = (tirx.const(end, "float64") for end in (_LEAST, _MOST))
    nearer = -first + tirx.abs(below) < last + tirx.abs(above)
    found = tirx.if_then_else(nearer, first - below, last - above)
    zero = tirx.if_then_else(low == high, tirx.const(0, "float64"), found)
    return bound(zero, lambda real: _nearest(_within(real, _LEAST, _MOST)))


def _or_without_reach(least: Any, most: Any, otherwise: float, value: Callable[[Any], Any]) -> Any:
    reach = tirx.max(tirx.abs(least), tirx.abs(most))
    return tirx.if_then_else(
        reach == tirx.const(0, "float32"), tirx.const(otherwise, "float32"), value(reach)
    )


_SYMMETRIC: tuple[Element, ...] = (
    lambda least, most: _or_without_reach(least, most, 1, lambda reach: reach / float(_MOST)),
    lambda least, most: _or_without_reach(least, most, 0, lambda reach: float(_MOST) / reach),
    lambda least, most: tirx.const(0, "int32"),
)
_ASYMMETRIC: tuple[Element, ...] = (_scale, lambda least, most: 1.0 / _scale(least, most), _zero)
"""Scale, its inverse, and zero point."""


Product = Callable[..., Any]
"""A term of a sum: of the values (int8), the zero points, the weights, the place in the output, and the place
in the sum."""


@frozen(kw_only=True, eq=False)
class SumOfProducts:
    """The sum that a layer computes: `terms` are the extents of its axes, `ends` the ends of its fused
    activation.
    """

    name: str
    shape: tuple[int, ...]
    terms: tuple[int, ...]
    product: Product = field(repr=False)
    ends: tuple[float | None, float | None]


Shifted = Callable[..., Any]
"""Of stored values, zero points, the place in the output, the element of the kernel and the channel: the
value there less its zero point, and 0 where there is none.
"""


def spread(windows: Windows) -> Shifted:
    """For a transposed convolution of images [rows, height, width, channels]; the windows are those over its
    output that its input's elements are written to.
    """

    def shifted(values: Any, zero: Any, at: tuple[Any, ...], tap: tuple[Any, Any], channel: Any) -> Any:
        position, meets = reaching(windows, at[1:3], tap)
        value = values[at[0], *position, channel].astype("int32") - zero[at[0], 0]
        return tirx.if_then_else(meets, value, tirx.const(0, "int32"))

    return shifted


def dense_product(values: Any, zero: Any, weights: Any, at: tuple[Any, ...], terms: Any) -> Any:
    """Weights are [outputs, elements]."""
    (element,) = terms
    shifted = values[at[0], element].astype("int32") - zero[at[0], 0]
    return shifted * weights[at[1], element].astype("int32")


def matrices_product(rows: int) -> Product:
    """Weights are [matrices, outputs, elements], one matrix for `rows` rows each."""

    def product(values: Any, zero: Any, weights: Any, at: tuple[Any, ...], terms: Any) -> Any:
        (element,) = terms
        shifted = values[at[0], element].astype("int32") - zero[at[0], 0]
        return shifted * weights[tirx.floordiv(at[0], rows), at[1], element].astype("int32")

    return product


def convolution_product(element: Shifted) -> Product:
    """Weights are [outputs, height, width, channels]."""

    def product(values: Any, zero: Any, weights: Any, at: tuple[Any, ...], terms: Any) -> Any:
        row, column, channel = terms
        shifted = element(values, zero, at, (row, column), channel)
        return shifted * weights[at[3], row, column, channel].astype("int32")

    return product


def weighted(builder: Any, layer: SumOfProducts, made: Rows, weights: Any, bias: Any, scales: Any) -> Any:
    """The outputs of a layer in float32; `scales` are of the weights, one or one for each output channel."""
    several = shape_of(scales) != (1,)

    def definition(values: Any, scale: Any, zero: Any, stored: Any, added: Any, own: Any) -> Any:
        terms = [te.reduce_axis((0, extent)) for extent in layer.terms]
        sums = te.compute(
            layer.shape, lambda *at: te.sum(layer.product(values, zero, stored, at, terms), axis=terms)
        )

        def element(*at: Any) -> Any:
            total, row = sums(*at).astype("float32"), scale[at[0], 0]
            real = total * own[at[-1]] * row if several else total * (row * own[0])
            return ended(real + added[at[-1]], layer.ends)

        return te.compute(layer.shape, element)

    operands = (made.values, made.scale, made.zero, weights, bias, scales)
    return builder.emit_te(definition, *operands, primfunc_name_hint=layer.name)


def ended(value: Any, ends: tuple[float | None, float | None]) -> Any:
    """A value within the ends of an activation."""
    low, high = ends
    value = value if low is None else tirx.max(value, tirx.const(low, "float32"))
    return value if high is None else tirx.min(value, tirx.const(high, "float32"))
