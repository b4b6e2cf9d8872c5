"""Spilling: tensors leave a memory that overflows for the next one that their producers can write.

Steps and memory are planned again after each spill. So tensors go one at a time while planning is cheap. In a
large model, or after many spills, many go at once: all that are in the way at any step, and twice as many
bytes each time.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory.packing.live_sums import live_sums
from target_arch.stages.program.homes import TensorHomes

WORK = 20_000
"""Copies and operands ordered again for the sake of one tensor each, over all times."""

_Sized = tuple[int, str]
"""Bytes and name of a tensor."""


class Spilling:
    """The tensors of one model to spill, refusal by refusal."""

    def __init__(self) -> None:
        self._work, self._times = WORK, 0

    def next(self, refusal: DoesNotFitError, steps: StepOrder, homes: TensorHomes) -> tuple[str, ...]:
        """The tensors that leave the memory of the refusal next; empty if none can, as for constants
        and states.
        """
        if not refusal.pool.shareable:
            return ()
        able = {
            buffer.name: buffer.tensor
            for buffer in steps.buffers
            if buffer.tensor is not None
            and homes.homes.get(buffer.tensor) == refusal.memory
            and homes.others.get(buffer.tensor)
        }
        there = sorted((size, able[name]) for name, size in refusal.alive if name in able)
        if not there:
            return ()
        missing = refusal.needed - refusal.available
        self._work -= sum(len(s.operands) if isinstance(s, Dispatch) else 1 for s in steps.steps)
        if self._work >= 0:
            return (_fitting(there, missing)[1],)
        self._times += 1
        pool = [buffer for buffer in steps.buffers if buffer.arena == refusal.pool]
        found = tuple(swept(pool, able, missing << self._times - 1))
        return found or (_fitting(there, missing)[1],)


def _fitting(able: list[_Sized], missing: int) -> _Sized:
    """The smallest tensor that frees enough, else the largest; tensors are in ascending order of bytes."""
    return able[min(bisect_left(able, (missing, "")), len(able) - 1)]


def swept(buffers: Sequence[Buffer], able: Mapping[str, str], missing: int) -> Iterator[str]:
    """Tensors to spill, so that no step has more live bytes than now at most, less the missing bytes.

    `able` has the tensors that can leave, by buffer. Steps are looked at in order; of the tensors there, the
    smallest one that frees enough leaves, else the largest.
    """
    lives = [((buffer.first, buffer.last), buffer.bytes) for buffer in buffers]
    live = live_sums(lives, max((buffer.last for buffer in buffers), default=0))
    limit = int(live.max()) - missing
    leaving: dict[str, list[Buffer]] = {}
    for buffer in buffers:
        if buffer.name in able:
            leaving.setdefault(able[buffer.name], []).append(buffer)
    moving = [buffer for own in leaving.values() for buffer in own]
    begins = sorted(moving, key=lambda buffer: -buffer.first)
    ends = sorted(moving, key=lambda buffer: -buffer.last)
    there: list[_Sized] = []
    for step in np.flatnonzero(live > limit).tolist():
        while begins and begins[-1].first <= step:
            insort(there, _sized(begins.pop(), able))
        while ends and ends[-1].last < step:
            _drop(there, _sized(ends.pop(), able))
        while live[step] > limit and there:
            fitting = _fitting(there, int(live[step]) - limit)
            _drop(there, fitting)
            for buffer in (gone := leaving.pop(fitting[1], ())):
                live[buffer.first : buffer.last + 1] -= buffer.bytes
            if gone:
                yield fitting[1]


def _sized(buffer: Buffer, able: Mapping[str, str]) -> _Sized:
    return buffer.bytes, able[buffer.name]


def _drop(there: list[_Sized], one: _Sized) -> None:
    """Remove one from tensors in order, unless it left before."""
    at = bisect_left(there, one)
    if at < len(there) and there[at] == one:
        del there[at]
