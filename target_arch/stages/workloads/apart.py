"""Pairs of models that may be in the middle of a job at the same time: these share no bytes."""

from collections.abc import Sequence
from itertools import combinations

from target_arch.plan.model_pools import Pairs
from target_arch.plan.workloads.answers import TimeTable
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import Schedule, Workload


def may_be_apart(workload: Workload) -> Pairs:
    """All pairs that some steps might make such ones."""
    return frozenset(
        frozenset((one.name, other.name))
        for one, other in combinations(workload.models, 2)
        if workload.schedule is Schedule.TABLE or one.timing.priority != other.timing.priority
    )


def apart(tasks: Sequence[TimedTask], table: TimeTable | None) -> Pairs:
    """The pairs where a job of one may come between two steps of a job of the other."""
    if table is None:
        return frozenset(
            frozenset((one.name, other.name))
            for one, other in combinations(tasks, 2)
            if _meet(*sorted((one, other), key=lambda task: task.timing.priority))
        )
    names = [task.name for task in tasks]
    open_jobs, pairs = set[int](), set[frozenset[str]]()
    for slot in table.slots:
        open_jobs.discard(slot.task)
        pairs |= {frozenset((names[slot.task], names[other])) for other in open_jobs}
        if slot.past < len(tasks[slot.task].steps):
            open_jobs.add(slot.task)
    return frozenset(pairs)


def _meet(low: TimedTask, high: TimedTask) -> bool:
    """Whether jobs of two tasks may have begun and not be over at once: not where the host has to finish a
    job of one before it begins one of the other.
    """
    if low.timing.priority == high.timing.priority:
        return False
    return len(low.steps) > 1 or bool(low.timelines | high.timelines)
