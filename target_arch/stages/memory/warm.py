"""Places of buffers that leave the lines of a cache with the core that has them.

Cores behind coherent caches share a memory. A core that touches a line which another one touched last has to
fetch it from there, which takes some dozens of times as long as from its own cache; and a plan that is merely
low gives the bytes of one core's dead buffer to the next buffer of another. Here each buffer, in the order of
time, gets the place of which fewest lines were touched last by another core; new bytes count, too, but less.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.packing.sharing import rectangles, roots

LINE = 64
"""Bytes of a line."""
GROWTH = 0.25
"""What a line costs that no buffer had before, in lines that another core has: caches have only so many."""
_NOBODY = -1

_Cores = NDArray[np.int16]
"""By line, the number of a core."""


@frozen(kw_only=True)
class CoreAccess:
    """Bytes of a buffer, from `start` up to `stop`, that a core reads or writes."""

    buffer: str
    core: int
    start: int
    stop: int


def warm(plan: MemoryPlan, arena: Arena, touches: Sequence[CoreAccess], room: int) -> MemoryPlan:
    """The plan with other offsets in the arena; as it is where those take more than `room`, or a buffer may
    not begin at every line. `touches` are in the order of time.
    """
    there = [buffer for buffer in plan.buffers if buffer.arena == arena and buffer.bytes]
    if any(LINE % buffer.alignment for buffer in there):
        return plan
    names = {buffer.name for buffer in there}
    places = {name: place for name, place in plan.in_place if name in names}
    root = roots(there, places)
    found = _Places({each.name: each for each in rectangles(there, places)}, root, touches)
    offsets = {name: found.offsets[first] for name, first in root.items()}
    peak = max((offsets[each.name] + each.bytes for each in there), default=0)
    if peak > room:
        return plan
    return evolve(
        plan,
        offsets={**plan.offsets, **offsets},
        peaks={**plan.peaks, arena: peak},
        found_by={**plan.found_by, arena: "lines of cores"},
        proven=tuple(each for each in plan.proven if each != arena or peak == plan.peaks[arena]),
    )


class _Places:
    """Offsets of rectangles, found in the order of time. `lines` has the core that touched each line last."""

    def __init__(
        self, rectangles: Mapping[str, Buffer], root: Mapping[str, str], touches: Sequence[CoreAccess]
    ) -> None:
        self.offsets: dict[str, int] = {}
        self._placed: list[tuple[int, int, Buffer]] = []
        total = sum(round_up(each.bytes, LINE) // LINE for each in rectangles.values())
        self._lines: _Cores = np.full(total + 1, _NOBODY, np.int16)
        self._high = 0
        first, last = _first_and_last(rectangles, root, touches)
        for each in sorted(rectangles.values(), key=lambda each: (each.first, -each.bytes, each.name)):
            self._place(each, first[each.name], last[each.name])

    def _place(self, buffer: Buffer, first: _Cores, last: _Cores) -> None:
        taken = sorted((a, b) for a, b, other in self._placed if other.overlaps(buffer))
        able = [line for line in self._candidates(taken, first) if _is_free(line, len(first), taken)]
        line = min(able, key=lambda line: (self._cost(line, first), line))
        self._high = max(self._high, line + len(first))
        there = self._lines[line : line + len(last)]
        there[last != _NOBODY] = last[last != _NOBODY]
        self._placed.append((line, line + len(first), buffer))
        self.offsets[buffer.name] = line * LINE

    def _cost(self, line: int, first: _Cores) -> float:
        before = self._lines[line : line + len(first)]
        foreign = (before != first) & (before != _NOBODY) & (first != _NOBODY)
        return int(foreign.sum()) + GROWTH * max(line + len(first) - self._high, 0)

    def _candidates(self, taken: Sequence[tuple[int, int]], first: _Cores) -> list[int]:
        """The ends of what is taken, and where the cores change as they do in the buffer."""
        size = len(first)
        ends = {0, self._high, *(stop for _, stop in taken), *(start - size for start, _ in taken)}
        edges = [0, *_changes(first), size]
        there = [*_changes(self._lines[: self._high]), self._high]
        ends |= {place - edge for place in there for edge in edges}
        return sorted(line for line in ends if 0 <= line <= self._high)


def _is_free(line: int, size: int, taken: Sequence[tuple[int, int]]) -> bool:
    return all(line + size <= start or stop <= line for start, stop in taken)


def _changes(cores: _Cores) -> list[int]:
    """The lines at which another core begins."""
    return [int(each) + 1 for each in np.flatnonzero(cores[1:] != cores[:-1])]


def _first_and_last(
    rectangles: Mapping[str, Buffer], root: Mapping[str, str], touches: Sequence[CoreAccess]
) -> tuple[dict[str, _Cores], dict[str, _Cores]]:
    """By rectangle, the core that touches each of its lines first, and last."""
    first, last = (
        {
            name: np.full(round_up(each.bytes, LINE) // LINE, _NOBODY, np.int16)
            for name, each in rectangles.items()
        }
        for _ in range(2)
    )
    for touch in touches:
        if touch.buffer not in root:
            continue
        name = root[touch.buffer]
        lines = slice(touch.start // LINE, round_up(touch.stop, LINE) // LINE)
        last[name][lines] = touch.core
        early = first[name][lines]
        early[early == _NOBODY] = touch.core
    return first, last
