"""Buffers that calls of one timeline have in turn (`Buffer.calls`), in a block of bytes of their own.

All that live to the wait for one call of a timeline are such a block. In it they are live only from the first
of their calls to the last, as any algorithm can place them; among all other buffers the block is one that is
live from the first of them to the wait. Whether a plan with blocks is the lower one shows only in the plan.
"""

from collections.abc import Sequence
from itertools import groupby
from math import lcm

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from target_arch.backend.planner import Pack
from target_arch.plan.memory import Buffer, CallSpan
from target_arch.stages.memory.packing.live_sums import live_sums
from target_arch.stages.memory.packing.measure import Offsets, peak, saved, spans


def together(buffers: Sequence[Buffer]) -> CallSpan | None:
    """The calls that alone touch any of these buffers; None where they are not all of one timeline."""
    calls = [buffer.calls for buffer in buffers if buffer.calls is not None]
    if len(calls) < len(buffers) or len({each.timeline for each in calls}) > 1:
        return None
    first, last = min(each.first for each in calls), max(each.last for each in calls)
    return CallSpan(timeline=calls[0].timeline, first=first, last=last)


def in_blocks(rectangles: Sequence[Buffer], run: Pack) -> Offsets | None:
    """Offsets by an algorithm that places blocks; None where there is nothing to have in turn."""
    blocks = _blocks(rectangles)
    if not blocks:
        return None
    inside = {name: run([_issued(each) for each in there]) for name, there in blocks.items()}
    outer = [_block(name, there, peak(there, inside[name])) for name, there in blocks.items()]
    inner = {buffer.name for there in blocks.values() for buffer in there}
    found = run([*(each for each in rectangles if each.name not in inner), *outer])
    places = {
        each.name: found[name] + inside[name][each.name] for name, there in blocks.items() for each in there
    }
    return Offsets({**found, **places}, found.found_by if isinstance(found, Offsets) else "")


def _blocks(rectangles: Sequence[Buffer]) -> dict[str, list[Buffer]]:
    """By the name of their first, the buffers that are live to the same wait for calls of a timeline."""
    waits: dict[tuple[str, int], list[Buffer]] = {}
    for buffer in rectangles:
        if buffer.calls is not None:
            waits.setdefault((buffer.calls.timeline, buffer.last), []).append(buffer)
    return {there[0].name: there for there in waits.values() if len(there) > 1}


def _issued(buffer: Buffer) -> Buffer:
    """The buffer as it is live among calls of its timeline."""
    assert buffer.calls is not None
    return evolve(buffer, first=buffer.calls.first, last=buffer.calls.last, calls=None)


def _block(name: str, there: Sequence[Buffer], size: int) -> Buffer:
    first, alignment = min(each.first for each in there), lcm(*(each.alignment for each in there))
    return evolve(there[0], name=name, first=first, bytes=size, alignment=alignment, calls=None)


def most_in_turn(buffers: Sequence[Buffer], unit: int) -> int:
    """The largest sum of bytes, each rounded up to a unit, of buffers of which no two may share bytes: those
    that are live in one step, and of each timeline those that are live in one of its calls, too.
    """
    end = max(buffer.last for buffer in buffers)
    queues: dict[str, list[Buffer]] = {}
    for buffer in buffers:
        if buffer.calls is not None:
            queues.setdefault(buffer.calls.timeline, []).append(buffer)
    inside = {each.name for queue in queues.values() for each in _over_each_other(queue)}
    others = [buffer for buffer in buffers if buffer.calls is None]
    outside = [evolve(each, over=()) if each.name in inside else each for each in buffers]
    lives = (*spans(others, unit), *saved(outside, unit))
    live = live_sums((((first, last), size) for first, last, size in lives), end)
    for queue in queues.values():
        live += _most_of_calls(queue, unit, end)
    return int(live.max())


def _over_each_other(queue: Sequence[Buffer]) -> list[Buffer]:
    """The buffers of calls of a timeline that can take the places of others of these alone."""
    names = {each.name for each in queue}
    return [each for each in queue if names.issuperset(each.over)]


def _most_of_calls(queue: Sequence[Buffer], unit: int, end: int) -> NDArray[np.int64]:
    """For every step up to `end`, the most bytes of those live in it that are live in one call, too."""
    most = np.zeros(end + 1, dtype=np.int64)
    begun = sorted(((each.calls, each) for each in queue if each.calls is not None), key=_first)
    now: list[tuple[CallSpan, Buffer]] = []
    for step, beginning in groupby(begun, _first):
        now = [*(pair for pair in now if step <= pair[0].last), *beginning]
        names = {each.name for _, each in now}
        own = [each for _, each in now if names.isdisjoint(each.over)]
        lives = [((first, last), size) for first, last, size in spans(own, unit)]
        most = np.maximum(most, live_sums(lives, end))
    return most


def _first(pair: tuple[CallSpan, Buffer]) -> int:
    """The first call that touches the buffer."""
    return pair[0].first
