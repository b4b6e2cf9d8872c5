"""Changes that help a workload in which some job may be late: of one thing each, tried by analysis."""

from collections.abc import Callable, Iterator, Sequence

from attrs import evolve

from target_arch.plan.workloads.answers import Analysis, Change, HelpfulChange
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.plan.workloads.workload import MICROSECOND, Timing
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.choice import chosen
from target_arch.stages.workloads.response import analysis
from target_arch.stages.workloads.waiting import waits_of

_LONGEST = 64
"""A period is at most so many times as long."""


def advised(tasks: Sequence[TimedTask]) -> Analysis:
    """The analysis of tasks under priorities, with remedies if it needs some."""
    times = [task_times(task) for task in tasks]
    answer = chosen(tasks, times)
    return answer if answer.schedulable else evolve(answer, remedies=tuple(_remedies(tasks, times, answer)))


def _remedies(
    tasks: Sequence[TimedTask], times: Sequence[TaskTimes], answer: Analysis
) -> Iterator[HelpfulChange]:
    if _fits(_by_deadline(tasks), times):
        yield HelpfulChange(change=Change.PRIORITIES)
    for number, response in enumerate(answer.responses):
        if response.met:
            continue
        yield from _of_late(tasks, times, number)
        blockers = [other for other, task in enumerate(tasks) if task.name == response.blocker]
        for blocker in blockers:
            yield from _shorter(tasks, times, blocker, Change.STEP)


def _by_deadline(tasks: Sequence[TimedTask]) -> list[TimedTask]:
    order = sorted({task.timing.deadline for task in tasks}, reverse=True)
    return [
        evolve(task, timing=evolve(task.timing, priority=order.index(task.timing.deadline))) for task in tasks
    ]


def _of_late(tasks: Sequence[TimedTask], times: Sequence[TaskTimes], number: int) -> Iterator[HelpfulChange]:
    """Changes of a task that may be late: its deadline where it is shorter than its period, its period, the
    time of its run.
    """
    timing = tasks[number].timing

    def period(limit: int) -> bool:
        longer = evolve(timing, period=limit, deadline=timing.deadline * limit // timing.period)
        return _fits(_with(tasks, number, longer), times)

    def deadline(limit: int) -> bool:
        return _fits(_with(tasks, number, evolve(timing, deadline=limit)), times)

    if timing.deadline < timing.period:
        found = _least(deadline, timing.deadline, timing.period)
        if found is not None:
            yield HelpfulChange(change=Change.DEADLINE, task=number, limit=found)
    found = _least(period, timing.period, _LONGEST * timing.period)
    if found is not None:
        yield HelpfulChange(change=Change.PERIOD, task=number, limit=found)
    yield from _shorter(tasks, times, number, Change.COST)


def _shorter(
    tasks: Sequence[TimedTask], times: Sequence[TaskTimes], number: int, change: Change
) -> Iterator[HelpfulChange]:
    """The most that the longest step or the run of a task may take; nothing where that does not help."""
    own = times[number]
    whole = own.longest if change is Change.STEP else own.cost

    def fits(less: int) -> bool:
        left = whole - less
        changed = (
            evolve(
                own,
                longest=left,
                hosted_steps=tuple(min(step, left) for step in own.hosted_steps),
                flights={line: min(takes, left) for line, takes in own.flights.items()},
            )
            if change is Change.STEP
            else evolve(
                own,
                cost=left,
                last=own.last * left // whole,
                longest=own.longest * left // whole,
                loss=own.loss * left // whole,
                losses=tuple(loss * left // whole for loss in own.losses),
                hosted=own.hosted * left // whole,
                hosted_steps=tuple(step * left // whole for step in own.hosted_steps),
                flights={line: takes * left // whole for line, takes in own.flights.items()},
                flown={line: takes * left // whole for line, takes in own.flown.items()},
                tails={line: takes * left // whole for line, takes in own.tails.items()},
            )
        )
        return _fits(tasks, [changed if other == number else each for other, each in enumerate(times)])

    found = _least(fits, 0, whole)
    if found is not None and found < whole:
        yield HelpfulChange(change=change, task=number, limit=(whole - found) // MICROSECOND * MICROSECOND)


def _with(tasks: Sequence[TimedTask], number: int, timing: Timing) -> list[TimedTask]:
    return [evolve(task, timing=timing) if at == number else task for at, task in enumerate(tasks)]


def _fits(tasks: Sequence[TimedTask], times: Sequence[TaskTimes]) -> bool:
    """Whether no job is late, with all at once that may be, or with all in turn."""
    in_turn = waits_of(tasks, range(len(tasks)))
    return analysis(tasks, times).schedulable or analysis(tasks, times, in_turn).schedulable


def _least(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The least value of whole microseconds above `low` that fits, up to `high`; None where that does not."""
    high = -(-high // MICROSECOND) * MICROSECOND
    if not fits(high):
        return None
    while high - low > MICROSECOND:
        middle = (low + high) // 2 // MICROSECOND * MICROSECOND
        if middle <= low:
            break
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
