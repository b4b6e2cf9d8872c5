"""The ledger of one memory: which buffer has which bytes when, and the block to promise at a call site.

Time is counted in items of the program (see `stages.program`). The ledger holds a *known plan*: an
offset for every buffer known so far. A promise is a block that is free in the known plan, so all buffers
still fit when it is used. If the largest gap in the known plan is smaller than the free bytes in total,
buffers around the site are planned again together with the block.

Buffers of kernels are live only while their partition runs, so buffers of two partitions never overlap in
time.

A result that may reuse the place of an operand (`Buffer.over`) counts no bytes while both are live, as the
memory plan can place them so. Whether the known plan does shows in its offsets.

A ledger is a value. Every change returns a new ledger that shares most of the old one: `Overlay` for buffers,
copies of arrays for sums, which cost some microseconds each. Search effort used without success is used up in
the new ledger, too.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from attrs import evolve, field, frozen

from target_arch.plan.memory import Buffer, BufferKind
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.offsets import Block, Occupied, first_fit, largest_gap, planned, stacked
from target_arch.stages.memory.packing import peak
from target_arch.stages.memory.packing.live_sums import Interval, live_sums
from target_arch.stages.memory.residents import Numbers, Residents
from target_arch.stages.overlay import Overlay

COMPONENT = 300
"""The most buffers that are planned again together: a promise is worth milliseconds, not minutes."""

WORK = 60_000
"""The most buffers planned again over the life of a ledger; after that the known plan stays as it is.

