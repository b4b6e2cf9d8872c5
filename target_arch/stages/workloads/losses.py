"""Losses of a job that is preempted: the overlap of what is in flight with what would come next.

A job that is preempted before a step goes on when all that it had in flight is over, at the latest. So it
takes as long as parts of its steps, one after the other, each until nothing of it is in flight. By how much
that is longer than the whole is found for each number of parts, and for each stretch of steps by itself at
whose end the host has waited for all of it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from target_arch.plan.workloads.tasks import TaskStep, TaskWait

_MOST_STEPS = 256
"""Steps of a stretch that is looked at in all its parts; of a longer one each preemption costs what takes the
longest in flight, until nothing of it overlaps.
"""

Table = npt.NDArray[np.int64]


@frozen(kw_only=True)
class _Step:
    """A step of a stretch: what it takes of the host first, and then in flight or on the host, and the number
    of the step there for which the host waits before; -1 for none.
    """

    host: int
    takes: int
    flies: bool
    after: int


def preempted(steps: Sequence[TaskStep]) -> tuple[int, tuple[int, ...]]:
    """The most by which a preemption makes a job longer, and preemptions together: so many no more than so
    many of these, the largest first, and any number no more than all.
    """
    found = [_of_stretch(stretch) for stretch in _stretches(steps)]
    together = sorted((loss for _, losses in found for loss in losses if loss), reverse=True)
    return max(loss for loss, _ in found), tuple(together)


def _stretches(steps: Sequence[TaskStep]) -> Iterator[list[_Step]]:
    """The steps, cut wherever the host has waited for all before. One waits for none of another stretch."""
    issued: dict[str, list[int]] = {}
    waited, stretch, first = Counter[str](), list[_Step](), 0
    for number, step in enumerate(steps):
        line = issued.setdefault(step.timeline, []) if step.timeline else []
        if isinstance(step, TaskWait):
            waited[step.timeline] = max(waited[step.timeline], step.value)
            after, takes, flies = line[step.value - 1], 0, False
        else:
            after, takes, flies = line[-1] if line else -1, step.takes, step.timeline != ""
            line.append(number)
        stretch.append(_Step(host=step.host, takes=takes, flies=flies, after=max(after - first, -1)))
        if all(waited[name] >= len(there) for name, there in issued.items()):
            yield stretch
            stretch, first = [], number + 1
    yield stretch


def _of_stretch(steps: Sequence[_Step]) -> tuple[int, list[int]]:
    """The most that one preemption costs, and preemptions together."""
    if len(steps) > _MOST_STEPS:
        losses = list(_roughly(steps))
        return max(losses, default=0), losses
    parts = np.full((len(steps) + 1, len(steps) + 1), np.iinfo(np.int64).min // 2)
    for first in range(len(steps) + 1):
        parts[first, first:] = _ends(steps, first)
    once = parts + parts[:, -1] - parts[:, -1:]
    return int(np.max(once)), list(_concave(_gains(parts)))


def _ends(steps: Sequence[_Step], first: int) -> list[int]:
    """When nothing is in flight after so many steps from the first one on, before which nothing was."""
    now = over = 0
    found, ends = [0], dict[int, int]()
    for number in range(first, len(steps)):
        step = steps[number]
        now = max(now, ends.get(step.after, 0)) + step.host
        ends[number] = now + step.takes
        if not step.flies:
            now = ends[number]
        over = max(over, ends[number])
        found.append(over)
    return found


def _gains(parts: Table) -> list[int]:
    """By how much a stretch is longer in at most one part, two, and so on, where `parts` have the time from
    each step to each.
    """
    longest, gains = parts[0], [0]
    while True:
        more = np.max(longest[:, None] + parts, axis=0)
        if np.array_equal(more, longest):
            return gains
        longest = more
        gains.append(int(longest[-1] - parts[0, -1]))


def _concave(gains: Sequence[int]) -> Iterator[int]:
    """The steps from each value to the next of the least concave sequence that is nowhere below."""
    at = 0
    while at < len(gains) - 1:
        steepest, to = max((-((gains[at] - gains[to]) // (to - at)), to) for to in range(at + 1, len(gains)))
        yield from [steepest] * (to - at)
        at = to


def _roughly(steps: Sequence[_Step]) -> Iterator[int]:
    longest = max(step.host + step.takes for step in steps if step.flies)
    overlap = sum(step.host + step.takes for step in steps) - _ends(steps, 0)[-1]
    for _ in range(overlap // longest):
        yield longest
    yield overlap % longest
