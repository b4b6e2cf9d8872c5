"""Convolutions, depthwise convolutions and dense layers of 8-bit values by their kernels, also with a sum."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from target_arch.backends.plain_c.kernels import depthwise, products
from target_arch.backends.plain_c.kernels.layout import WeightLayout, layout_of
from target_arch.backends.plain_c.kernels.scale import OutOfRange
from target_arch.backends.plain_c.kernels.sums import Sum, sum_after
from target_arch.backends.plain_c.kernels.text import struct
from target_arch.backends.plain_c.kernels.weighted import InlinedWeights, Weighed
from target_arch.backends.plain_c.stripes.rowwise import TurnNames, row_axis, rows_of
from target_arch.backends.plain_c.stripes.schedule import FusedOperators
from target_arch.backends.plain_c.stripes.windows import unit_of, window_of
from target_arch.backends.plain_c.work.forms import Work, WorkUnit, form_of
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
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

    @property
    def functions(self) -> tuple[CFunction, ...]:
        return ()

    @cached_property
    def cycles(self) -> float:
        """The instructions of one call for all rows, by estimate."""
        return cycles(self._work, self.isa) if self.depthwise else self._of_rows(self.unit.image.rows)

    def more(self, turns: Mapping[int, int]) -> float:
        return self._depthwise(turns) if self.depthwise else self._products(turns)

    @cached_property
    def _work(self) -> Work:
        return depthwise.work(self.operator, self.model, None if self.after else form_of(self.isa).strips)

    def _depthwise(self, turns: Mapping[int, int]) -> float:
        """The work of each call before the first row: the weights, and the lines that the call before had
        fetched.
        """
        window, whole = self.unit.reads[0], self._work
        lines = max(window.along.reach - window.along.stride, 0) * window.tensor.row_bytes
        again: Work = {
            WorkUnit.GROUP: whole[WorkUnit.GROUP],
            WorkUnit.LINE: lines if WorkUnit.LINE in whole else 0,
            WorkUnit.CALL: 1,
        }
        return (sum(turns.values()) - 1) * (_TURN + cycles(again, self.isa))

    def _products(self, turns: Mapping[int, int]) -> float:
        """Tiles of pixels that the rows of a turn do not fill, and the calls."""
        each = sum(count * (_TURN + self._of_rows(rows)) for rows, count in turns.items())
        return each - self._of_rows(self.unit.image.rows)

    def _of_rows(self, rows: int) -> float:
        """Products of so many rows."""
        layout, tile = layout_of(self.isa), form_of(self.isa).tile
        sizes = products.sizes_of_rows(self.operator, self.model, self.unit.image.rows)
        some = evolve(sizes, out=(rows, *sizes.out[1:]))
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
    operator: Operator, after: Operator | None, model: Model, isa: InstructionSet
) -> StripedConvolution | None:
    """One operator, or it and the addition `after` it; None where no kernel computes some rows of it."""
    added = None if after is None else sum_after(after, operator.output, model)
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    if (added is None) != (after is None) or any(row_axis(each) is None for each in tensors):
        return None
    window = window_of(operator, model)
    if window is None:
        return None
    try:
        weighed = _weighed(operator, model, layout_of(isa))
    except OutOfRange:
        return None
    if weighed is None:
        return None
    unit = unit_of(operator, window, after, None if added is None else added.other, model)
    return StripedConvolution(
        unit=unit, operator=operator, weighed=weighed, after=added, isa=isa, model=model
    )


def _weighed(operator: Operator, model: Model, layout: WeightLayout) -> Weighed | None:
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        return None if depthwise.refusal(operator, model) else depthwise.weighed(operator, model)
    if products.refusal(operator, model, layout):
        return None
    rows = rows_of(model.tensors[operator.output]).rows
    return products.weighed(operator, model, layout, products.sizes_of_rows(operator, model, rows))
