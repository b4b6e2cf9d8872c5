"""Buffers that share bytes of an arena, while both are live or one in the place of the other."""

from collections.abc import Iterator

from attrs import evolve

from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.plan.steps import StepOrder
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up
from target_arch.stages.check.faults import Fault
from target_arch.stages.check.in_place import InPlace
from target_arch.stages.check.lives import Lives
from target_arch.stages.check.occupancy import Occupancy, meeting


def sharing(
    soc: SoC, order: StepOrder, plan: MemoryPlan, lives: Lives, in_place: InPlace
) -> Iterator[Fault]:
    """Pairs that may not be in place, and buffers that are live together on the same bytes, or on the same
    cache line where that must not be.
    """
    places = {buffer.name: _occupancy(buffer, plan, lives) for buffer in order.buffers}
    there = {name: place for name, place in places.items() if place is not None}
    arenas = {buffer.name: buffer.arena for buffer in order.buffers}
    for over, under in plan.in_place:
        why = _refusal(there, arenas, in_place, over, under)
        if why is None:
            there[under] = in_place.cut(there[over], there[under])
        else:
            yield "unsafe-in-place", f"buffer `{over}` is written over `{under}`: {why}"
    for arena in dict.fromkeys(arenas.values()):
        line = soc.own_line(arena.memory)
        lines = [_in_lines(place, line) for name, place in there.items() if arenas[name] == arena]
        for one, other in meeting(lines):
            if not {(one.name, other.name), (other.name, one.name)} & {*plan.in_place}:
                yield "overlap", f"buffers `{one.name}` and `{other.name}` share bytes while both are live"


def _refusal(
    there: dict[str, Occupancy], arenas: dict[str, Arena], in_place: InPlace, over: str, under: str
) -> str | None:
    """Why one buffer may not have the place of another; from the call that writes it on, it is its own."""
    if over not in there or under not in there:
        return "one is never used"
    if arenas[over] != arenas[under]:
        return "they lie in two arenas"
    return in_place.fault(there[over], there[under])


def _in_lines(place: Occupancy, line: int) -> Occupancy:
    return evolve(place, bytes=round_up(place.bytes, line)) if place.bytes % line else place


def _occupancy(buffer: Buffer, plan: MemoryPlan, lives: Lives) -> Occupancy | None:
    """The bytes and steps of a buffer; None where nothing touches it or the plan has no place for it."""
    live, offset = lives.of(buffer.name), plan.offsets.get(buffer.name)
    if live is None or offset is None:
        return None
    return Occupancy(name=buffer.name, offset=offset, bytes=buffer.bytes, first=live[0], last=live[1])
