"""Convolutions, depthwise convolutions and dense layers of 8-bit values by their kernels, also with a sum."""

from collections.abc import Iterator
from functools import cached_property

from attrs import evolve, field, frozen

from target_arch.backends.plain_c.kernels import depthwise, products
from target_arch.backends.plain_c.kernels.layout import WeightLayout, layout_of
from target_arch.backends.plain_c.kernels.scale import OutOfRange
from target_arch.backends.plain_c.kernels.sums import Sum, sum_after
from target_arch.backends.plain_c.kernels.text import struct
from target_arch.backends.plain_c.kernels.weighted import InlinedWeights, Weighed
from target_arch.backends.plain_c.regions.linewise import FusedOperators, TurnNames, Turns, lines_of
from target_arch.backends.plain_c.regions.windows import unit_of, window_of
from target_arch.backends.plain_c.work.forms import Work, WorkUnit, form_of
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.regions.cut import Axis
from target_arch.soc.words import InstructionSet

_TURN = 200
"""Instructions for a turn beside its call, counted on an emulated Cortex-M7."""


@frozen(kw_only=True, slots=False)
class StripedConvolution(InlinedWeights):
    """One of them as C calls it on a core."""

    unit: FusedOperators
    operator: Operator
    weighed: Weighed
    after: Sum | None
    axis: Axis
    isa: InstructionSet
    model: Model = field(repr=False)

    @property
    def depthwise(self) -> bool:
        """Whether it is a depthwise convolution."""
        return self.operator.kind is OperatorKind.DEPTHWISE_CONV2D

    @property
    def headers(self) -> tuple[str, ...]:
        own = "kernels/s8_depthwise_rows.h" if self.depthwise else "kernels/s8_conv2d_rows.h"
        return (*self.weighed.call.headers, own)

    def functions(self, turns: Turns) -> tuple[CFunction, ...]:
        return ()

    @cached_property
    def cycles(self) -> float:
        """The instructions of one call for all rows, by estimate."""
        return cycles(self._work, self.isa) if self.depthwise else self._of_lines(self.unit.image.lines)

    def more(self, turns: Turns) -> float:
        return self._depthwise(turns) if self.depthwise else self._products(turns)

    @cached_property
    def _work(self) -> Work:
        return depthwise.work(self.operator, self.model, None if self.after else form_of(self.isa).strips)

    def _depthwise(self, turns: Turns) -> float:
        """The work of each call before the first row: the weights, and the lines that the call before had
        fetched.
        """
        window, whole = self.unit.reads[0], self._work
        lines = max(window.along.reach - window.along.stride, 0) * window.tensor.line_bytes
        again: Work = {
            WorkUnit.GROUP: whole[WorkUnit.GROUP],
            WorkUnit.LINE: lines if WorkUnit.LINE in whole else 0,
            WorkUnit.CALL: 1,
        }
        return (sum(turns.values()) - 1) * (_TURN + cycles(again, self.isa))

    def _products(self, turns: Turns) -> float:
        """Tiles of pixels that the rows of a turn do not fill, and the calls."""
        each = sum(count * (_TURN + self._of_lines(lines)) for lines, count in turns.items())
        return each - self._of_lines(self.unit.image.lines)

    def _of_lines(self, lines: int) -> float:
        """Products of so many lines."""
        layout, tile = layout_of(self.isa), form_of(self.isa).tile
        sizes = sizes_of_lines(self.operator, self.model, self.axis)
        some = evolve(sizes, out=(lines, *sizes.out[1:]))
        return cycles(products.work_of(some, layout, tile), self.isa)

    def constant(self, names: TurnNames) -> Iterator[str]:
        call = self.weighed.call
        yield struct(call.sizes, "sizes", call.numbers)
        yield struct("ta_s8_scale", "scale", self.weighed.values.scale.numbers)
        if self.after is not None:
            yield self.after.struct

    def call(self, names: TurnNames) -> Iterator[str]:
        added = "0, 0, 0"
        if self.after is not None:
            added = f"&add, ta_rows_at(&{names.reads[1]}, {names.own}.done), {self.after.side}"
        scale, n = self.weighed.values.scale.constant, names.suffix
        yield f"const ta_s8_end end = {{{scale}, &scale, multiplier{n}, shift{n}, {added}}};"
        given = f"&sizes, &end, &{names.reads[0]}, w{n}, bias{n}, {names.place}, {names.own}.done, to"
        yield f"{self.weighed.call.driver}_rows({given});"


def convolution(
    operator: Operator, after: Operator | None, model: Model, axis: Axis, isa: InstructionSet
) -> StripedConvolution | None:
    """One operator, or it and the addition `after` it; None where no kernel computes some lines of it."""
    added = None if after is None else sum_after(after, operator.output, model)
    window = window_of(operator, model, axis)
    if window is None or (added is None) != (after is None):
        return None
    try:
        weighed = _weighed(operator, model, axis, layout_of(isa))
    except OutOfRange:
        return None
    if weighed is None:
        return None
    other = None if added is None else added.other
    return StripedConvolution(
        unit=unit_of(operator, window, after, other, model, axis),
        operator=operator,
        weighed=weighed,
        after=added,
        axis=axis,
        isa=isa,
        model=model,
    )


def _weighed(operator: Operator, model: Model, axis: Axis, layout: WeightLayout) -> Weighed | None:
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        turned = axis is Axis.COLUMNS
        refused = depthwise.refusal(operator, model)
        return None if refused else depthwise.weighed(operator, model, turned=turned)
    if products.refusal(operator, model, layout):
        return None
    return products.weighed(operator, model, layout, sizes_of_lines(operator, model, axis))


def sizes_of_lines(operator: Operator, model: Model, axis: Axis) -> products.Sizes:
    """The sizes of a convolution whose lines are rows; columns of an image of one row are, stood upright. A
    dense layer has an image of as many rows as lines.
    """
    if operator.kind is OperatorKind.DENSE:
        return products.sizes_of_rows(operator, model, lines_of(model.tensors[operator.output], axis).lines)
    sizes = products.sizes_of_image(operator, model)
    return sizes.upright if axis is Axis.COLUMNS else sizes
