"""Bytes and steps that buffers hold at the same time.

A sweep over time finds whether anything is wrong, in nearly linear time; only then are pairs compared.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from attrs import frozen


@frozen(kw_only=True)
class Occupancy:
    """Bytes of an arena that a buffer holds while it is live; `last < first` where it never is."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int

    def meets(self, other: "Occupancy") -> bool:
        """True where both have a byte and a step in common."""
        apart = self.offset >= other.offset + other.bytes or other.offset >= self.offset + self.bytes
        return not apart and self.first <= other.last and other.first <= self.last


def meeting(places: list[Occupancy]) -> Iterator[tuple[Occupancy, Occupancy]]:
    """Every two that meet, the earlier in the list first."""
    live = [place for place in places if place.first <= place.last and place.bytes]
    if _apart(live):
        return
    for index, one in enumerate(live):
        for other in live[:index]:
            if one.meets(other):
                yield other, one


def _apart(places: list[Occupancy]) -> bool:
    """True where nothing meets.

    While that holds, those live now are one above the other, so that a new one can only meet its
    neighbours.
    """
    starts = [(place.first, 1, place.offset, place.bytes) for place in places]
    ends = [(place.last + 1, 0, place.offset, place.bytes) for place in places]
    live: list[tuple[int, int]] = []
    for _, begins, offset, size in sorted(starts + ends):
        place = bisect_left(live, (offset, size))
        if not begins:
            del live[place]
            continue
        below = live[place - 1] if place else (0, 0)
        above = live[place] if place < len(live) else (offset + size, 0)
        if sum(below) > offset or offset + size > above[0]:
            return False
        insort(live, (offset, size))
    return True
