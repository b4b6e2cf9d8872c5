"""Times that come again every period: what takes place of it, and sums over it."""

from collections.abc import Iterable
from itertools import pairwise

Interval = tuple[int, int]
"""From a time to another; of starts that are impossible, both excluded."""


def pieces(start: int, takes: int, period: int) -> tuple[Interval, ...]:
    """The intervals of a period that something takes: two where it goes beyond the end."""
    begin = start % period
    end = begin + takes
    return ((begin, end),) if end <= period else ((begin, period), (0, end - period))


def flat(pieces: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Pieces one after the other, each with the sum of the bytes in it."""
    changes: dict[int, int] = {}
    for begin, end, size in pieces:
        changes[begin] = changes.get(begin, 0) + size
        changes[end] = changes.get(end, 0) - size
    levels, level = [], 0
    for begin, end in pairwise(sorted(changes)):
        level += changes[begin]
        levels.append((begin, end, level))
    return levels
