"""A table of times over the hyperperiod: who has the chip, from which step to which.

Jobs are taken by earliest deadline, with worst times (C. L. Liu, J. W. Layland, "Scheduling algorithms for
multiprogramming in a hard-real-time environment", JACM 20, 1973), and preempted between steps. A slot begins
at a whole microsecond and ends with nothing in flight, and no job goes on into the next hyperperiod, so that
the first one is like all others.
"""

from collections.abc import Sequence
from math import lcm

from attrs import define, field

from target_arch.plan.workloads.answers import Analysis, Response, TableSlot, TimeTable
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import MICROSECOND, Schedule
from target_arch.stages.workloads.alone import JobClock, task_times

MOST_JOBS = 20_000
"""Jobs of a hyperperiod."""


@define
class _Job:
    task: int
    due: int
    released: int
    deadline: int
    step: int = 0
    end: int = 0
    clock: JobClock = field(factory=JobClock)


def hyperperiod(tasks: Sequence[TimedTask]) -> int:
    """The time after which all periods begin together again."""
    return lcm(*(task.timing.period for task in tasks))


def jobs_of_table(tasks: Sequence[TimedTask]) -> int:
    """The number of jobs of a hyperperiod."""
    return sum(hyperperiod(tasks) // task.timing.period for task in tasks)


def tabled(tasks: Sequence[TimedTask]) -> Analysis:
    """The table of these tasks, and the response times in it: None for a task with a job that is not over
    by the end of the hyperperiod. There may be at most MOST_JOBS jobs.
    """
    whole = hyperperiod(tasks)
    jobs = [_job(tasks, number, due) for number, task in enumerate(tasks) for due in _due(task, whole)]
    slots = _slots(tasks, jobs)
    responses = tuple(
        Response(task=task, times=task_times(task), worst=_worst(jobs, number, whole))
        for number, task in enumerate(tasks)
    )
    return Analysis(
        schedule=Schedule.TABLE,
        responses=responses,
        table=TimeTable(hyperperiod=whole, slots=tuple(slots)),
    )


def _due(task: TimedTask, whole: int) -> range:
    return range(task.timing.offset, task.timing.offset + whole, task.timing.period)


def _job(tasks: Sequence[TimedTask], number: int, due: int) -> _Job:
    timing = tasks[number].timing
    return _Job(number, due, due + timing.jitter, due + timing.deadline)


def _slots(tasks: Sequence[TimedTask], jobs: Sequence[_Job]) -> list[TableSlot]:
    coming = sorted(jobs, key=lambda job: (-job.released, -job.deadline, -job.task))
    ready, now, slots = list[_Job](), 0, list[TableSlot]()
    while coming or ready:
        while coming and coming[-1].released <= now:
            ready.append(coming.pop())
        if not ready:
            now = coming[-1].released
            continue
        job = min(ready, key=lambda each: (each.deadline, each.released, each.task))
        first, start = job.step, now
        end = _run(tasks[job.task], job, now, coming)
        slots.append(TableSlot(task=job.task, start=start, end=end, due=job.due, first=first, past=job.step))
        now = -(-end // MICROSECOND) * MICROSECOND
        if job.end:
            ready.remove(job)
    return slots


def _run(task: TimedTask, job: _Job, now: int, coming: list[_Job]) -> int:
    """Go on with a job until it is over, or another one with an earlier deadline is released. Returns the
    time at which nothing is in flight.
    """
    clock = job.clock
    clock.now = now
    while job.step < len(task.steps):
        clock.execute(task.steps[job.step])
        job.step += 1
        others = (each for each in reversed(coming) if each.released <= clock.now)
        if job.step < len(task.steps) and any(other.deadline < job.deadline for other in others):
            return clock.over
    job.end = clock.over
    return job.end


def _worst(jobs: Sequence[_Job], number: int, whole: int) -> int | None:
    own = [job for job in jobs if job.task == number]
    return None if any(job.end > whole for job in own) else max(job.end - job.due for job in own)
