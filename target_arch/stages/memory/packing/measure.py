"""A plan of one arena, its peak, and lower bounds on the peak."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import gcd

from target_arch.plan.memory import Buffer
from target_arch.soc.rounding import round_up


class Offsets(dict[str, int]):
    """Offsets by the names of the buffers.

    `found_by` says in words how they were found, `core` which core searched (`interpreted`, `compiled` or
    empty). No plan has a peak below `lower`, where a search proved that beyond `least`; else it is 0.
    """

    def __init__(
        self,
        offsets: Mapping[str, int] | Iterable[tuple[str, int]] = (),
        found_by: str = "",
        lower: int = 0,
        core: str = "",
    ) -> None:
        super().__init__(offsets)
        self.found_by = found_by
        self.lower = lower
        self.core = core


def live_bytes(buffers: Sequence[Buffer], unit: int = 1) -> dict[int, int]:
    """The sum of live bytes, each rounded up to a unit, at every step where a buffer begins or has ended."""
    return sums(spans(buffers, unit))


Span = tuple[int, int, int]
"""First and last step, and the bytes that count in them."""


def spans(buffers: Iterable[Buffer], unit: int = 1) -> list[Span]:
    """The lives of buffers, with their bytes rounded up to a unit."""
    if unit == 1:
        return [(buffer.first, buffer.last, buffer.bytes) for buffer in buffers]
    return [(buffer.first, buffer.last, round_up(buffer.bytes, unit)) for buffer in buffers]


def saved(buffers: Sequence[Buffer], unit: int) -> Iterator[Span]:
    """The bytes that buffers save in the places of others, less than nothing, while both are live."""
    last = {buffer.name: buffer.last for buffer in buffers}
    for buffer in buffers:
        ends = [min(last[name], buffer.last) for name in buffer.over if name in last]
        if ends:
            yield buffer.first, max(ends), -round_up(buffer.bytes, unit)


def sums(lives: Iterable[Span]) -> dict[int, int]:
    """The sum of bytes at every step where a span begins or has ended."""
    changes = defaultdict[int, int](int)
    for first, last, size in lives:
        changes[first] += size
        changes[last + 1] -= size
    steps = sorted(changes)
    return dict(zip(steps, accumulate(map(changes.__getitem__, steps)), strict=True))


def bound(buffers: Sequence[Buffer]) -> int:
    """The largest sum of live bytes: no packing has a lower peak."""
    return max(live_bytes(buffers).values(), default=0)


def least(buffers: Sequence[Buffer]) -> int:
    """The bound with alignment: where all offsets are multiples of a unit, all buffers live at once but the
    topmost take whole units.
    """
    unit = gcd(*(buffer.alignment for buffer in buffers))
    if unit <= 1:
        return bound(buffers)
    topmost = max(-buffer.bytes % unit for buffer in buffers)
    if not topmost:
        return bound(buffers)
    return max(bound(buffers), max(live_bytes(buffers, unit).values()) - topmost)


def peak(buffers: Sequence[Buffer], offsets: Mapping[str, int]) -> int:
    """The first byte above all buffers."""
    return max([offsets[buffer.name] + buffer.bytes for buffer in buffers], default=0)


def groups(buffers: Sequence[Buffer]) -> list[list[Buffer]]:
    """The buffers cut where no buffer is live across: no group knows of another."""
    found: list[list[Buffer]] = []
    end = None
    for buffer in sorted(buffers, key=lambda buffer: (buffer.first, buffer.last, buffer.name)):
        if end is None or buffer.first > end:
            found.append([])
        found[-1].append(buffer)
        end = buffer.last if end is None else max(end, buffer.last)
    return found
