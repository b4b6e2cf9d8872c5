"""Spilling: tensors leave a memory that overflows for the next one that their producers can write.

Steps and memory are planned again after each spill. So tensors go one at a time while planning is cheap. In a
large model, or after many spills, many go at once: all that are in the way at any step, and twice as many
bytes each time.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence

from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory.packing import bound
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

    `able` has the tensors that can leave, by buffer.
    """
    events = [(buffer.first, 1, buffer.name, buffer.bytes) for buffer in buffers]
    events += [(buffer.last + 1, 0, buffer.name, buffer.bytes) for buffer in buffers]
    events.sort()
    limit = bound(buffers) - missing
    live, there = 0, list[_Sized]()
    gone: set[str] = set()
    for _, begins, name, size in events:
        if able.get(name) in gone:
            continue
        live += size if begins else -size
        if name in able and begins:
            insort(there, (size, able[name]))
        elif name in able:
            del there[bisect_left(there, (size, able[name]))]
        while live > limit and there:
            fitting = _fitting(there, live - limit)
            there.remove(fitting)
            live -= fitting[0]
            gone.add(fitting[1])
            yield fitting[1]
