"""Sums of products: convolutions, transposed ones, dense layers and matrix products of two activations.

Integers: `x` plus `offset0` times the weight plus `offset1` is summed in int32, or in int64 where the bias is
int64; `constant2` has the multiplier of each output channel (or of all), `constant3` how far its requantizer
shifts to the right, `rounding` says which. Floats (`rounding` is `float`): the sum is clamped to `low` and
`high` where these are given.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.plan.arithmetic import Rounding
from target_arch.plan.model import Attribute, Model, Operator, Tensor
from target_arch.plan.operators.window import Window
from target_arch.plan.windows import Windows
from target_arch.relax.definitions.operands import Operands, axes_of, operands_of
from target_arch.relax.te.definition import Axes, Definition, guarded, one_by_one, stage
from target_arch.relax.te.fixed_point import scaled, wide
from target_arch.relax.te.scaling import clamped
from target_arch.relax.te.windows import all_inside, reaching, under

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


def conv2d(operator: Operator, model: Model) -> Definition:
    """NHWC with weights [O,KH,KW,C / groups]."""
    given = operands_of(operator, model)
    rule, x, w = _Rule(given=given), given.data[0], given.data[1]
    outputs, kh, kw, channels = given.tensors[1].shape
    row, column = te.reduce_axis((0, kh), name="kh"), te.reduce_axis((0, kw), name="kw")
    channel = te.reduce_axis((0, channels), name="c")
    each = outputs // (given.tensors[0].shape[3] // channels)

    windows = _windows(given)

    def term(b: Any, i: Any, j: Any, k: Any) -> Any:
        y, z = under(windows, (i, j), (row, column))
        source = channel if each == outputs else tirx.floordiv(k, each) * channels + channel
        value = rule.term(x[b, y, z, source], w[k, row, column, channel])
        return guarded(all_inside(windows, (y, z)), value, tirx.const(0, rule.accumulator))

    axes = axes_of(given.out.shape)
    return rule.result(axes, rule.summed(axes, term, [row, column, channel]))


def depthwise_conv2d(operator: Operator, model: Model) -> Definition:
    """NHWC with weights [1,KH,KW,O]; output channel k reads input channel k / (O / C)."""
    given = operands_of(operator, model)
    rule, x, w = _Rule(given=given), given.data[0], given.data[1]
    _, kh, kw, outputs = given.tensors[1].shape
    row, column = te.reduce_axis((0, kh), name="kh"), te.reduce_axis((0, kw), name="kw")
    each = outputs // given.tensors[0].shape[3]

    windows = _windows(given)

    def term(b: Any, i: Any, j: Any, k: Any) -> Any:
        y, z = under(windows, (i, j), (row, column))
        value = rule.term(x[b, y, z, tirx.floordiv(k, each)], w[0, row, column, k])
        return guarded(all_inside(windows, (y, z)), value, tirx.const(0, rule.accumulator))

    axes = axes_of(given.out.shape)
    return rule.result(axes, rule.summed(axes, term, [row, column]))


def transposed_conv2d(operator: Operator, model: Model) -> Definition:
    """NHWC with weights [O,KH,KW,C]: input pixel (y, x) adds its product to output rows y * stride + kh -
    padding, and so for columns.
    """
    given = operands_of(operator, model)
    rule, x, w = _Rule(given=given), given.data[0], given.data[1]
    _, kh, kw, channels = given.tensors[1].shape
    row, column = te.reduce_axis((0, kh), name="kh"), te.reduce_axis((0, kw), name="kw")
    channel = te.reduce_axis((0, channels), name="c")
    windows = _written(given)

    def term(b: Any, i: Any, j: Any, k: Any) -> Any:
        (y, z), meets = reaching(windows, (i, j), (row, column))
        value = rule.term(x[b, y, z, channel], w[k, row, column, channel])
        return guarded(meets, value, tirx.const(0, rule.accumulator))

    axes = axes_of(given.out.shape)
    return rule.result(axes, rule.summed(axes, term, [row, column, channel]))


def dense(operator: Operator, model: Model) -> Definition:
    """Rows of as many elements as the weights [O,I] have columns."""
    given = operands_of(operator, model)
    rule = _Rule(given=given)
    outputs, inputs = given.tensors[1].shape
    rows = prod(given.tensors[0].shape) // inputs
    data = te.placeholder((rows, inputs), given.tensors[0].dtype, name="x0")
    index = te.reduce_axis((0, inputs), name="c")
    axes: Axes = (("row", rows), ("k", outputs))
    made = rule.result(
        axes, rule.summed(axes, lambda i, k: rule.term(data[i, index], given.data[1][k, index]), [index])
    )
    return Definition(arguments=(data, *made.arguments[1:]), schedule=made.schedule)


def _windows(given: Operands) -> Windows:
    """The windows in the image that the outputs are computed from."""
    return _along(given, given.tensors[0], given.out, given.numbers("dilation"))


def _written(given: Operands) -> Windows:
    """The windows in the output that the elements of the image are added to."""
    return _along(given, given.out, given.tensors[0], (1, 1))


def _along(given: Operands, image: Tensor, out: Tensor, dilation: tuple[int, ...]) -> Windows:
    axes = zip(
        image.shape[1:3],
        out.shape[1:3],
        given.tensors[1].shape[1:3],
        given.numbers("strides"),
        dilation,
        given.numbers("padding"),
        strict=True,
    )
    rows, columns = (
        Window(extent=extent, out=count, kernel=kernel, stride=stride, dilation=by, before=before)
        for extent, count, kernel, stride, by, before in axes
    )
    return rows, columns


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


Macs = Callable[[Sequence[tuple[int, ...]], Mapping[str, Attribute]], int]
"""Products that are summed for each element of the output, from the shapes of the operands and the
attributes.
"""


def _of_kernel(shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    return prod(shapes[1][1:])


def _of_plane(shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    return prod(shapes[1][1:3])


def _of_row(shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    return shapes[0][-2 if attributes["adjoint0"] else -1]


_PRODUCTS: Mapping[str, tuple[Callable[[Operator, Model], Definition], Macs]] = {
    "conv2d": (conv2d, _of_kernel),
    "depthwise_conv2d": (depthwise_conv2d, _of_plane),
    "transposed_conv2d": (transposed_conv2d, _of_kernel),
    "dense": (dense, _of_kernel),
    "matrix_product": (matrix_product, _of_row),
}
DEFINITIONS = {name: definition for name, (definition, _) in _PRODUCTS.items()}
MACS = {name: macs for name, (_, macs) in _PRODUCTS.items()}
"""The cost of each definition above."""
