"""Who shares bytes and time, for the checker alone; which buffer may be written over which, what a path can
do.

A sweep over time finds whether anything is wrong, in nearly linear time; only then are pairs compared.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, frozen

from target_arch.plan.kernels import Access
from target_arch.plan.steps import Copy, Dispatch, Event, Step, Wait
from target_arch.soc.model import CopyPath


@frozen(kw_only=True)
class Lying:
    """Bytes of an arena that a buffer holds while it is live; `last < first` where it never is."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int

    def meets(self, other: "Lying") -> bool:
        """True where both have a byte and a step in common."""
        apart = self.offset >= other.offset + other.bytes or other.offset >= self.offset + self.bytes
        return not apart and self.first <= other.last and other.first <= self.last


def meeting(places: list[Lying]) -> Iterator[tuple[Lying, Lying]]:
    """Every two that meet, the earlier in the list first."""
    live = [place for place in places if place.first <= place.last and place.bytes]
    if _apart(live):
        return
    for index, one in enumerate(live):
        for other in live[:index]:
            if one.meets(other):
                yield other, one


def _apart(places: list[Lying]) -> bool:
    """True where nothing meets.

    While that holds, those live now lie one above the other, so that a new one can only meet its
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


class Overwriting:
    """The buffers that may overwrite others, by the calls in the steps.

    A call may write one over another where it says so itself, where nothing touched the one before and
    nothing touches the other afterwards, and where nothing in flight touches the other when the call starts.
    """

    def __init__(self, kept: Iterable[str]) -> None:
        self._kept = frozenset(kept)
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._calls: dict[tuple[str, str], int] = {}

    def touched(self, number: int, names: Iterable[str]) -> None:
        """A step that starts now touches these buffers."""
        for name in names:
            self._first.setdefault(name, number)
            self._last[name] = number

    def dispatched(self, number: int, call: Dispatch, busy: Callable[[str, Event | None], bool]) -> None:
        """A call starts now; `busy` tells what something in flight touches that may last longer."""
        read = {
            operand.of for operand in call.operands if operand.access == Access.READ and not operand.offset
        }
        read -= {operand.of for operand in call.operands if operand.access != Access.READ or operand.offset}
        for operand in call.operands:
            if operand.access == Access.WRITE and not operand.offset:
                for name in read.intersection(operand.over):
                    if not busy(name, call.event):
                        self._calls.setdefault((operand.of, name), number)

    def fault(self, one: Lying, other: Lying) -> str | None:
        """Why the one may not be written over the other; None where it may."""
        over, under = one.name, other.name
        number = self._calls.get((over, under))
        if (one.offset, one.bytes) != (other.offset, other.bytes):
            return "they are not the same bytes"
        if number is None:
            return "no call may do that"
        if self._first[over] < number:
            return f"step {self._first[over]} touches `{over}` before"
        if self._last[under] > number or under in self._kept:
            until = "the end of the run" if under in self._kept else f"step {self._last[under]}"
            return f"`{under}` is needed until {until}"
        return None

    def cut(self, over: Lying, under: Lying) -> Lying:
        """The one under, live only until the other is written over it. Only for two without a fault."""
        number = self._calls[over.name, under.name]
        return evolve(under, last=min(under.last, number - 1))


def violation(path: CopyPath, step: Copy, offsets: Mapping[str, int]) -> str | None:
    """The limit of a path that a copy violates, None if there is none; `offsets` are those of the buffers."""
    ends = (step.source, step.target)
    numbers = [*(part.stride for part in ends), *(offsets.get(part.of, 0) + part.offset for part in ends)]
    if any(number % path.alignment for number in numbers):
        return f"the path needs addresses and strides in multiples of {path.alignment} B"
    if path.max_bytes is not None and step.source.row_bytes > path.max_bytes:
        return f"the path carries {path.max_bytes:,} B at once, not {step.source.row_bytes:,} B"
    if step.source.rows > 1 and path.dimensions == 1:
        return "the path carries one row at once"
    if step.cache != path.cache:
        return f"the path has the cache duty `{path.cache}`, not `{step.cache}`"
    return None


def described(number: int, step: Step) -> str:
    """A step as the place of a fault."""
    if isinstance(step, Dispatch):
        return f"step {number} (dispatch {step.operator} on {step.instance})"
    if isinstance(step, Copy):
        return f"step {number} (copy {step.source.of} to {step.target.of})"
    if isinstance(step, Wait):
        return f"step {number} (wait {step.event})"
    return f"step {number} (load {step.instance})"
