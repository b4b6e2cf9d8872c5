"""Buffers that share bytes of an arena: one may be written over another by the calls in the steps, and those
that calls of one timeline have for themselves may be the same bytes as those of later calls there, as such
calls run in turn. No others may while both are live.
"""

from collections.abc import Callable, Iterable, Iterator

from attrs import evolve

from target_arch.plan.kernels import Access
from target_arch.plan.memory import Arena, Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, StepOrder
from target_arch.stages.check.rules.faults import Fault
from target_arch.stages.check.rules.lives import Lives
from target_arch.stages.check.rules.occupancy import Occupancy, meeting


class InPlace:
    """The buffers that may overwrite others.

    A call may write one over another where it says so itself, where nothing touched the one before and
    nothing touches the other afterwards, and where nothing in flight touches the other when the call starts.
    """

    def __init__(self, kept: Iterable[str]) -> None:
        self._kept = frozenset(kept)
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._calls: dict[tuple[str, str], tuple[int, bool]] = {}

    def touched(self, number: int, names: Iterable[str]) -> None:
        """A step that starts now touches these buffers."""
        for name in names:
            self._first.setdefault(name, number)
            self._last[name] = number

    def dispatched(self, number: int, call: Dispatch, busy: Callable[[str, Event | None], bool]) -> None:
        """A call starts now; `busy` answers whether something in flight touches a buffer that may last
        longer.
        """
        read = {operand.of for operand in call.operands}
        read -= {operand.of for operand in call.operands if operand.access != Access.READ or operand.offset}
        for operand in call.operands:
            if operand.access == Access.WRITE and not operand.offset:
                for name in read.intersection(operand.over):
                    if not busy(name, call.event):
                        self._calls.setdefault((operand.of, name), (number, operand.smaller))

    def calls(self, name: str) -> tuple[int, int] | None:
        """The first and the last step that touch a buffer; None where none does, or what they leave is needed
        after them.
        """
        first = self._first.get(name)
        return None if first is None or name in self._kept else (first, self._last[name])

    def fault(self, one: Occupancy, other: Occupancy) -> str | None:
        """Why the one may not be written over the other; None where it may."""
        over, under = one.name, other.name
        number, smaller = self._calls.get((over, under), (None, False))
        fits = one.bytes <= other.bytes if smaller else one.bytes == other.bytes
        if one.offset != other.offset or not fits:
            return "they are not the same bytes"
        if number is None:
            return "no call may do that"
        if self._first[over] < number:
            return f"step {self._first[over]} touches `{over}` before"
        if self._last[under] > number or under in self._kept:
            until = "the end of the run" if under in self._kept else f"step {self._last[under]}"
            return f"`{under}` is needed until {until}"
        return None

    def cut(self, over: Occupancy, under: Occupancy) -> tuple[Occupancy, Occupancy]:
        """The one under, live only until the other is written over it, and its bytes above the other, which
        are live until the call is over. Only for two without a fault.
        """
        number, _ = self._calls[over.name, under.name]
        above = evolve(under, offset=under.offset + over.bytes, bytes=under.bytes - over.bytes, first=number)
        return evolve(under, last=min(under.last, number - 1)), above


def sharing(order: StepOrder, plan: MemoryPlan, lives: Lives, in_place: InPlace) -> Iterator[Fault]:
    """Pairs that may not be in place, and buffers that are live together on the same bytes. Buffers that
    begin on whole cache lines, which is a rule of its own, share a line only where they share bytes.
    """
    places = {buffer.name: _occupancy(buffer, plan, lives) for buffer in order.buffers}
    there = {name: place for name, place in places.items() if place is not None}
    arenas = {buffer.name: buffer.arena for buffer in order.buffers}
    together = frozenset(frozenset(pair) for pair in plan.in_place)
    above: dict[str, Occupancy] = {}
    next_values = {(buffer.name, buffer.replaces) for buffer in order.buffers}
    for over, under in plan.in_place:
        if (over, under) in next_values and _follows(there.get(over), there.get(under)):
            continue
        why = _refusal(there, arenas, in_place, over, under)
        if why is None:
            there[under], above[under] = in_place.cut(there[over], there[under])
        else:
            yield "unsafe-in-place", f"buffer `{over}` is written over `{under}`: {why}"
    turns = _turns(order, in_place)
    for inside in _by_arena((*there.values(), *above.values()), arenas):
        for one, other in meeting(inside):
            if {one.name, other.name} not in together and not _in_turn(turns, one.name, other.name):
                yield "overlap", f"buffers `{one.name}` and `{other.name}` share bytes while both are live"


def _turns(order: StepOrder, in_place: InPlace) -> dict[str, tuple[str, int, int]]:
    """The buffers that asynchronous calls of one timeline have for themselves: it, and the first and the last
    of these calls.
    """
    touching: dict[str, set[str | None]] = {}
    for step in order.steps:
        if isinstance(step, Dispatch):
            timeline = None if step.event is None else step.event.timeline
            for operand in step.operands:
                touching.setdefault(operand.of, set()).add(timeline)
        elif isinstance(step, Copy):
            for name in (step.source.of, step.target.of):
                touching.setdefault(name, set()).add(None)
    found: dict[str, tuple[str, int, int]] = {}
    for buffer in order.buffers:
        timelines, calls = touching.get(buffer.name, set()), in_place.calls(buffer.name)
        if buffer.kind in (BufferKind.LOCAL, BufferKind.ACTIVATION) and len(timelines) == 1 and calls:
            (timeline,) = timelines
            if timeline is not None:
                found[buffer.name] = (timeline, *calls)
    return found


def _in_turn(turns: dict[str, tuple[str, int, int]], one: str, other: str) -> bool:
    """Whether calls of one timeline have the buffers for themselves, those of one before those of the
    other.
    """
    if one not in turns or other not in turns:
        return False
    (timeline, first, last), (there, begin, end) = turns[one], turns[other]
    return timeline == there and (last < begin or end < first)


def _by_arena(places: Iterable[Occupancy], arenas: dict[str, Arena]) -> Iterable[list[Occupancy]]:
    found: dict[Arena, list[Occupancy]] = {}
    for place in places:
        found.setdefault(arenas[place.name], []).append(place)
    return found.values()


def _follows(over: Occupancy | None, under: Occupancy | None) -> bool:
    """True where the next value of a state begins after the state was last read."""
    return under is None or (over is not None and under.last < over.first)


def _refusal(
    there: dict[str, Occupancy], arenas: dict[str, Arena], in_place: InPlace, over: str, under: str
) -> str | None:
    """Why one buffer may not have the place of another; from the call that writes it on, it is its own."""
    if over not in there or under not in there:
        return "one is never used"
    if arenas[over] != arenas[under]:
        return "they are in two arenas"
    return in_place.fault(there[over], there[under])


def _occupancy(buffer: Buffer, plan: MemoryPlan, lives: Lives) -> Occupancy | None:
    """The bytes and steps of a buffer; None where nothing touches it or the plan has no place for it."""
    live, offset = lives.of(buffer.name), plan.offsets.get(buffer.name)
    if live is None or offset is None:
        return None
    return Occupancy(name=buffer.name, offset=offset, bytes=buffer.bytes, first=live[0], last=live[1])
