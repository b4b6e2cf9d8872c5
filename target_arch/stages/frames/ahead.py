"""Calls on cores are issued before they can begin: a core then goes on with the next one by itself, however
long the host is at work of its own meanwhile.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve

from target_arch.stages.frames.modulo import ModuloSchedule
from target_arch.stages.frames.problem import FrameProblem
from target_arch.stages.steps.simulation.clock import HOST

AHEAD = 15
"""The most calls that a core has yet to begin: with the one at work they are as many as queues of ports hold.
"""
_AT_LEAST = 3
"""Calls that it has yet to begin in any case."""
_CALLS = 2
"""More are issued where they take less than so many of the host's longest calls, which may take longer for
once.
"""


def issued_ahead(problem: FrameProblem, schedule: ModuloSchedule, *, at_once: bool = False) -> ModuloSchedule:
    """The schedule in which each call on one of the cores is issued when the core begins the third one before
    it, or earlier where the host may be at work of its own until the core is done with those, or when what it
    needs from others is there. With `at_once` a call comes right behind the first one of its frame, if the
    queue has room for it: ports take such calls as one order.
    """
    issues = list(schedule.issues)
    for core in sorted(set(problem.cores) & set(problem.where)):
        for number, issue in _issues(problem, schedule, core, at_once):
            issues[number] = min(issue, issues[number])
    return evolve(schedule, issues=tuple(issues))


def _issues(
    problem: FrameProblem, schedule: ModuloSchedule, core: str, at_once: bool
) -> Iterator[tuple[int, int]]:
    """The calls on a core in their order, each with when it may be issued."""
    starts = schedule.starts
    calls = sorted(
        (n for n, where in enumerate(problem.where) if where == core), key=lambda n: (starts[n], n)
    )
    begins = [starts[number] for number in calls]
    lead = _CALLS * max(_of_host(problem), default=0)
    thirds, places = (_before(begins, ahead, schedule.period) for ahead in (_AT_LEAST, AHEAD))
    # the first call waits until all have a place in the queue, if that is early enough for it
    last = places[-1] if at_once and places[-1] <= thirds[0] else 0
    for place, (number, third, farthest) in enumerate(zip(calls, thirds, places, strict=True)):
        follows = at_once and place > 0
        early = farthest if follows else max(farthest, min(third, starts[number] - lead))
        last = max(last, early, _ready(problem, schedule, number))
        yield number, last


def _before(begins: Sequence[int], ahead: int, period: int) -> list[int]:
    """When a core begins the call that comes so many before each, in this period or an earlier one."""
    count = len(begins)
    places = (number - ahead for number in range(count))
    return [begins[place % count] + place // count * period for place in places]


def _of_host(problem: FrameProblem) -> Iterator[int]:
    """The times of calls of the host."""
    return (takes for takes, where in zip(problem.takes, problem.where, strict=True) if where == HOST)


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
