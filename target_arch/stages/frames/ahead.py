"""Calls on cores are issued before they can begin: a core then goes on with the next one by itself, however
long the host is at work of its own meanwhile.
"""

from collections.abc import Iterator

from attrs import evolve

from target_arch.stages.frames.modulo import ModuloSchedule
from target_arch.stages.frames.problem import FrameProblem

AHEAD = 3
"""Calls that a core has yet to begin: with the one at work they are as many as the queues of ports hold."""


def issued_ahead(problem: FrameProblem, schedule: ModuloSchedule) -> ModuloSchedule:
    """The schedule in which each call on one of the cores is issued when the core begins the third one before
    it, or when what it needs from others is there.
    """
    issues = list(schedule.issues)
    for core in sorted(set(problem.cores) & set(problem.where)):
        for number, issue in _issues(problem, schedule, core):
            issues[number] = min(issue, issues[number])
    return evolve(schedule, issues=tuple(issues))


def _issues(problem: FrameProblem, schedule: ModuloSchedule, core: str) -> Iterator[tuple[int, int]]:
    """The calls on a core in their order, each with when it may be issued."""
    starts = schedule.starts
    calls = sorted(
        (n for n, where in enumerate(problem.where) if where == core), key=lambda n: (starts[n], n)
    )
    begins = [starts[number] for number in calls]
    ahead = [begin - schedule.period for begin in begins[-AHEAD:]] + begins
    last = 0
    for number, third_before in zip(calls, ahead, strict=False):
        last = max(last, third_before, _ready(problem, schedule, number))
        yield number, last


def _ready(problem: FrameProblem, schedule: ModuloSchedule, number: int) -> int:
    """When what a call needs from others is there."""
    starts, takes, where = schedule.starts, problem.takes, problem.where
    ends = [starts[n] + takes[n] for n in problem.before[number] if where[n] != where[number]]
    ends += [
        starts[n] + takes[n] - schedule.period
        for n, later in problem.carried
        if later == number and where[n] != where[number]
    ]
    return max(ends, default=0)
