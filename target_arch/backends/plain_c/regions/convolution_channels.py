"""Convolutions, depthwise convolutions and dense layers of 8-bit values by their kernels: some outputs from
the whole image, some channels from the same ones, and sums of all outputs over some channels.
"""

from collections.abc import Iterator
from functools import cached_property
from math import ceil

from attrs import evolve, field, frozen

from target_arch.backends.plain_c.kernels import depthwise, products
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.backends.plain_c.kernels.sums import Sum, sum_after
from target_arch.backends.plain_c.kernels.text import struct
from target_arch.backends.plain_c.kernels.weighted import InlinedWeights, Weighed, as_int8
from target_arch.backends.plain_c.regions.linewise import BlockNames, FusedOperators, Turns
from target_arch.backends.plain_c.regions.windows import channels_unit
from target_arch.backends.plain_c.work.forms import WorkUnit, form_of
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator
from target_arch.soc.words import InstructionSet

_CALL = 400
"""Instructions for some more channels."""
_KEPT = 2.0
"""Instructions for each sum that waits for more channels."""
_TILE = 250
"""Instructions for pixels of a tile that are gathered once more, counted on an emulated Cortex-M7."""


@frozen(kw_only=True, slots=False)
class WeightedBlock(InlinedWeights):
    """One of them as C calls it for some channels of its output, or of its input where it accumulates."""

    unit: FusedOperators
    operator: Operator
    after: Sum | None
    kernel: Driver
    isa: InstructionSet
    model: Model = field(repr=False)

    @cached_property
    def weighed(self) -> Weighed:
        """Its call, with weights that are packed now."""
        if self.kernel is Driver.DEPTHWISE:
            return depthwise.weighed(self.operator, self.model)
        sizes = products.sizes_of(self.operator, self.model)
        return products.weighed(self.operator, self.model, layout_of(self.isa), sizes)

    @property
    def headers(self) -> tuple[str, ...]:
        return (*self.weighed.call.headers, f"kernels/{self.kernel}_channels.h")

    def functions(self, turns: Turns) -> tuple[CFunction, ...]:
        return ()

    def more(self, turns: Turns) -> float:
        number, image = sum(turns.values()), self.unit.image
        calls = number * _CALL
        if self.kernel is Driver.DEPTHWISE:
            return calls
        each = [count for count, often in turns.items() for _ in range(often)]
        parts = sum(self._cycles(count) for count in each) - self._cycles(sum(each))
        if self.unit.accumulates:
            return calls + parts + number * _KEPT * image.bytes
        tiles = ceil(image.line_bytes / form_of(self.isa).tile.rows)
        return calls + parts + (number - 1) * _TILE * tiles

    def _cycles(self, channels: int) -> float:
        """The work of that many channels, but not of what is done once for each output."""
        sizes = products.sizes_of(self.operator, self.model)
        if self.unit.accumulates:
            sizes = evolve(sizes, image=(*sizes.image[:3], channels))
        else:
            sizes = evolve(sizes, out=(*sizes.out[:2], channels))
        work = products.work_of(sizes, layout_of(self.isa), form_of(self.isa).tile)
        return cycles({**work, WorkUnit.OUTPUT: 0, WorkUnit.CALL: 0}, self.isa)

    def call(self, names: BlockNames, turns: Turns) -> Iterator[str]:
        yield self._sizes
        given = f"{names.x}, w{names.suffix}, bias{names.suffix}, {names.out}, n, some"
        if self.unit.accumulates:
            yield f"ta_s8_sum_channels(&sizes, {given});"
            return
        yield from self._end(names, "0, 0, 0")
        driver = "depthwise_channels" if self.kernel is Driver.DEPTHWISE else "convolve_outputs"
        yield f"ta_s8_{driver}(&sizes, &end, {given}, {names.apart});"

    def finish(self, names: BlockNames, sums: str) -> Iterator[str]:
        """The statements that make the output from the sums."""
        yield self._sizes
        added = "0, 0, 0"
        if self.after is not None:
            yield self.after.struct
            added = f"&add, {as_int8(self.after.other)}{names.x}, {self.after.side}"
        yield from self._end(names, added)
        yield f"ta_s8_finish_sums(&sizes, &end, {sums}, {names.out});"

    @property
    def _sizes(self) -> str:
        return struct(self.weighed.call.sizes, "sizes", self.weighed.call.numbers)

    def _end(self, names: BlockNames, added: str) -> Iterator[str]:
        scale, n = self.weighed.values.scale, names.suffix
        yield struct("ta_s8_scale", "scale", scale.numbers)
        yield f"const ta_s8_end end = {{{scale.constant}, &scale, multiplier{n}, shift{n}, {added}}};"


def weighted_block(operator: Operator, model: Model, isa: InstructionSet) -> WeightedBlock | None:
    """An operator for some of its outputs; None where no kernel computes it."""
    return _block(operator, None, model, isa, summed=False)


def summed_block(
    operator: Operator, after: Operator | None, model: Model, isa: InstructionSet
) -> WeightedBlock | None:
    """An operator for some channels of its input, and the addition `after` it; None where a sum is over more
    than the channels of one pixel.
    """
    block = _block(operator, after, model, isa, summed=True)
    if block is None or block.kernel is not Driver.PRODUCTS:
        return None
    sizes = products.sizes_of(operator, model)
    windows = (*sizes.kernel, *sizes.stride, *sizes.padding)
    alone = windows == (1, 1, 1, 1, 0, 0) and sizes.image[3] == block.unit.reads[0].tensor.lines
    return block if alone else None


def _block(
    operator: Operator, after: Operator | None, model: Model, isa: InstructionSet, *, summed: bool
) -> WeightedBlock | None:
    if not operator.facts.weighted:
        return None
    added = None if after is None else sum_after(after, operator.output, model)
    kernel = pick(operator, after, model, isa).kernel
    if kernel not in (Driver.PRODUCTS, Driver.DEPTHWISE):
        return None
    other = None if added is None else added.other
    unit = channels_unit(operator, after, other, model, whole=kernel is Driver.PRODUCTS, accumulates=summed)
    if unit is None:
        return None
    return WeightedBlock(unit=unit, operator=operator, after=added, kernel=kernel, isa=isa, model=model)
