"""Which buffer may be written over which, by the calls in the steps."""

from collections.abc import Callable, Iterable

from attrs import evolve

from target_arch.plan.kernels import Access
from target_arch.plan.steps import Dispatch, Event
from target_arch.stages.check.occupancy import Occupancy


class InPlace:
    """The buffers that may overwrite others.

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
        """A call starts now; `busy` answers whether something in flight touches a buffer that may last
        longer.
        """
        read = {
            operand.of for operand in call.operands if operand.access == Access.READ and not operand.offset
        }
        read -= {operand.of for operand in call.operands if operand.access != Access.READ or operand.offset}
        for operand in call.operands:
            if operand.access == Access.WRITE and not operand.offset:
                for name in read.intersection(operand.over):
                    if not busy(name, call.event):
                        self._calls.setdefault((operand.of, name), number)

    def fault(self, one: Occupancy, other: Occupancy) -> str | None:
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

    def cut(self, over: Occupancy, under: Occupancy) -> Occupancy:
        """The one under, live only until the other is written over it. Only for two without a fault."""
        number = self._calls[over.name, under.name]
        return evolve(under, last=min(under.last, number - 1))
