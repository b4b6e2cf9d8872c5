"""All ways to run neighbouring operators some channels at a time, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import define, evolve, field

from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.regions.convolution_channels import (
    WeightedBlock,
    summed_block,
    weighted_block,
)
from target_arch.backends.plain_c.regions.defined_channels import defined_block
from target_arch.backends.plain_c.regions.linewise import Channelwise, FusedOperators, closed
from target_arch.backends.plain_c.regions.price import price
from target_arch.backends.plain_c.regions.schedule import in_turns, placed
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.cut import Axis, AxisCut
from target_arch.plan.regions.lines import LineWindow, Pass, TensorLines
from target_arch.plan.regions.region import Region
from target_arch.soc.words import InstructionSet

_GROUP = 16
"""Channels whose weights and scales are together: steps are whole groups."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Groups of a step."""
_HALF = 8
"""Channels of a step of a single depthwise convolution, which may be half a group."""


@define(kw_only=True, eq=False)
class ChannelRegions:
    """The regions of a model on one core that run some channels at a time; units are made once."""

    model: Model
    isa: InstructionSet
    _units: dict[str, Channelwise | None] = field(factory=dict, repr=False)
    _sums: dict[tuple[str, ...], WeightedBlock | None] = field(factory=dict, repr=False)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        units = self.units(operators)
        if units is None:
            return
        names, inner = tuple(operator.id for operator in operators), _inner(units)
        for number, size in enumerate(_sizes(inner.lines, alone=len(units) == 1)):
            plain = _in_turns(units, size)
            if number and plain.scratch > room:
                return
            # Sums over few channels may even take fewer, since they are gathered once: that counts as none.
            more = max(price(plain, units), 0)
            for over in self._places(units):
                yield Region(
                    operators=names,
                    cuts=(AxisCut(axis=Axis.CHANNELS, size=size, of=inner.lines),),
                    scratch=plain.scratch,
                    over=over,
                    instructions=more,
                )

    def one_pass(self, region: Region, units: Sequence[Channelwise]) -> Pass:
        """The turns of the call of a region."""
        return placed(_in_turns(units, region.cuts[-1].size), region.over)

    def units(self, operators: Sequence[Operator]) -> list[Channelwise] | None:
        """The calls for channels of these operators, each of which reads the one before: the first from whole
        pixels or from the same channels, the others from the same channels, and the last one may accumulate
        them. None where some have none, or others read what is between them.
        """
        before, sums = self._end(operators)
        units = [unit for unit in map(self._unit, before) if unit is not None]
        if not units or len(units) < len(before) or any(map(_whole, units[1:])):
            return None
        chain = [*units, *([sums] if sums else [])]
        return chain if self._closed(chain) and (sums or self._writes(units)) else None

    def _end(self, operators: Sequence[Operator]) -> tuple[Sequence[Operator], WeightedBlock | None]:
        """The operators before the one that adds up, which may have an addition after it; all, where none
        does.
        """
        *before, last = operators
        if len(before) > 1 and joinable(before[-1], last, self.model):
            return before[:-1], self._sum(before[-1], last)
        return (before, sums) if before and (sums := self._sum(last, None)) else (operators, None)

    def _unit(self, one: Operator) -> Channelwise | None:
        if one.id not in self._units:
            weighted = weighted_block(one, self.model, self.isa)
            self._units[one.id] = weighted or defined_block(one, self.model, self.isa)
        return self._units[one.id]

    def _sum(self, one: Operator, after: Operator | None) -> WeightedBlock | None:
        key = (one.id,) if after is None else (one.id, after.id)
        if key not in self._sums:
            self._sums[key] = summed_block(one, after, self.model, self.isa)
        return self._sums[key]

    def _closed(self, chain: Sequence[Channelwise]) -> bool:
        """True if these can be one call, and each reads the one before it, and no one before that."""
        inner = [each.unit.image.name for each in chain[:-1]]
        others = [window.tensor.name for each in chain for window in each.unit.reads[1:]]
        read = [each.unit.reads[0].tensor.name for each in chain[1:]]
        return closed(chain, self.model) and inner == read and not {*inner} & {*others}

    def _writes(self, units: Sequence[Channelwise]) -> bool:
        """True if the last unit writes its channels among others, and there is something to gain."""
        *before, last = units
        if before and last.unit.image.line_bytes == 1:
            return True
        return isinstance(last, WeightedBlock) and (bool(before) or self._over_input(units))

    def _over_input(self, units: Sequence[Channelwise]) -> bool:
        """True if a step writes only where it has read."""
        x, out = (self.model.tensors[image.name] for image in (_input(units), units[-1].unit.image))
        alike = x.bytes == out.bytes and (x.dtype, x.shape[-1]) == (out.dtype, out.shape[-1])
        return not _whole(units[0]) and alike

    def _places(self, units: Sequence[Channelwise]) -> tuple[str | None, ...]:
        """The given tensors in whose place the output may be."""
        x, last = _input(units), units[-1]
        if not last.unit.accumulates:
            return (x.name if self._over_input(units) else None,)
        added = last.after if isinstance(last, WeightedBlock) else None
        other = added.other.name if added and added.over else None
        both = added is not None and added.other.name == x.name
        before = None if both or x.bytes < last.unit.image.bytes else x.name
        return tuple(dict.fromkeys(name for name in (other, before) if name)) or (None,)


def _input(units: Sequence[Channelwise]) -> TensorLines:
    """The tensor that the first one reads."""
    return units[0].unit.reads[0].tensor


def _inner(units: Sequence[Channelwise]) -> TensorLines:
    """The last tensor whose channels are made in turn."""
    last = units[-1].unit
    return last.reads[0].tensor if last.accumulates else last.image


def _whole(unit: Channelwise) -> bool:
    """Whether a unit needs whole pixels for each of its channels, not only the same ones."""
    return not unit.unit.reads[0].along.plain


def _in_turns(units: Sequence[Channelwise], size: int) -> Pass:
    """The turns of a chain. Channels of an input that it does not need whole are copied first."""
    fused = [unit.unit for unit in units]
    if not _whole(units[0]):
        x = _input(units)
        copied = evolve(x, name=f"{x.name}.copied")
        copy = FusedOperators(operators=(), reads=(LineWindow.equal(x),), image=copied)
        first = evolve(fused[0], reads=(LineWindow.equal(copied), *fused[0].reads[1:]))
        fused = [copy, first, *fused[1:]]
    plain = in_turns(fused, size, apart=False)
    assert plain is not None
    return plain


def _sizes(channels: int, *, alone: bool) -> Iterator[int]:
    """Channels of a step, fewest first."""
    if alone:
        yield from (_HALF, *range(_GROUP, channels // 2 + 1, _GROUP))
    else:
        yield from (step * _GROUP for step in _STEPS if step * _GROUP < channels)
