"""Offsets of buffers whose lives go round: the table of steps is a circle, so that a life may go beyond its
end and on from its start.

First fit in several orders, each improved by moving what is on top to the front. The bound is the largest sum
of live bytes, as it is for lives on a line; of what takes spans on a timeline, the most that one step needs.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.soc.rounding import round_up

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Bits = np.ndarray[Any, np.dtype[np.bool_]]

ROUNDS = 12
"""How often the buffer on top of an order is tried before all others."""


@frozen(kw_only=True)
class TimelineSpan:
    """Steps of a timeline, which run one after the other: `length` of them from number `first` on, on a
    circle of so many.
    """

    timeline: str
    first: int
    length: int
    circle: int

    def has(self, step: int) -> bool:
        """Whether a step of the timeline is one of them."""
        return (step - self.first) % self.circle < self.length


@frozen(kw_only=True)
class Arc:
    """Bytes that are needed for `length` steps from step `first` on, on a circle.

    With a `span` that steps of one timeline alone need them. They run in turn, so that bytes that others of
    them need may be the same, however many of them are issued.
    """

    name: str
    bytes: int
    alignment: int
    first: int
    length: int
    span: TimelineSpan | None = None


def packed(arcs: Sequence[Arc], circle: int) -> dict[str, int]:
    """The offset of every arc on a circle of so many steps, those of the lowest peak found."""
    named = sorted((arc for arc in arcs if arc.bytes), key=lambda arc: arc.name)
    if not named:
        return {arc.name: 0 for arc in arcs}
    meets = _meets(named, circle)
    least = bound(named, circle)
    plans = _plans(named, meets)
    best, lowest = next(plans), 0
    for plan in plans:
        lowest = _peak(named, best)
        if lowest <= least:
            break
        best = plan if _peak(named, plan) < lowest else best
    offsets = {arc.name: 0 for arc in arcs}
    return offsets | {arc.name: offset for arc, offset in zip(named, best, strict=True)}


def bound(arcs: Sequence[Arc], circle: int) -> int:
    """The most bytes that are live in one step: no offsets have a lower peak."""
    live = _sums([arc for arc in arcs if arc.span is None], circle)
    spans = [(arc, arc.span) for arc in arcs if arc.span is not None]
    for timeline in sorted({span.timeline for _, span in spans}):
        there = [(arc, span) for arc, span in spans if span.timeline == timeline]
        begins = sorted({span.first for _, span in there})
        own = (_sums([arc for arc, span in there if span.has(first)], circle) for first in begins)
        live = live + np.max(list(own), axis=0)
    return int(live.max(initial=0))


def _sums(arcs: Sequence[Arc], circle: int) -> Numbers:
    """The live bytes in each step of the circle."""
    changes = np.zeros(2 * circle + 1, dtype=np.int64)
    for arc in arcs:
        first = arc.first % circle
        changes[first] += arc.bytes
        changes[first + min(arc.length, circle)] -= arc.bytes
    live = np.cumsum(changes[:-1])
    return live[:circle] + live[circle:]


def _meets(arcs: Sequence[Arc], circle: int) -> list[list[int]]:
    """By arc the numbers of those that are live in one of its steps, and do not take spans with it."""
    first = np.array([arc.first % circle for arc in arcs])
    length = np.array([arc.length for arc in arcs])
    ahead = (first[None, :] - first[:, None]) % circle
    meets = (ahead < length[:, None]) | (length[None, :] > ahead.T)
    for timeline in sorted({arc.span.timeline for arc in arcs if arc.span is not None}):
        there = [n for n, arc in enumerate(arcs) if arc.span is not None and arc.span.timeline == timeline]
        meets[np.ix_(there, there)] &= _meet([span for n in there if (span := arcs[n].span) is not None])
    np.fill_diagonal(meets, val=False)
    return [np.flatnonzero(row).tolist() for row in meets]


def _meet(spans: Sequence[TimelineSpan]) -> Bits:
    """Which spans on one timeline meet each other."""
    first = np.array([span.first for span in spans])
    length = np.array([span.length for span in spans])
    ahead = (first[None, :] - first[:, None]) % spans[0].circle
    meets: Bits = (ahead < length[:, None]) | (length[None, :] > ahead.T)
    return meets


def _plans(arcs: Sequence[Arc], meets: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    numbers = range(len(arcs))
    orders = (
        sorted(numbers, key=lambda n: -arcs[n].bytes),
        sorted(numbers, key=lambda n: -arcs[n].bytes * arcs[n].length),
        sorted(numbers, key=lambda n: (-arcs[n].length, -arcs[n].bytes)),
        sorted(numbers, key=lambda n: arcs[n].first),
    )
    for first in orders:
        order = first
        for _ in range(ROUNDS):
            plan = _first_fit(arcs, meets, order)
            yield plan
            ends = [offset + arc.bytes for arc, offset in zip(arcs, plan, strict=True)]
            top = ends.index(max(ends))
            if order[0] == top:
                break
            order = [top, *(n for n in order if n != top)]


def _first_fit(arcs: Sequence[Arc], meets: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    offsets = [-1] * len(arcs)
    for number in order:
        taken = sorted((offsets[n], offsets[n] + arcs[n].bytes) for n in meets[number] if offsets[n] >= 0)
        own, offset = arcs[number], 0
        for begin, end in taken:
            if offset + own.bytes <= begin:
                break
            offset = max(offset, round_up(end, own.alignment))
        offsets[number] = offset
    return offsets


def _peak(arcs: Sequence[Arc], offsets: Sequence[int]) -> int:
    return max(offset + arc.bytes for arc, offset in zip(arcs, offsets, strict=True))
