"""Replays regions that run some channels at a time: what is read was made, the scratch has room for it, and
the output overwrites nothing that is still read.
"""

from collections.abc import Iterator

from attrs import frozen

from target_arch.plan.regions.channels import BlockProducer, BlockTurn, Channels, ChannelSums


@frozen
class _Block:
    """Channels `start` to `end` of a tensor in the scratch, at bytes `first` to `last`."""

    start: int
    end: int
    first: int
    last: int


def faults(plan: Channels) -> list[str]:
    """All that is wrong with it, in the order of time."""
    return list(_Replay(plan).faults())


class _Replay:
    """The channels of each tensor that are in the scratch, those that each producer has made, and those of
    the input that the output has overwritten.
    """

    def __init__(self, plan: Channels) -> None:
        self._plan = plan
        self._there: dict[str, _Block] = {}
        self._made: dict[tuple[str, ...], int] = {}
        self._lost = 0

    def faults(self) -> Iterator[str]:
        """The faults, in the order of time."""
        yield from self._images()
        for turn in self._plan.turns:
            start = self._made.get(turn.by.operators, 0)
            if turn.start != start:
                yield f"channels {turn.start} to {turn.end} of `{turn.by.image.name}` follow channel {start}"
            self._made[turn.by.operators] = turn.end
            yield from self._read(turn)
            if isinstance(turn.by, ChannelSums):
                yield from self._summed(turn.by, first=turn.start == 0)
            elif turn.by.offset is None:
                yield from self._written(turn.by, turn)
            else:
                yield from self._held(turn.by, turn.by.offset, turn)
        last = self._plan.sums or self._plan.producers[-1]
        if isinstance(last, BlockProducer) and last.offset is not None:
            yield f"`{last.image.name}` stays in the scratch"
        done, all = self._made.get(last.operators, 0), last.read.channels
        if done != all:
            yield f"{done} of {all} channels of `{last.read.name}` are in `{last.image.name}`"

    def _images(self) -> Iterator[str]:
        """All have the same channels; a sum with another tensor is made element by element."""
        plan = self._plan
        for each in plan.producers:
            if each.image.channels != plan.channels:
                yield f"`{each.image.name}` has {each.image.channels} channels, not {plan.channels}"
        other = plan.sums.other if plan.sums else None
        if other is not None and (other.pixels, other.channels) != (plan.output.pixels, plan.output.channels):
            yield f"`{other.name}` has other elements than `{plan.output.name}`, to which it is added"

    def _read(self, turn: BlockTurn) -> Iterator[str]:
        by, plan = turn.by, self._plan
        if isinstance(by, BlockProducer) and (by.whole or not by.operators):
            least = 0 if by.whole else turn.start
            if by.read not in plan.given:
                yield f"`{by.read.name}` is not there"
            elif by.read == plan.over and least < self._lost:
                yield f"channel {least} of `{by.read.name}` is read, below {self._lost} they are overwritten"
            return
        block = self._there.get(by.read.name)
        if block is None or (block.start, block.end) != (turn.start, turn.end):
            yield f"channels {turn.start} to {turn.end} of `{by.read.name}` are not there"

    def _summed(self, sums: ChannelSums, *, first: bool) -> Iterator[str]:
        """The sums are where they were, and hold all outputs."""
        if sums.each < sums.image.channels:
            yield f"{sums.each} sums for {sums.image.channels} channels of `{sums.image.name}`"
        block = _Block(0, sums.image.channels, sums.offset, sums.offset + sums.bytes)
        if not first and self._there.get(sums.image.name) != block:
            yield f"the sums of `{sums.image.name}` are overwritten"
        yield from self._put(sums.image.name, block, sums.read.name)

    def _held(self, by: BlockProducer, offset: int, turn: BlockTurn) -> Iterator[str]:
        end = offset + by.image.pixels * (turn.end - turn.start)
        yield from self._put(by.image.name, _Block(turn.start, turn.end, offset, end), by.read.name)

    def _put(self, name: str, block: _Block, read: str) -> Iterator[str]:
        """Bytes of the scratch are taken, except those of what is read meanwhile."""
        if block.last > self._plan.scratch:
            yield f"`{name}` ends at byte {block.last} of {self._plan.scratch}"
        for other, old in list(self._there.items()):
            if other != name and old.first < block.last and block.first < old.last:
                if other == read:
                    yield f"`{name}` is written over `{read}`, which it is made from"
                del self._there[other]
        self._there[name] = block

    def _written(self, by: BlockProducer, turn: BlockTurn) -> Iterator[str]:
        """Channels in their place in the output, which is that of the same channels of `over`."""
        plan = self._plan
        if by.image != plan.output or plan.sums is not None:
            yield f"`{by.image.name}` has no place"
        if plan.over is None:
            return
        if (plan.over.pixels, plan.over.channels) != (by.image.pixels, by.image.channels):
            yield f"`{by.image.name}` has other channels than `{plan.over.name}`, whose place it takes"
        self._lost = turn.end
