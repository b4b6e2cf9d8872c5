"""Offsets for a few buffers of the pool ledger: planned together, or new ones beside others with fixed
offsets.
"""

from collections.abc import Callable, Iterable, Sequence

from attrs import evolve, frozen

from target_arch.plan.memory import Buffer
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.packing import ALGORITHMS, peak
from target_arch.stages.memory.packing.sharing import choices, rectangles, roots

Occupied = Sequence[tuple[int, int]]
"""Begin and end of runs of occupied bytes."""


@frozen(kw_only=True)
class Block:
    """A contiguous run of free bytes."""

    offset: int
    bytes: int


def planned(buffers: Sequence[Buffer], goal: int, algorithm: str = "best") -> dict[str, int]:
    """Offsets for buffers, whose bytes are rounded up to whole units of their alignment.

    Choices of reused places are tried in the order of the memory plan, until the peak is at most the goal.
    """
    if not buffers:
        return {}
    whole = [evolve(b, bytes=round_up(b.bytes, b.alignment)) for b in buffers]
    best: dict[str, int] = {}
    for places in choices(whole):
        if best and peak(whole, best) <= goal:
            break
        found = ALGORITHMS[algorithm](rectangles(whole, places))
        offsets = {name: found[first] for name, first in roots(whole, places).items()}
        if not best or peak(whole, offsets) < peak(whole, best):
            best = offsets
    return best


def stacked(buffers: Iterable[Buffer], block: Block) -> dict[str, int] | None:
    """The buffers stacked in the block, the coarsest alignment first; None if they do not fit."""
    placed, end = {}, block.offset
    for buffer in sorted(buffers, key=lambda b: (-b.alignment, b.bytes % b.alignment != 0, b.name)):
        start = round_up(end, buffer.alignment)
        placed[buffer.name], end = start, start + buffer.bytes
    return placed if end <= block.offset + block.bytes else None


def first_fit(
    buffers: Sequence[Buffer], occupied: Callable[[Buffer], Occupied], available: int
) -> dict[str, int] | None:
    """Each buffer at the lowest offset that is free throughout its life; None if there is no room."""
    placed: dict[str, int] = {}
    for buffer in sorted(buffers, key=lambda buffer: (-buffer.bytes, buffer.name)):
        others = (b for b in buffers if b.name in placed and b.overlaps(buffer))
        taken = [
            *occupied(buffer),
            *((placed[other.name], placed[other.name] + other.bytes) for other in others),
        ]
        offset = 0
        for start, stop in sorted(taken):
            if start - offset >= buffer.bytes:
                break
            offset = max(offset, round_up(stop, buffer.alignment))
        if offset + buffer.bytes > available:
            return None
        placed[buffer.name] = offset
    return placed


def largest_gap(occupied: Occupied, available: int, unit: int) -> Block:
    """The largest run of free bytes that starts at a multiple of the unit."""
    best, end = Block(offset=0, bytes=0), 0
    for start, stop in (*sorted(occupied), (available, available)):
        free = min(start, available) - end
        if free > best.bytes:
            best = Block(offset=end, bytes=free)
        end = max(end, round_up(stop, unit))
    return best
