"""Answers about a workload: response times by analysis, and the table of a time-triggered one.

Times are whole picoseconds.
"""

from enum import StrEnum

from attrs import field, frozen

from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.plan.workloads.workload import Schedule


@frozen(kw_only=True)
class Response:
    """The worst time from when a job of the task is due until it is over; None where there is no limit.

    `blocked` of it are by the longest step of a less urgent task, `blocker`, and `beside` by jobs that run at
    once with it: their host time, and what they have in flight where it wants to be.
    """

    task: TimedTask
    times: TaskTimes
    worst: int | None
    blocked: int = 0
    blocker: str = ""
    beside: int = 0

    @property
    def met(self) -> bool:
        """Whether no job of the task is ever late."""
        return self.worst is not None and self.worst <= self.task.timing.deadline


class Change(StrEnum):
    """Something to change in a workload that is too much."""

    PRIORITIES = "priorities"
    PERIOD = "period"
    DEADLINE = "deadline"
    STEP = "step"
    COST = "cost"


@frozen(kw_only=True)
class HelpfulChange:
    """A change with which no job is late any more. A task's period or deadline has to be `limit` at least,
    its longest step or its whole run at most; priorities go by deadlines, the shortest one first.
    """

    change: Change = field(converter=Change)
    task: int = 0
    limit: int = 0


@frozen(kw_only=True)
class TableSlot:
    """A part of the table: from `start` on, the steps from `first` up to `past` of a job of a task, by its
    number.

    The job was due at `due`. All that the slot began is over at `end` at the latest.
    """

    task: int
    start: int
    end: int
    due: int
    first: int
    past: int


@frozen(kw_only=True)
class TimeTable:
    """The slots of a hyperperiod in the order of time, after which they come again."""

    hyperperiod: int
    slots: tuple[TableSlot, ...] = field(repr=False)


@frozen(kw_only=True)
class Analysis:
    """The answer for a workload: a response time for each of its tasks, in their order, and for a
    time-triggered one the table.

    Under priorities a task takes no step while a job of one of its `waits` is released and not over; these
    are tasks by their numbers, as urgent or more. Others run at once.
    """

    schedule: Schedule = field(converter=Schedule)
    responses: tuple[Response, ...]
    waits: tuple[frozenset[int], ...] = field(default=(), repr=False)
    table: TimeTable | None = None
    remedies: tuple[HelpfulChange, ...] = ()
    """Where some job may be late: changes that help, each alone."""

    @property
    def schedulable(self) -> bool:
        """Whether no job of any task is ever late."""
        return all(response.met for response in self.responses)

    @property
    def load(self) -> float:
        """The part of the time in which some job runs, with worst times."""
        return sum(each.times.cost / each.task.timing.period for each in self.responses)


@frozen(kw_only=True)
class TimedTasks:
    """The tasks of a workload, the answer about them, and the start of a simulation: task, start and end of
    each time in which the host or a device is busy with a job.
    """

    tasks: tuple[TimedTask, ...] = field(repr=False)
    analysis: Analysis
    spans: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)


@frozen(kw_only=True)
class Job:
    """A job of the simulation. `end` is None where it was dropped."""

    task: int
    due: int
    released: int
    end: int | None


@frozen(kw_only=True)
class Replayed:
    """Simulated jobs in the order of their release, `late` of which were over too late, and `dropped` never
    begun.
    """

    jobs: tuple[Job, ...] = field(repr=False)
    spans: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    """Task, start and end of each time in which the host or a device was busy with a job, in their order."""
    late: int
    dropped: int
