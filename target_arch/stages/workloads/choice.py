"""The choice of who waits for whom, where not all can run at once: as few as make a workload schedulable.
A channel in common is as a device in common where that is better than copies that take turns.

Without waiting, more urgent jobs find the host and, through others, their timelines busy more often.
"""

from collections.abc import Iterator, Sequence
from math import inf, log

from target_arch.plan.workloads.answers import Analysis
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.response import analysis
from target_arch.stages.workloads.waiting import waits_of

_SAME = log(1.01)
"""Of two logarithms of responses, as near as this."""


def chosen(tasks: Sequence[TimedTask], known: Sequence[TaskTimes] = ()) -> Analysis:
    """The analysis in which no job is late, if one is known, else that of all at once that may be."""
    times = known or [task_times(task) for task in tasks]
    first = analysis(tasks, times)
    in_turn = waits_of(tasks, in_turn=True)
    if in_turn != first.waits and is_better(second := analysis(tasks, times, in_turn), first):
        first = second
    if first.schedulable or _too_much(tasks, times):
        return first
    return next((each for each in _others(tasks, times) if each.schedulable), first)


def is_better(one: Analysis, other: Analysis) -> bool:
    """Whether fewer tasks may be late, or the largest part of a deadline that a response takes is less, or
    with the same largest one the next, and so on. What differs by about a hundredth is the same.
    """
    return _rank(one) < _rank(other)


def _rank(answer: Analysis) -> tuple[int, list[float]]:
    parts = (
        inf if each.worst is None else round(log(each.worst / each.task.timing.deadline) / _SAME)
        for each in answer.responses
    )
    return sum(not each.met for each in answer.responses), sorted(parts, reverse=True)


def _too_much(tasks: Sequence[TimedTask], times: Sequence[TaskTimes]) -> bool:
    """Whether the host or a timeline has more work than time, or a job alone takes too long."""
    lines = frozenset[str]().union(*(each.flown for each in times))
    loads = [
        sum(each.flown.get(line, 0) / task.timing.period for task, each in zip(tasks, times, strict=True))
        for line in lines
    ]
    loads.append(sum(each.hosted / task.timing.period for task, each in zip(tasks, times, strict=True)))
    slow = (each.cost > task.timing.deadline for task, each in zip(tasks, times, strict=True))
    return max(loads) >= 1 or any(slow)


def _others(tasks: Sequence[TimedTask], times: Sequence[TaskTimes]) -> Iterator[Analysis]:
    """Others than all at once: more and more have the chip alone while that helps, and then all have."""
    for linked in (False, True):
        alone, best = frozenset[int](), analysis(tasks, times, waits_of(tasks, linked=linked, in_turn=True))
        yield best
        while len(alone) < len(tasks):
            drafts = [alone | {number} for number in range(len(tasks)) if number not in alone]
            tried = [
                (analysis(tasks, times, waits_of(tasks, draft, linked=linked, in_turn=True)), draft)
                for draft in drafts
            ]
            found, more = min(tried, key=lambda each: _lateness(each[0]))
            if _lateness(found) >= _lateness(best):
                break
            best, alone = found, more
            yield best
    yield analysis(tasks, times, waits_of(tasks, range(len(tasks))))


def _lateness(found: Analysis) -> tuple[int, float]:
    """How many tasks may be late, and by what part of their deadlines."""
    late = [each for each in found.responses if not each.met]
    more = (2.0 if each.worst is None else each.worst / each.task.timing.deadline for each in late)
    return len(late), sum(min(2.0, part) for part in more)
