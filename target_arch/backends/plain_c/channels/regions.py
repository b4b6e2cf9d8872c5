"""All ways to run neighbouring operators some channels at a time, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import define, field

from target_arch.backends.plain_c.channels.blockwise import Blockwise, channels_of
from target_arch.backends.plain_c.channels.defined import defined_block
from target_arch.backends.plain_c.channels.schedule import ChannelChain, channels
from target_arch.backends.plain_c.channels.weighted import WeightedBlock, summed_block, weighted_block
from target_arch.backends.plain_c.kernels.joining import few_operands, joinable
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.channels import Channels
from target_arch.plan.regions.region import Axis, Region
from target_arch.soc.words import InstructionSet

_GROUP = 16
"""Channels whose weights and scales are together: steps are whole groups."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Groups of a step."""
_HALF = 8
"""Channels of a step of a single depthwise convolution, which may be half a group."""
_GATHER = 1.5
"""Instructions for each byte whose channels are copied."""


@define(kw_only=True, eq=False)
class ChannelRegions:
    """The regions of a model on one core that run some channels at a time; units are made once."""

    model: Model
    isa: InstructionSet
    _units: dict[str, Blockwise | None] = field(factory=dict, repr=False)
    _sums: dict[tuple[str, ...], WeightedBlock | None] = field(factory=dict, repr=False)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        chain = self.chain(operators)
        if chain is None:
            return
        names = tuple(operator.id for operator in operators)
        for number, size in enumerate(_sizes(chain)):
            plan = channels(chain, size, None)
            if number and plan.scratch > room:
                return
            for over in self._places(chain):
                yield Region(
                    operators=names,
                    axis=Axis.CHANNELS,
                    size=size,
                    scratch=plan.scratch,
                    over=over,
                    instructions=_price(chain, plan),
                )

    def plan(self, region: Region, operators: Sequence[Operator]) -> tuple[ChannelChain, Channels]:
        """The units and the steps of a region of these operators."""
        chain = self.chain(operators)
        assert chain is not None
        return chain, channels(chain, region.size, region.over)

    def chain(self, operators: Sequence[Operator]) -> ChannelChain | None:
        """The units of these operators; None where some have none, or others read what is between them."""
        before, sums = self._end(operators)
        units = [unit for unit in map(self._unit, before) if unit is not None]
        if not units or len(units) < len(before) or any(unit.whole for unit in units[1:]):
            return None
        other = sums.after.other if sums and sums.after else None
        found = ChannelChain(
            units=tuple(units), sums=sums, other=None if other is None else channels_of(other)
        )
        return found if self._closed(found) and (sums or self._writes(found)) else None

    def _end(self, operators: Sequence[Operator]) -> tuple[Sequence[Operator], WeightedBlock | None]:
        """The operators before the one that adds up, which may have an addition after it; all, where none
        does.
        """
        *before, last = operators
        if len(before) > 1 and joinable(before[-1], last, self.model):
            return before[:-1], self._sum(before[-1], last)
        return (before, sums) if before and (sums := self._sum(last, None)) else (operators, None)

    def _unit(self, one: Operator) -> Blockwise | None:
        if one.id not in self._units:
            found = weighted_block(one, self.model, self.isa) or defined_block(one, self.model, self.isa)
            self._units[one.id] = found
        return self._units[one.id]

    def _sum(self, one: Operator, after: Operator | None) -> WeightedBlock | None:
        key = (one.id,) if after is None else (one.id, after.id)
        if key not in self._sums:
            self._sums[key] = summed_block(one, after, self.model, self.isa)
        return self._sums[key]

    def _closed(self, chain: ChannelChain) -> bool:
        """True if each unit reads the one before it, no other operator does, and the call has no more
        operands than any may.
        """
        if not few_operands({image.name for image in chain.given}, chain.everyone):
            return False
        inner = [unit.image.name for unit in chain.everyone[:-1]]
        kept = set(self.model.kept)
        return inner == [unit.read.name for unit in chain.everyone[1:]] and all(
            self.model.uses[name] == 1 and name not in kept for name in inner
        )

    def _writes(self, chain: ChannelChain) -> bool:
        """True if the last unit writes its channels among others, and there is something to gain."""
        *before, last = chain.units
        if before and last.image.pixels == 1:
            return True
        return isinstance(last, WeightedBlock) and (bool(before) or self._over_input(chain))

    def _over_input(self, chain: ChannelChain) -> bool:
        """True if a step writes only where it has read."""
        x, out = (self.model.tensors[name] for name in (chain.x.name, chain.output.name))
        return (
            chain.copied
            and chain.x.bytes == chain.output.bytes
            and (x.dtype, x.shape[-1])
            == (
                out.dtype,
                out.shape[-1],
            )
        )

    def _places(self, chain: ChannelChain) -> tuple[str | None, ...]:
        """The given tensors in whose place the output may be."""
        if chain.sums is None:
            return (chain.x.name if self._over_input(chain) else None,)
        added = chain.sums.after
        other = added.other.name if added and added.over else None
        before = None if chain.other == chain.x or chain.x.bytes < chain.output.bytes else chain.x.name
        return tuple(dict.fromkeys(name for name in (other, before) if name)) or (None,)


def _sizes(chain: ChannelChain) -> Iterator[int]:
    """Channels of a step, fewest first."""
    all = chain.units[-1].image.channels
    if len(chain.everyone) == 1:
        yield from (_HALF, *range(_GROUP, all // 2 + 1, _GROUP))
    else:
        yield from (step * _GROUP for step in _STEPS if step * _GROUP < all)


def _price(chain: ChannelChain, plan: Channels) -> int:
    """The instructions that some channels at a time add. Sums over few channels may even take fewer, since
    they are gathered once: that counts as none.
    """
    copied = _GATHER * chain.x.bytes if chain.copied else 0
    return max(int(copied + sum(unit.more(plan.blocks) for unit in chain.everyone)), 0)
