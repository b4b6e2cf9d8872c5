"""TE definitions of sums of products with constant weights: convolutions, transposed ones, dense layers.

One definition for all types: 8-bit and 16-bit values and floats, weights with a zero point, groups of
channels, sums in 32 and in 64 bits. Sums run in registers: one accumulator for a convolution, `LANES` of them
for a depthwise one, whose channels are adjacent. Padding is a condition on the kernel's row and column, never
a padded copy: a stored value equal to the zero point adds nothing.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.plan.arithmetic import Requantization, any_requantization
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.products import groups_of, is_hybrid, is_stepped
from target_arch.plan.windows import required_windows, written_windows
from target_arch.relax.definitions import hybrid
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    Packed,
    Tail,
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
from target_arch.relax.te.half import HALF, from_finite_half
from target_arch.relax.te.scaling import requantized, widened
from target_arch.relax.te.windows import all_inside, reaching, under

LANES = 16
"""Channels of a depthwise convolution that are summed side by side."""


@frozen(kw_only=True)
class ProductArithmetic:
    """The arithmetic of a product sum: integers with a requantization, or float32 with an activation."""

    requantization: Requantization | None
    activation: str
    dtype: str
    narrow: bool
    """Whether stored values have 8 bits."""

    @property
    def accumulator(self) -> str:
        """The element type of the sums."""
        return "float32" if self.requantization is None else self.requantization.accumulator

    @property
    def nothing(self) -> Any:
        """The sum of no products."""
        return tirx.const(0, self.accumulator)

    def term(self, x: Any, w: Any) -> Any:
        """One product of the sum."""
        r = self.requantization
        if r is None:
            return x * w
        first = widened(x, r.input_offset) if self.narrow else x.astype("int32") + r.input_offset
        second = widened(w, r.second_offset)
        if r.accumulator == "int64":
            return first.astype("int64") * second.astype("int64")
        return first * second


def rule_of(operator: Operator, model: Model) -> ProductArithmetic:
    """The arithmetic of an operator. Raises ValueError for what has no fixed-point parameters."""
    real = operator.arithmetic == Arithmetic.FLOAT
    return ProductArithmetic(
        requantization=None if real else any_requantization(operator, model),
        activation=activation_of(operator) if real else "none",
        dtype=model.tensors[operator.output].dtype,
        narrow=model.tensors[operator.inputs[0]].dtype in ("int8", "uint8"),
    )


def conv2d(operator: Operator, model: Model, tail: Tail | None = None) -> Definition:
    """Convolution NHWC with weights [O,KH,KW,C / groups]. A 1x1 kernel that steps over every pixel is a dense
    layer on rows.
    """
    if is_hybrid(operator, model):
        return hybrid.conv2d(operator, model)
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    n, height, width, _ = x.shape
    o, *kernel, channels = w.shape
    windows, groups = required_windows(operator, model), groups_of(operator, model)
    if groups == 1 and all(window.plain for window in windows):
        return _rows(operator, model, (n * height * width, channels, o), tail)
    rule = rule_of(operator, model)
    data, weights = placeholder(x, x.shape, "x"), _Weights.of(operator, model, w.shape)
    row, column = te.reduce_axis((0, kernel[0]), name="kh"), te.reduce_axis((0, kernel[1]), name="kw")
    channel = te.reduce_axis((0, channels), name="c")

    def summand(b: Any, i: Any, j: Any, k: Any) -> Any:
        iy, ix = under(windows, (i, j), (row, column))
        first = 0 if groups == 1 else tirx.floordiv(k, o // groups) * channels
        term = rule.term(data[b, iy, ix, first + channel], weights.at(k, row, column, channel))
        inside = all_inside(windows, (iy, ix))
        return te.sum(guarded(inside, term, rule.nothing), axis=[row, column, channel])

    axes = image_axes(model.tensors[operator.output])
    total = _Sum(rule=rule, data=data, weights=weights, axes=axes, summand=summand, lanes=1)
    return _finished(operator, model, total, tail)


def conv2d_transpose(operator: Operator, model: Model, tail: Tail | None = None) -> Definition:
    """Transposed convolution NHWC with weights [O,KH,KW,C]: an element of the input adds its products to a
    window of the output.
    """
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    _, *kernel, channels = w.shape
    windows, rule = written_windows(operator, model), rule_of(operator, model)
    data, weights = placeholder(x, x.shape, "x"), _Weights.of(operator, model, w.shape)
    row, column = te.reduce_axis((0, kernel[0]), name="kh"), te.reduce_axis((0, kernel[1]), name="kw")
    channel = te.reduce_axis((0, channels), name="c")

    def summand(b: Any, i: Any, j: Any, k: Any) -> Any:
        (iy, ix), meets = reaching(windows, (i, j), (row, column))
        term = rule.term(data[b, iy, ix, channel], weights.at(k, row, column, channel))
        return te.sum(guarded(meets, term, rule.nothing), axis=[row, column, channel])

    axes = image_axes(model.tensors[operator.output])
    total = _Sum(rule=rule, data=data, weights=weights, axes=axes, summand=summand, lanes=1)
    return _finished(operator, model, total, tail)


def dense(operator: Operator, model: Model, tail: Tail | None = None) -> Definition:
    """Rows of `in_features` values times weights [O, I]."""
    if is_hybrid(operator, model):
        return hybrid.dense(operator, model)
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    return _rows(operator, model, (prod(x.shape) // w.shape[1], w.shape[1], w.shape[0]), tail)


def depthwise_conv2d(operator: Operator, model: Model, tail: Tail | None = None) -> Definition:
    """Depthwise convolution NHWC with weights [KH, KW, O]; output channel k reads input channel k /
    multiplier.
    """
    if is_hybrid(operator, model):
        return hybrid.depthwise_conv2d(operator, model)
    x, w = tensor_of(model, operator, 0), tensor_of(model, operator, 1)
    *kernel, o = w.shape
    each = o // x.shape[3]
    windows = required_windows(operator, model)
    rule = rule_of(operator, model)
    data, weights = placeholder(x, x.shape, "x"), _Weights.of(operator, model, w.shape)
    row, column = te.reduce_axis((0, kernel[0]), name="kh"), te.reduce_axis((0, kernel[1]), name="kw")

    def summand(b: Any, i: Any, j: Any, k: Any) -> Any:
        iy, ix = under(windows, (i, j), (row, column))
        source = data[b, iy, ix, k if each == 1 else tirx.floordiv(k, each)]
        inside = all_inside(windows, (iy, ix))
        term = guarded(inside, rule.term(source, weights.at(row, column, k)), rule.nothing)
        return te.sum(term, axis=[row, column])

    axes = image_axes(model.tensors[operator.output])
    total = _Sum(rule=rule, data=data, weights=weights, axes=axes, summand=summand, lanes=LANES)
    return _finished(operator, model, total, tail)


def _rows(operator: Operator, model: Model, sizes: tuple[int, int, int], tail: Tail | None) -> Definition:
    rows, inputs, outputs = sizes
    rule = rule_of(operator, model)
    data = placeholder(tensor_of(model, operator, 0), (rows, inputs), "x")
    weights = _Weights.of(operator, model, (outputs, inputs))
    index = te.reduce_axis((0, inputs), name="c")

    def summand(i: Any, k: Any) -> Any:
        return te.sum(rule.term(data[i, index], weights.at(k, index)), axis=[index])

    axes = (("row", rows), ("k", outputs))
    total = _Sum(rule=rule, data=data, weights=weights, axes=axes, summand=summand, lanes=1)
    return _finished(operator, model, total, tail)


@frozen(kw_only=True, eq=False)
class _Weights:
    """Weights as the arguments of a definition, the integers and, of stepped ones, the steps."""

    stored: Any
    steps: Any = None

    @classmethod
    def of(cls, operator: Operator, model: Model, shape: tuple[int, ...]) -> "_Weights":
        """The weights of an operator, in the shape that a definition wants."""
        stored = placeholder(tensor_of(model, operator, 1), shape, "w")
        if not is_stepped(operator):
            return cls(stored=stored)
        steps = tensor_of(model, operator, 3)
        wanted = steps.shape if len(steps.shape) == len(shape) else (steps.shape[0], steps.shape[-1])
        return cls(stored=stored, steps=placeholder(steps, wanted, "steps"))

    def at(self, *index: Any) -> Any:
        """A weight as it is multiplied: floats are widened from what is stored."""
        value = self.stored[index]
        if self.steps is not None:
            each = zip(index, self.stored.shape, self.steps.shape, strict=True)
            place = tuple(tirx.floordiv(at, int(all_) // int(own)) for at, all_, own in each)
            return value.astype("float32") * self.steps[place]
        return from_finite_half(value.asobject()) if self.stored.dtype == HALF else value

    @property
    def beside(self) -> tuple[Any, ...]:
        """The arguments behind the bias."""
        return () if self.steps is None else (self.steps,)


@frozen(kw_only=True, eq=False)
class _Sum:
    """A sum of products: data and weights, the axes of its results, and the terms that are summed for each of
    them, in `lanes` accumulators.
    """

    rule: ProductArithmetic
    data: Any
    weights: _Weights
    axes: Axes
    summand: Callable[..., Any]
    lanes: int


def _finished(operator: Operator, model: Model, total: _Sum, tail: Tail | None) -> Definition:
    """Adds bias, scaling and activation to a sum, and the operator that follows."""
    rule, axes = total.rule, total.axes
    bias = placeholder(tensor_of(model, operator, 2), (axes[-1][1],), "bias")
    acc = stage("acc", axes, total.summand)
    names = ("product", "out") if tail is None else ("sum_product", "sum")

    def biased(*index: Any) -> Any:
        return acc(*index) + bias[index[-1]]

    packed: tuple[Packed, ...] = ()
    tables: tuple[Any, ...] = ()
    stages: tuple[str, ...] = ()
    if rule.requantization is None:
        out = stage(names[1], axes, lambda *index: activated(biased(*index), rule.activation))
    else:
        scaled = requantized(rule.requantization, biased, axes, rule.dtype, names)
        out, packed, tables, stages = scaled.out, scaled.packed, scaled.placeholders, names[:1]
    arguments = (total.data, total.weights.stored, bias, *total.weights.beside, *tables)
    if tail is None:
        return Definition(arguments=(*arguments, out), schedule=_schedule(stages, total.lanes), packed=packed)
    rest = tail(out, axes)
    schedule = _schedule((*stages, names[1], *rest.stages), total.lanes)
    return Definition(arguments=(*arguments, *rest.arguments), schedule=schedule, packed=packed)


def _schedule(stages: tuple[str, ...], lanes: int) -> Callable[[Any], None]:
    return in_lanes(stages, lanes) if lanes > 1 else one_by_one(("acc", *stages), ("acc",))
