"""Offsets for a few buffers of the pool ledger: all of them planned together, or new ones among others that
stay where they are.
"""

from collections.abc import Callable, Iterable, Sequence

from attrs import evolve, frozen

from target_arch.plan.memory import Buffer
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.packing import ALGORITHMS, peak
from target_arch.stages.memory.packing.sharing import choices, rectangles, root

Occupied = Sequence[tuple[int, int]]
"""Begin and end of runs of bytes that are taken."""


@frozen(kw_only=True)
class Block:
    """Free bytes in one piece."""

    offset: int
    bytes: int


def planned(buffers: Sequence[Buffer], goal: int, algorithm: str = "best") -> dict[str, int]:
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


def stacked(buffers: Iterable[Buffer], block: Block) -> dict[str, int] | None:
    """One above the other in the block, the coarsest alignment first; None where they do not fit it."""
    placed, end = {}, block.offset
    for buffer in sorted(buffers, key=lambda b: (-b.alignment, b.bytes % b.alignment != 0, b.name)):
        start = round_up(end, buffer.alignment)
        placed[buffer.name], end = start, start + buffer.bytes
    return placed if end <= block.offset + block.bytes else None


def first_fit(
    buffers: Sequence[Buffer], occupied: Callable[[Buffer], Occupied], available: int
) -> dict[str, int] | None:
    """Each as low as it can be beside what is occupied throughout its life; None where there is no room."""
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
