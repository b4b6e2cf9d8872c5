"""Who holds which bytes of one memory, and when: what is left at a call site, and the block to promise there.

Time is counted in items of the program (see `items`). The ledger holds a plan, the *witness*: an offset for
every buffer known so far. A promise is a block that is free in the witness, so everything goes on fitting
when it is taken. Where the witness leaves less in one piece than there is in total, buffers around the site
are planned anew, with the block among them.

Buffers of kernels live within the turn of their partition; no two partitions' buffers meet in time.

A result that may take the place of an operand (`Buffer.over`) counts no bytes where both are live, which is
what the memory plan can reach. Whether the witness puts it there shows in its offsets.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from target_arch.plan.memory import Buffer, BufferKind
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.live_sums import Span, live_sums
from target_arch.stages.memory.packing import ALGORITHMS, peak
from target_arch.stages.memory.packing.sharing import choices, rectangles, root

COMPONENT = 300
"""Buffers that are planned anew together, at most: a promise is worth milliseconds, not minutes."""

WORK = 60_000
"""Buffers planned anew over the life of a ledger, at most; after that promises come from the witness as
it is.

It keeps the time of many promises near-linear in the number of partitions.
"""

PATIENCE = 8
"""How often in the life of a ledger the thorough algorithm is asked where quick ones fail."""

_QUICK = ("by-conflicts", "by-size", "by-area", "by-time")

_TRIES = 5
"""Sizes tried between what the witness has in one piece and all that remains."""

_BLOCK = "promised block"


@frozen(kw_only=True)
class Block:
    """Free bytes in one piece."""

    offset: int
    bytes: int


class PoolLedger:
    """The ledger of one memory. `available` are the bytes that its constants leave.

    `turns` are the spans of all partitions' turns, in order: no two partitions' kernels run at once.
    """

    def __init__(
        self,
        *,
        available: int,
        unit: int,
        end: int,
        turns: Sequence[Span],
        held: Sequence[Buffer],
        taken: Mapping[int, Sequence[Buffer]],
    ) -> None:
        self.available, self._unit, self._turns = max(available, 0), unit, turns
        self._held = list(held)
        self._taken = {number: tuple(buffers) for number, buffers in taken.items() if buffers}
        self._numbers = sorted(self._taken)
        self.offsets = _planned(self._everything(), self.available)
        self._first = np.array([buffer.first for buffer in held], dtype=np.int64)
        self._last = np.array([buffer.last for buffer in held], dtype=np.int64)
        self._live = live_sums(
            (((buffer.first + bool(buffer.over), buffer.last), buffer.bytes) for buffer in held), end
        )
        self._work, self._patience, self._top = WORK, PATIENCE, 0
        self._read_offsets()

    @property
    def fits(self) -> bool:
        """True where everything known so far lies within what is available."""
        return self._top <= self.available

    def hold(self, bytes: int) -> int:
        """Constants take so many bytes more. Returns how many are missing then; the ledger knows of no plan
        for what it holds until fewer are held again.
        """
        self.available -= bytes
        if self._top <= self.available:
            return 0
        everything = self._everything()
        for algorithm in self._algorithms():
            if self._top <= self.available or self._work < len(everything):
                break
            self._work -= len(everything)
            offsets = _planned(everything, self.available, algorithm)
            if peak(everything, offsets) <= self.available:
                self.offsets |= offsets
                self._read_offsets()
        return max(self._top - self.available, 0)

    def share(self, name: str, over: Sequence[str]) -> None:
        """A buffer that is held may lie over one of these from now on; they end in the item it begins in."""
        index = self._indices[name]
        before = self._held[index]
        if not before.over:
            self._live[before.first] -= before.bytes
        self._held[index] = evolve(before, over=tuple(dict.fromkeys((*before.over, *over))))

    @property
    def overfull(self) -> bool:
        """True where what others than kernels hold is at some time more than is available."""
        return int(self._live.max(initial=0)) > self.available

    def pressed(self) -> dict[int, int]:
        """The partitions whose kernels took more than there is now beside what others hold, and by how many
        bytes: constants came later.
        """
        if self._top <= self.available:
            return {}
        found = {}
        for number in self._numbers:
            own = self._taken[number]
            span = (min(b.first for b in own), max(b.last for b in own))
            over = sum(buffer.bytes for buffer in own) + self.live(span) - self.available
            if over > 0:
                found[number] = over
        return found

    def _everything(self) -> tuple[Buffer, ...]:
        return (*self._held, *(b for number in self._numbers for b in self._taken[number]))

    def live(self, span: Span) -> int:
        """The most bytes that others hold at any item of the span."""
        return int(self._live[span[0] : span[1] + 1].max(initial=0))

    def alive(self, span: Span) -> list[tuple[str, int]]:
        """The buffers of others, with their bytes, that are live at some item of the span."""
        there = np.flatnonzero((self._first <= span[1]) & (self._last >= span[0]))
        return [(self._held[index].name, self._held[index].bytes) for index in there.tolist()]

    def promise(self, span: Span) -> Block:
        """The largest block found free throughout the span. It stays free until `take`."""
        block, remaining = self._gap(span), self.available - self.live(span)
        size = remaining - remaining % self._unit
        if block.bytes >= size or not len(self._first):
            return block
        for _ in range(_TRIES):
            if size <= block.bytes or not self._affordable(span):
                break
            wanted = self._buffer(span, size)
            missing = self._plan_anew(span, (wanted,))
            if missing <= 0:
                return Block(offset=self.offsets.pop(_BLOCK), bytes=size)
            size -= round_up(missing, self._unit)
        return self._gap(span)

    def take(self, number: int, buffers: Sequence[Buffer], block: Block | None) -> bool:
        """The kernel of partition `number` takes these buffers: in the block promised, else where there is
        room.

        False where no room was found; then nothing changes.
        """
        placed = None if block is None else _stacked(buffers, block)
        if placed is None:
            placed = self._fitted(buffers)
        if placed is None:
            span = (min(b.first for b in buffers), max(b.last for b in buffers))
            if self._plan_anew(span, buffers) > 0:
                return False
            placed = {buffer.name: self.offsets[buffer.name] for buffer in buffers}
        self.offsets |= placed
        self._top = max(self._top, peak(buffers, placed))
        self._taken[number] = tuple(buffers)
        insort(self._numbers, number)
        return True

    def _buffer(self, span: Span, size: int) -> Buffer:
        return Buffer(
            name=_BLOCK,
            kind=BufferKind.LOCAL,
            memory="",
            bytes=size,
            alignment=self._unit,
            first=span[0],
            last=span[1],
        )

    def _gap(self, span: Span) -> Block:
        """The largest hole of the witness that starts at a multiple of the unit and is there all the time."""
        there = (self._first <= span[1]) & (self._last >= span[0])
        taken = sorted(zip(self._begin[there].tolist(), self._end[there].tolist(), strict=True))
        best, end = Block(offset=0, bytes=0), 0
        for start, stop in (*taken, (self.available, self.available)):
            free = min(start, self.available) - end
            if free > best.bytes:
                best = Block(offset=end, bytes=free)
            end = max(end, round_up(stop, self._unit))
        return best

    def _fitted(self, buffers: Sequence[Buffer]) -> dict[str, int] | None:
        """First fit around everything that holds still."""
        placed: dict[str, int] = {}
        for buffer in sorted(buffers, key=lambda buffer: (-buffer.bytes, buffer.name)):
            there = (self._first <= buffer.last) & (self._last >= buffer.first)
            taken = list(zip(self._begin[there].tolist(), self._end[there].tolist(), strict=True))
            others = (b for b in buffers if b.name in placed and b.overlaps(buffer))
            taken += [(placed[other.name], placed[other.name] + other.bytes) for other in others]
            offset = 0
            for start, stop in sorted(taken):
                if start - offset >= buffer.bytes:
                    break
                offset = max(offset, round_up(stop, buffer.alignment))
            if offset + buffer.bytes > self.available:
                return None
            placed[buffer.name] = offset
        return placed

    def _affordable(self, span: Span) -> bool:
        window = self._component(span)
        count = int(((self._first <= window[1]) & (self._last >= window[0])).sum())
        return count <= COMPONENT and self._work >= count

    def _plan_anew(self, span: Span, wanted: Sequence[Buffer]) -> int:
        """Plan what is connected in time with the span, and the wanted buffers.

        Returns how many bytes are missing, none where the new plan was adopted.
        """
        window = self._component(span)
        there = np.flatnonzero((self._first <= window[1]) & (self._last >= window[0]))
        around = [self._held[index] for index in there.tolist()]
        around += self._taken_within(window)
        self._work -= len(around)
        least = 0
        for algorithm in self._algorithms():
            offsets = _planned((*around, *wanted), self.available, algorithm)
            missing = peak((*around, *wanted), offsets) - self.available
            if missing <= 0:
                self.offsets |= offsets
                self._read_offsets()
                return 0
            least = min(least or missing, missing)
        return least

    def _algorithms(self) -> Iterator[str]:
        """Quick ones first; the thorough one while there is patience left."""
        yield from _QUICK
        if self._patience:
            self._patience -= 1
            yield "best"

    def _taken_within(self, window: Span) -> list[Buffer]:
        low = bisect_left(self._turns, window[0], key=lambda turn: turn[1])
        high = bisect_left(self._turns, window[1] + 1, key=lambda turn: turn[0])
        found = self._numbers[bisect_left(self._numbers, low) : bisect_left(self._numbers, high)]
        return [buffer for number in found for buffer in self._taken[number]]

    def _component(self, span: Span) -> Span:
        """The items around a span beyond which nothing that is live at its edges reaches."""
        starts, stops = self._connected
        low = int(np.searchsorted(starts, span[0], side="right")) - 1
        high = int(np.searchsorted(starts, span[1], side="right")) - 1
        return int(starts[low]), int(stops[high])

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {buffer.name: index for index, buffer in enumerate(self._held)}

    @cached_property
    def _connected(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        spans = [(buffer.first, buffer.last) for buffer in self._held]
        return _components((*spans, *self._turns))

    def _read_offsets(self) -> None:
        self._begin = np.array([self.offsets[buffer.name] for buffer in self._held], dtype=np.int64)
        self._end = self._begin + np.array([buffer.bytes for buffer in self._held], dtype=np.int64)
        self._top = peak(self._everything(), self.offsets)


def _planned(buffers: Sequence[Buffer], goal: int, algorithm: str = "best") -> dict[str, int]:
    """Offsets for buffers that count as many bytes as their alignment makes of them: whole units.

    Which results take the place of operands is tried as the memory plan does, until the peak is at the goal.
    """
    if not buffers:
        return {}
    whole = [evolve(b, bytes=round_up(b.bytes, b.alignment)) for b in buffers]
    best: dict[str, int] = {}
    for places in choices(whole):
        if best and peak(whole, best) <= goal:
            break
        found = ALGORITHMS[algorithm](rectangles(whole, places))
        offsets = {buffer.name: found[root(buffer.name, places)] for buffer in whole}
        if not best or peak(whole, offsets) < peak(whole, best):
            best = offsets
    return best


def _components(spans: Iterable[Span]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last item of every run of spans that overlap one another."""
    starts: list[int] = []
    stops: list[int] = []
    for first, last in sorted(spans):
        if stops and first <= stops[-1]:
            stops[-1] = max(stops[-1], last)
        else:
            starts.append(first)
            stops.append(last)
    return np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)


def _stacked(buffers: Iterable[Buffer], block: Block) -> dict[str, int] | None:
    """One above the other in the block, the coarsest alignment first; None where they do not fit it."""
    placed, end = {}, block.offset
    for buffer in sorted(buffers, key=lambda b: (-b.alignment, b.bytes % b.alignment != 0, b.name)):
        start = round_up(end, buffer.alignment)
        placed[buffer.name], end = start, start + buffer.bytes
    return placed if end <= block.offset + block.bytes else None
