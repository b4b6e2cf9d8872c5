"""Response-time analysis: the worst time of jobs under fixed priorities, with preemption between steps.

One job has the chip at a time. It gives it to a more urgent one when the step that the host is in has ended,
and what it has in flight with it. So the chip is one processor with tasks that are preempted at fixed
points, whose worst response is in the busy period that begins when a job is released together with all more
urgent ones, just after the longest step of a less urgent one began (R. J. Bril, J. J. Lukkien, W. F. J.
Verhaegh, "Worst-case response time analysis of real-time tasks under fixed-priority scheduling with deferred
preemption", Real-Time Systems 42, 2009): the last step of a job cannot be preempted, so the jobs of one task
in that period are looked at one by one.

A preempted job goes on with nothing in flight, so it may have to wait again for its devices: each more urgent
job costs as much as the preempted one may lose (as cache-related preemption delays do: J. V. Busquets-Mataix
et al., "Adding instruction cache effect to schedulability analysis of preemptive real-time systems", RTAS
1996). Jobs of equal priority run in the order of their release, and do not preempt each other.
"""

from collections.abc import Sequence

from attrs import frozen

from target_arch.plan.workloads.answers import Analysis, Response
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.plan.workloads.workload import Schedule
from target_arch.stages.workloads.alone import task_times

_MOST_JOBS = 10_000
"""Jobs of a task in a busy period that are looked at; a longer one counts as endless."""


@frozen(kw_only=True)
class _Other:
    """A task of a busy period: its `cost` for each job, and the most that a job loses when it is preempted
    (`drained`), and in all (`serial`).
    """

    priority: int
    period: int
    jitter: int
    cost: int
    drained: int
    serial: int

    def begun(self, until: int) -> int:
        """The number of its jobs that are released before or at a time, the first one at 0."""
        return (until + self.jitter) // self.period + 1

    def before(self, until: int) -> int:
        """The number of its jobs that are released before a time."""
        return -(-(until + self.jitter) // self.period)


def _demand(jobs: Sequence[tuple[_Other, int]]) -> int:
    """The time of so many jobs of each task, with what they lose to each other: each job preempts one at
    most, and loses its serial time at most.
    """
    cost = sum(count * each.cost for each, count in jobs)
    by_job = by_task = 0
    for each, count in jobs:
        less = (other.drained for other, there in jobs if there and other.priority < each.priority)
        by_job += count * max(less, default=0)
        above = sum(there for other, there in jobs if other.priority > each.priority)
        by_task += min(count * each.serial, above * each.drained)
    return cost + min(by_job, by_task)


def analysis(tasks: Sequence[TimedTask], known: Sequence[TaskTimes] = ()) -> Analysis:
    """The worst response of every task, by the worst times of their steps, or by `known` ones."""
    times = known or [task_times(task) for task in tasks]
    return Analysis(
        schedule=Schedule.PRIORITIES,
        responses=tuple(_response(tasks, times, number) for number in range(len(tasks))),
    )


def preempts(one: TimedTask, other: TimedTask) -> bool:
    """Whether a job of the first task may come between two steps of a job of the other."""
    return one.timing.priority > other.timing.priority and len(other.steps) > 1


def _response(tasks: Sequence[TimedTask], times: Sequence[TaskTimes], number: int) -> Response:
    task, own = tasks[number], times[number]
    level = task.timing.priority
    blocked, blocker = max(
        (
            (each.longest, other.name)
            for other, each in zip(tasks, times, strict=True)
            if other.timing.priority < level
        ),
        default=(0, ""),
    )
    every = [
        _Other(
            priority=other.timing.priority,
            period=other.timing.period,
            jitter=other.timing.jitter,
            cost=each.cost,
            drained=each.drained,
            serial=each.serial,
        )
        for other, each in zip(tasks, times, strict=True)
    ]
    ranked = [(each, other) for each, other in zip(every, tasks, strict=True) if other is not task]
    worst = _worst(
        every[number],
        own,
        blocked,
        [each for each, other in ranked if other.timing.priority > level],
        [each for each, other in ranked if other.timing.priority == level],
    )
    return Response(task=task, times=own, worst=worst, blocked=blocked, blocker=blocker)


def _worst(
    itself: _Other, own: TaskTimes, blocked: int, higher: Sequence[_Other], equal: Sequence[_Other]
) -> int | None:
    every = (*higher, *equal, itself)
    if sum(other.cost / other.period for other in every) >= 1:
        return None
    period, most = blocked + own.cost, _MOST_JOBS * itself.period
    while (longer := blocked + _demand([(each, each.before(period)) for each in every])) > period:
        if longer > most:
            return None
        period = longer
    worst, begins = 0, 0
    for job in range(itself.before(period)):
        begins = _begun([(itself, job)], (*higher, *equal), blocked, begins)
        fixed = [(itself, job + 1), *((each, each.begun(begins)) for each in equal)]
        last = _begun(fixed, higher, blocked - own.last, begins)
        worst = max(worst, last + own.last - job * itself.period + itself.jitter)
    return worst


def _begun(fixed: Sequence[tuple[_Other, int]], others: Sequence[_Other], more: int, least: int) -> int:
    """The first time, `least` or later, at which so many jobs of some tasks, all jobs of others that were
    released until then, and `more` time are over.
    """
    now = least
    while (then := more + _demand([*fixed, *((each, each.begun(now)) for each in others)])) > now:
        now = then
    return now
