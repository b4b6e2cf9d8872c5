"""Buffers in the place of others: `Buffer.over` as rectangles that any algorithm can place.

A buffer that takes the place of another makes one rectangle with it, from where the other begins to where it
ends itself, with the bytes of the other, which has at least as many (`shapes.py` uses those above it). Which
of two possible places is the better one shows only in the plan; so does whether a rectangle that long is
worse than its parts. All are tried in turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import gcd, lcm

from attrs import evolve

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.measure import saved, spans, sums
from target_arch.stages.memory.packing.turns import most_in_turn, together


def choices(buffers: Sequence[Buffer]) -> Iterator[dict[str, str]]:
    """The choices of reused places: always the first possible place, always the last possible, none. The next
    value of a state has the state's place in all of them.
    """
    states = {buffer.name: buffer.replaces for buffer in buffers if buffer.replaces is not None}
    first, last = _chosen(buffers, 0), _chosen(buffers, -1)
    if first:
        yield first | states
    if last != first:
        yield last | states
    yield states


def rectangles(buffers: Sequence[Buffer], places: Mapping[str, str]) -> list[Buffer]:
    """The buffers as rectangles: buffers that share a place are one, under the name of the first of them."""
    first = roots(buffers, places)
    sharing: dict[str, list[Buffer]] = {}
    for buffer in buffers:
        sharing.setdefault(first[buffer.name], []).append(buffer)
    names = (buffer.name for buffer in buffers if buffer.name in sharing)
    return [_rectangle(name, sharing[name]) for name in names]


def _rectangle(name: str, sharing: Sequence[Buffer]) -> Buffer:
    """The rectangle of buffers that share a place."""
    if len(sharing) == 1 and not sharing[0].over:
        return sharing[0]
    first = _by_time(sharing)[0]
    last, alignment = max(b.last for b in sharing), lcm(*(b.alignment for b in sharing))
    return evolve(first, name=name, last=last, alignment=alignment, over=(), calls=together(sharing))


def roots(buffers: Sequence[Buffer], places: Mapping[str, str]) -> dict[str, str]:
    """By buffer, the first of the buffers that share its place."""
    found: dict[str, str] = {}
    for buffer in buffers:
        name = buffer.name
        while name in places and name not in found:
            name = places[name]
        found[buffer.name] = found.get(name, name)
    return found


def shared_bound(buffers: Sequence[Buffer], unit: int = 1) -> int:
    """The largest sum of live bytes, each rounded up to a unit, where every buffer that may take another's
    place does, and calls of a timeline have theirs in turn: no plan is lower.
    """
    if any(buffer.calls for buffer in buffers):
        return most_in_turn(buffers, unit)
    lives = (*spans(buffers, unit), *saved(buffers, unit))
    return max(sums(lives).values(), default=0)


def shared_bounds(buffers: Sequence[Buffer]) -> tuple[int, int]:
    """The same without alignment and with it, as in `least`."""
    without, unit = shared_bound(buffers), gcd(*(buffer.alignment for buffer in buffers))
    topmost = max([-buffer.bytes % unit for buffer in buffers], default=0)
    return without, max(without, shared_bound(buffers, unit) - topmost) if topmost else without


def _chosen(buffers: Sequence[Buffer], which: int) -> dict[str, str]:
    free = {buffer.name: buffer for buffer in buffers}
    places: dict[str, str] = {}
    for buffer in _by_time([buffer for buffer in buffers if buffer.over]):
        able = [name for name in buffer.over if name in free and free[name].arena == buffer.arena]
        if able:
            places[buffer.name] = able[which]
            del free[able[which]]
    return places


def _by_time(buffers: Sequence[Buffer]) -> list[Buffer]:
    return sorted(buffers, key=lambda buffer: (buffer.first, buffer.last, buffer.name))
