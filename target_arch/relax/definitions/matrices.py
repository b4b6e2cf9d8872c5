"""Matrix products of two activations, or of one and a constant.

Integers: `x` plus `offset0` times the second factor plus `offset1` is summed in int32, or in int64 where the
bias is int64; `constant2` has the multiplier of each output channel (or of all), `constant3` how far its
requantizer shifts to the right, `rounding` says which. Floats (`rounding` is `float`): the sum is clamped to
`low` and `high` where these are given.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.plan.arithmetic import Rounding
from target_arch.plan.model import Attribute, Model, Operator
from target_arch.plan.windows import windows_with
from target_arch.relax.definitions.operands import Operands, axes_of, operands_of
from target_arch.relax.te.definition import Axes, Definition, guarded, one_by_one, stage
from target_arch.relax.te.fixed_point import scaled, wide
from target_arch.relax.te.scaling import clamped
from target_arch.relax.te.windows import all_inside, under

FLOAT = "float"


@frozen(kw_only=True, eq=False)
class _Rule:
    """How terms are multiplied and summed, and the sum finished."""

    given: Operands

    @property
    def real(self) -> bool:
        return self.given.text("rounding") == FLOAT

    @property
    def accumulator(self) -> str:
        if self.real:
            return "float32"
        return "int64" if self.given.text("accumulator") == "int64" else "int32"

    def term(self, x: Any, w: Any) -> Any:
        if self.real:
            return x * w
        return self._factor(x, "offset0").astype(self.accumulator) * self._factor(w, "offset1").astype(
            self.accumulator
        )

    def _factor(self, value: Any, name: str) -> Any:
        offset = self.given.number(name)
        return value.astype("int32") + offset if offset else value.astype("int32")

    def summed(self, axes: Axes, term: Callable[..., Any], over: list[Any]) -> Any:
        return stage("acc", axes, lambda *i: te.sum(term(*i), axis=over))

    def result(self, axes: Axes, acc: Any, channel: int = -1) -> Definition:
        """The definition whose output is the sum plus bias, scaled; `channel` is the axis of the channels."""
        given = self.given
        bias, *tables = given.data[2:]

        def element(*i: Any) -> Any:
            total = acc(*i) + bias[i[channel]]
            return self._real(total) if self.real else self._stored(total, i[channel], tables)

        out = stage("out", axes, element)
        return Definition(arguments=(*given.data, out), schedule=one_by_one(("acc",), ("acc",)))

    def _real(self, total: Any) -> Any:
        attributes: Any = self.given.operator.attributes
        if "low" in attributes:
            total = tirx.max(total, tirx.const(float(attributes["low"]), "float32"))
        if "high" in attributes:
            total = tirx.min(total, tirx.const(float(attributes["high"]), "float32"))
        return total

    def _stored(self, total: Any, channel: Any, tables: list[Any]) -> Any:
        given = self.given
        multiplier, right = (
            table[channel if int(table.shape[0]) > 1 else 0].astype("int64") for table in tables
        )
        rounding = Rounding(given.text("rounding"))
        value = scaled(rounding, total.astype("int64"), multiplier, right, given.number("least_right"))
        value = value + wide(given.number("offset"))
        return clamped(value, given.number("low"), given.number("high")).astype(given.out.dtype)


def matrix_product(operator: Operator, model: Model) -> Definition:
    """[..,M,K] times [..,K,N] (`adjoint0` and `adjoint1`: [..,K,M], [..,N,K]); outer dimensions of extent 1
    are repeated.
    """
    given = operands_of(operator, model)
    rule = _Rule(given=given)
    flips = [bool(given.number(name)) for name in ("adjoint0", "adjoint1")]
    shape = given.tensors[0].shape
    index = te.reduce_axis((0, shape[-2] if flips[0] else shape[-1]), name="c")

    def at(side: int, outer: tuple[Any, ...], row: Any, column: Any) -> Any:
        extents = given.tensors[side].shape[:-2]
        last = outer[len(outer) - len(extents) :]
        place = [0 if extent == 1 else each for each, extent in zip(last, extents, strict=True)]
        return given.data[side](*place, *((column, row) if flips[side] else (row, column)))

    def term(*i: Any) -> Any:
        return rule.term(at(0, i[:-2], i[-2], index), at(1, i[:-2], index, i[-1]))

    axes = axes_of(given.out.shape)
    return rule.result(axes, rule.summed(axes, term, [index]))


def integer_product(operator: Operator, model: Model) -> Definition:
    """[..,M,K] of 8-bit values, less a zero point, times int8 weights [N,K], in int32: ONNX's MatMulInteger.
    The zero point is the second operand, or the attribute `zero`.
    """
    given = operands_of(operator, model)
    x, *zeros, w = given.data
    index = te.reduce_axis((0, given.number("in_features")), name="c")

    def term(*i: Any) -> Any:
        zero = zeros[0][0].astype("int32") if zeros else given.number("zero")
        return (x(*i[:-1], index).astype("int32") - zero) * w[i[-1], index].astype("int32")

    axes = axes_of(given.out.shape)
    acc = stage("acc", axes, lambda *i: te.sum(term(*i), axis=[index]))
    out = stage("out", axes, acc)
    return Definition(arguments=(*given.data, out), schedule=one_by_one(("acc",), ("acc",)))


def integer_convolution(operator: Operator, model: Model) -> Definition:
    """An image NHWC of 8-bit values, less a zero point, times int8 weights [O,KH,KW,C], in int32: ONNX's
    ConvInteger. Outside the image there is the zero point, which is given as that of `integer_product`.
    """
    given = operands_of(operator, model)
    x, *zeros, w = given.data
    _, rows, columns, channels = given.tensors[-1].shape
    windows = windows_with((rows, columns), operator, model)
    row, column = te.reduce_axis((0, rows), name="kh"), te.reduce_axis((0, columns), name="kw")
    channel = te.reduce_axis((0, channels), name="c")

    def summand(b: Any, i: Any, j: Any, k: Any) -> Any:
        y, left = under(windows, (i, j), (row, column))
        zero = zeros[0][0].astype("int32") if zeros else given.number("zero")
        term = (x(b, y, left, channel).astype("int32") - zero) * w[k, row, column, channel].astype("int32")
        inside = guarded(all_inside(windows, (y, left)), term, tirx.const(0, "int32"))
        return te.sum(inside, axis=[row, column, channel])

    axes = axes_of(given.out.shape)
    acc = stage("acc", axes, summand)
    out = stage("out", axes, acc)
    return Definition(arguments=(*given.data, out), schedule=one_by_one(("acc",), ("acc",)))


def time_filters(operator: Operator, model: Model) -> Definition:
    """Of values by time [N,T,1,F] and weights [O,T,1,F / O]: output o sums its own F / O features over all
    times (LiteRT's SVDF).
    """
    given = operands_of(operator, model)
    rule, (x, w) = _Rule(given=given), given.data[:2]
    _, times, _, features = given.tensors[1].shape
    time, feature = te.reduce_axis((0, times), name="t"), te.reduce_axis((0, features), name="f")

    def term(b: Any, i: Any, j: Any, k: Any) -> Any:
        return rule.term(x[b, time, 0, k * features + feature], w[k, time, 0, feature])

    axes = axes_of(given.out.shape)
    return rule.result(axes, rule.summed(axes, term, [time, feature]))


DEFINITIONS = {
    "matrix_product": matrix_product,
    "integer_product": integer_product,
    "integer_convolution": integer_convolution,
    "time_filters": time_filters,
}


def macs_per_output(shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    """Products that are summed for each element of the output, from the shapes of the operands and the
    attributes.
    """
    if "adjoint0" not in attributes:
        return prod(shapes[1][1:])
    return shapes[0][-2 if attributes["adjoint0"] else -1]
