"""Algorithms that give offsets to the buffers of one arena, and the bound that tells how good an answer is.

All are first-fit packings that differ in the order in which buffers are placed: each goes to the lowest
offset free during its whole life. `best` tries the orders one after the other, then searches: whoever sits at
the peak is placed earlier. It stops as soon as the peak is the bound. Everything is deterministic.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

from target_arch.plan.memory import Buffer

Offsets = dict[str, int]
Algorithm = Callable[[Sequence[Buffer]], Offsets]

_SEARCH_WORK = 400_000
"""Pairs of buffers the search may look at; it ends where this is spent."""


def live_bytes(buffers: Sequence[Buffer]) -> dict[int, int]:
    """The sum of live bytes at every step where some buffer begins."""
    changes: dict[int, int] = {}
    for buffer in buffers:
        changes[buffer.first] = changes.get(buffer.first, 0) + buffer.bytes
        changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - buffer.bytes
    live, found = 0, {}
    for step in sorted(changes):
        live += changes[step]
        found[step] = live
    return found


def bound(buffers: Sequence[Buffer]) -> int:
    """The largest sum of live bytes: no packing has a lower peak."""
    return max(live_bytes(buffers).values(), default=0)


def peak(buffers: Sequence[Buffer], offsets: Mapping[str, int]) -> int:
    """The first byte above all buffers."""
    return max((offsets[buffer.name] + buffer.bytes for buffer in buffers), default=0)


def by_size(buffers: Sequence[Buffer]) -> Offsets:
    """Large buffers first."""
    return _pack_by(buffers, lambda buffer, _: -buffer.bytes)


def by_area(buffers: Sequence[Buffer]) -> Offsets:
    """First what takes most bytes for most steps."""
    return _pack_by(buffers, lambda buffer, _: -buffer.bytes * (buffer.last - buffer.first + 1))


def by_conflicts(buffers: Sequence[Buffer]) -> Offsets:
    """First what shares its life with most bytes."""
    return _pack_by(buffers, lambda _, around: -around)


def by_time(buffers: Sequence[Buffer]) -> Offsets:
    """In order of first use."""
    return _pack_by(buffers, lambda buffer, _: buffer.first)


def best(buffers: Sequence[Buffer]) -> Offsets:
    """The lowest peak of all orders and of a short search."""
    packing = _Packing(buffers)
    if all(len(around) == len(buffers) - 1 for around in packing.conflicts):
        return _stacked(buffers)
    limit = bound(buffers)
    found: list[tuple[int, int, list[int]]] = []
    for number, key in enumerate(_ORDERS):
        order = packing.sorted(key)
        found.append((packing.place(order)[0], number, order))
        if found[-1][0] <= limit:
            return packing.named(order)
    return packing.named(_search(packing, min(found)[2], limit))


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {"best": best, "by-size": by_size, "by-area": by_area, "by-conflicts": by_conflicts, "by-time": by_time}
)

_Key = Callable[[Buffer, int], int]
_ORDERS: tuple[_Key, ...] = (
    lambda buffer, _: -buffer.bytes,
    lambda buffer, _: -buffer.bytes * (buffer.last - buffer.first + 1),
    lambda _, around: -around,
    lambda buffer, _: -(buffer.last - buffer.first),
    lambda buffer, _: buffer.first,
)


def _pack_by(buffers: Sequence[Buffer], key: _Key) -> Offsets:
    packing = _Packing(buffers)
    return packing.named(packing.sorted(key))


def _stacked(buffers: Sequence[Buffer]) -> Offsets:
    """All live at once: one above the other, the coarsest alignment first."""
    offsets, top = {}, 0
    for buffer in sorted(
        buffers, key=lambda buffer: (-buffer.alignment, buffer.bytes % buffer.alignment != 0, buffer.name)
    ):
        offsets[buffer.name] = _round_up(top, buffer.alignment)
        top = offsets[buffer.name] + buffer.bytes
    return offsets


class _Packing:
    """Buffers by number, with the numbers of those each shares a step with."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = buffers
        self.conflicts: list[list[int]] = [[] for _ in buffers]
        by_first = sorted(range(len(buffers)), key=lambda number: buffers[number].first)
        active: list[int] = []
        for number in by_first:
            active = [other for other in active if buffers[other].last >= buffers[number].first]
            for other in active:
                self.conflicts[number].append(other)
                self.conflicts[other].append(number)
            active.append(number)

    def sorted(self, key: _Key) -> list[int]:
        """The numbers in the order of a key; larger, earlier, first by name where keys are equal."""
        around = [sum(self.buffers[other].bytes for other in others) for others in self.conflicts]

        def full(number: int) -> tuple[int, int, int, str]:
            buffer = self.buffers[number]
            return (key(buffer, around[number]), -buffer.bytes, buffer.first, buffer.name)

        return sorted(range(len(self.buffers)), key=full)

    def place(self, order: Sequence[int]) -> tuple[int, list[int]]:
        """First-fit in that order: the peak and all offsets."""
        offsets = [-1] * len(self.buffers)
        top = 0
        for number in order:
            buffer = self.buffers[number]
            taken = sorted(
                (offsets[other], offsets[other] + self.buffers[other].bytes)
                for other in self.conflicts[number]
                if offsets[other] >= 0
            )
            offset = 0
            for start, end in taken:
                if start - offset >= buffer.bytes:
                    break
                offset = max(offset, _round_up(end, buffer.alignment))
            offsets[number] = offset
            top = max(top, offset + buffer.bytes)
        return top, offsets

    def named(self, order: Sequence[int]) -> Offsets:
        """The offsets of a first-fit packing, by name."""
        offsets = self.place(order)[1]
        return {buffer.name: offset for buffer, offset in zip(self.buffers, offsets, strict=True)}


def _search(packing: _Packing, order: list[int], limit: int) -> list[int]:
    """Move what sits at the peak, or a neighbour of it, to an earlier turn while that does not raise the
    peak.
    """
    random = Random(0)
    lowest, offsets = packing.place(order)
    best_order, current = list(order), lowest
    rounds = _SEARCH_WORK // max(1, sum(len(around) + 1 for around in packing.conflicts))
    for _ in range(rounds):
        if lowest <= limit:
            break
        at_peak = [n for n in order if offsets[n] + packing.buffers[n].bytes == current]
        number = random.choice(at_peak)
        if random.random() < 0.5 and packing.conflicts[number]:
            number = random.choice(packing.conflicts[number])
        trial = [other for other in order if other != number]
        trial.insert(random.randrange(order.index(number) + 1), number)
        height, placed = packing.place(trial)
        if height <= current or random.random() < 0.02:
            order, offsets, current = trial, placed, height
        if height < lowest:
            lowest, best_order = height, trial
    return best_order


def _round_up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