It keeps the time of many promises near-linear in the number of partitions.
"""

PATIENCE = 8
"""How often in the life of a ledger the thorough algorithm runs if quick ones fail."""

_QUICK = ("by-conflicts", "by-size", "by-area", "by-time")
_THOROUGH = "best"

_TRIES = 5
"""Sizes tried between the largest gap of the known plan and all free bytes."""

_BLOCK = "promised block"


@frozen(kw_only=True)
class _Taken:
    """The buffers of one kernel, and where they are in the known plan."""

    buffers: tuple[Buffer, ...]
    offsets: Mapping[str, int]


@frozen(kw_only=True, eq=False)
class PoolLedger:
    """The ledger of one memory. `available` are the bytes that constants leave, `unit` is the alignment of
    blocks.
    """

    available: int
    unit: int
    _residents: Residents = field(repr=False)
    _shared: Overlay[int, Buffer] = field(factory=Overlay, repr=False)
    """Residents that may reuse further places since the start."""
    _sums: Numbers = field(repr=False)
    """Bytes of residents live at every moment."""
    _begin: Numbers = field(repr=False)
    """The offset of every resident."""
    _taken: Overlay[int, _Taken] = field(repr=False)
    _tops: Numbers = field(repr=False)
    """The first byte above the buffers of every partition, -1 for one without."""
    _top: int = 0
    """The first byte above everything."""
    _work: int = WORK
    _patience: int = PATIENCE

    @classmethod
    def of(
        cls, residents: Residents, available: int, unit: int, taken: Mapping[int, Sequence[Buffer]]
    ) -> "PoolLedger":
        """The ledger of a memory in which kernels (by number of the partition) already have these buffers."""
        known = {number: tuple(own) for number, own in taken.items() if own}
        lives = (((b.first + bool(b.over), b.last), b.bytes) for b in residents.buffers)
        pool = cls(
            available=max(available, 0),
            unit=unit,
            residents=residents,
            sums=live_sums(lives, residents.end),
            begin=np.zeros(len(residents.buffers), dtype=np.int64),
            taken=Overlay({number: _Taken(buffers=own, offsets={}) for number, own in known.items()}),
            tops=np.array([-(n not in known) for n in range(len(residents.turns))], dtype=np.int64),
        )
        offsets = planned(pool._everything(), pool.available)
        return pool._moved(offsets, range(len(residents.buffers)), known)

    @property
    def fits(self) -> bool:
        """True if all buffers of the known plan are within the available bytes."""
        return self._top <= self.available

    @property
    def missing(self) -> int:
        """The bytes by which the known plan is too high."""
        return max(self._top - self.available, 0)

    @property
    def overfull(self) -> bool:
        """True if residents alone need more than the available bytes at some time."""
        return int(self._sums.max(initial=0)) > self.available

    @property
    def offsets(self) -> dict[str, int]:
        """The known plan."""
        offsets = {b.name: int(at) for b, at in zip(self._residents.buffers, self._begin, strict=True)}
        for taken in self._taken.values():
            offsets |= taken.offsets
        return offsets

    def live(self, span: Interval) -> int:
        """The most bytes of residents live at any item of the span."""
        return max(self._sums[span[0] : span[1] + 1].tolist(), default=0)

    def alive(self, span: Interval) -> list[tuple[str, int]]:
        """The residents, with their bytes, that are live at some item of the span."""
        there = np.flatnonzero(self._residents.live(span)).tolist()
        return [
            (self._residents.buffers[number].name, self._residents.buffers[number].bytes) for number in there
        ]

    def over_budget(self) -> dict[int, int]:
        """The partitions whose kernels no longer fit beside the residents, as constants have grown since, and
        the excess in bytes.
        """
        if self.fits:
            return {}
        found = {}
        for number in sorted(self._taken):
            own = self._taken[number].buffers
            over = sum(buffer.bytes for buffer in own) + self.live(_span(own)) - self.available
            if over > 0:
                found[number] = over
        return found

    def holding(self, bytes: int) -> "PoolLedger":
        """Let constants grow by these bytes. If bytes are then missing, the known plan does not fit until
        constants shrink again.
        """
        pool = evolve(self, available=self.available - bytes)
        if pool.fits:
            return pool
        everything = pool._everything()
        for algorithm in (*_QUICK, _THOROUGH):
            if algorithm == _THOROUGH and not pool._patience:
                break
            pool = pool._asking(algorithm)
            if pool.fits or pool._work < len(everything):
                break
            pool = evolve(pool, work=pool._work - len(everything))
            offsets = planned(everything, pool.available, algorithm)
            if peak(everything, offsets) <= pool.available:
                pool = pool._moved(offsets, range(len(pool._begin)), pool._taken)
        return pool

    def sharing(self, places: Iterable[tuple[str, Sequence[str]]]) -> "PoolLedger":
        """Let each of these residents reuse the place of others, which end where it begins."""
        changed: dict[int, Buffer] = {}
        sums = self._sums.copy()
        for name, over in places:
            number = self._residents.numbers[name]
            before = changed[number] if number in changed else self._resident(number)
            if not before.over:
                sums[before.first] -= before.bytes
            changed[number] = evolve(before, over=tuple(dict.fromkeys((*before.over, *over))))
        return evolve(self, sums=sums, shared=self._shared.changed(changed))

    def promise(self, span: Interval) -> tuple["PoolLedger", Block]:
        """The largest block found that is free throughout the span, and the ledger that keeps it free until
        it is taken.
        """
        pool, block, remaining = self, self._gap(span), self.available - self.live(span)
        size = remaining - remaining % self.unit
        for _ in range(_TRIES):
            if size <= block.bytes or not pool._affordable(span):
                break
            pool, missing, offsets = pool._replanned(span, (pool._block(span, size),))
            if missing <= 0:
                return pool, Block(offset=offsets[_BLOCK], bytes=size)
            size -= round_up(missing, self.unit)
        return pool, block

    def take(self, number: int, buffers: Sequence[Buffer], block: Block | None) -> tuple["PoolLedger", bool]:
        """Add the buffers of the kernel of partition `number`: in the promised block, else where there is
        room. False if no room was found; then only search effort is used up.
        """
        pool = self
        placed: Mapping[str, int] | None = None if block is None else stacked(buffers, block)
        if placed is None:
            placed = first_fit(
                buffers, lambda buffer: self._occupied((buffer.first, buffer.last)), self.available
            )
        if placed is None:
            pool, missing, placed = self._replanned(_span(buffers), buffers)
            if missing > 0:
                return pool, False
        own = _Taken(buffers=tuple(buffers), offsets={b.name: placed[b.name] for b in buffers})
        tops = pool._tops.copy()
        tops[number] = peak(buffers, placed)
        top, taken = max(pool._top, int(tops[number])), pool._taken.changed({number: own})
        return evolve(pool, taken=taken, tops=tops, top=top), True

    def _block(self, span: Interval, size: int) -> Buffer:
        first, last = span
        return Buffer(
            name=_BLOCK,
            kind=BufferKind.LOCAL,
            memory="",
            bytes=size,
            alignment=self.unit,
            first=first,
            last=last,
        )

    def _resident(self, number: int) -> Buffer:
        return self._shared[number] if number in self._shared else self._residents.buffers[number]

    def _everything(self) -> tuple[Buffer, ...]:
        residents = map(self._resident, range(len(self._residents.buffers)))
        return (*residents, *(b for number in sorted(self._taken) for b in self._taken[number].buffers))

    def _occupied(self, span: Interval) -> Occupied:
        """The bytes that residents occupy during a span."""
        there = self._residents.live(span)
        begin = self._begin[there]
        return list(zip(begin.tolist(), (begin + self._residents.sizes[there]).tolist(), strict=True))

    def _gap(self, span: Interval) -> Block:
        """The largest gap of the known plan that is free throughout the span, and no larger than what
        residents leave: where the known plan does not fit, some of them are above the available bytes.
        """
        gap = largest_gap(self._occupied(span), self.available, self.unit)
        return evolve(gap, bytes=max(min(gap.bytes, self.available - self.live(span)), 0))

    def _affordable(self, span: Interval) -> bool:
        count = int(self._residents.live(self._residents.component(span)).sum())
        return count <= COMPONENT and self._work >= count

    def _replanned(
        self, span: Interval, wanted: Sequence[Buffer]
    ) -> tuple["PoolLedger", int, Mapping[str, int]]:
        """The ledger with a new plan for the wanted buffers and all buffers connected in time with the span,
        and the missing bytes; if any are missing, only search effort is used up.
        """
        window = self._residents.component(span)
        there, numbers = np.flatnonzero(self._residents.live(window)).tolist(), self._taken_within(window)
        around = [self._resident(number) for number in there]
        around += [buffer for number in numbers for buffer in self._taken[number].buffers]
        pool, least = evolve(self, work=self._work - len(around)), 0
        for algorithm in (*_QUICK, *((_THOROUGH,) if self._patience else ())):
            pool = pool._asking(algorithm)
            offsets = planned((*around, *wanted), self.available, algorithm)
            missing = peak((*around, *wanted), offsets) - self.available
            if missing <= 0:
                return pool._moved(offsets, there, numbers), 0, offsets
            least = min(least or missing, missing)
        return pool, least, {}

    def _asking(self, algorithm: str) -> "PoolLedger":
        """The ledger with one run of the thorough algorithm less, if this is the algorithm."""
        return evolve(self, patience=self._patience - 1) if algorithm == _THOROUGH else self

    def _taken_within(self, window: Interval) -> list[int]:
        turns = self._residents.turns
        low = bisect_left(turns, window[0], key=lambda turn: turn[1])
        high = bisect_left(turns, window[1] + 1, key=lambda turn: turn[0])
        found: list[int] = (low + np.flatnonzero(self._tops[low:high] >= 0)).tolist()
        return found

    def _moved(
        self, offsets: Mapping[str, int], residents: Iterable[int], partitions: Iterable[int]
    ) -> "PoolLedger":
        """The ledger with these residents, and the buffers of these partitions, at other offsets."""
        begin, tops, taken = self._begin.copy(), self._tops.copy(), dict[int, _Taken]()
        for number in residents:
            begin[number] = offsets[self._residents.buffers[number].name]
        for number in partitions:
            own = self._taken[number].buffers
            taken[number] = _Taken(buffers=own, offsets={b.name: offsets[b.name] for b in own})
            tops[number] = peak(own, offsets)
        top = max(int((begin + self._residents.sizes).max(initial=0)), int(tops.max(initial=0)))
        return evolve(self, begin=begin, tops=tops, top=top, taken=self._taken.changed(taken))


def _span(buffers: Sequence[Buffer]) -> Interval:
    """From the first moment in which one of the buffers is live to the last."""
    return min(buffer.first for buffer in buffers), max(buffer.last for buffer in buffers)
