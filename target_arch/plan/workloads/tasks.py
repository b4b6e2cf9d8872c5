"""Tasks: the steps of models with worst times, and when they run. Times are whole picoseconds."""

from attrs import field, frozen

from target_arch.plan.workloads.workload import Timing


@frozen(kw_only=True)
class TaskWork:
    """A step that keeps the host busy, or with a `timeline` an instance or a channel: then the host goes on
    after its own part, `host`, which comes first in any case.
    """

    takes: int
    timeline: str = ""
    host: int = 0


@frozen(kw_only=True)
class TaskWait:
    """A step in which the host waits until the first `value` steps of the job on a timeline are over, and
    then is busy for `host`.
    """

    timeline: str
    value: int
    host: int = 0


TaskStep = TaskWork | TaskWait


@frozen(kw_only=True)
class TimedTask:
    """A model in time: its steps in the order in which the host takes them, between any two of which a more
    urgent job may come.
    """

    name: str
    timing: Timing
    steps: tuple[TaskStep, ...] = field(repr=False)


@frozen(kw_only=True)
class TaskTimes:
    """Worst times of a task, alone on the chip.

    A job takes at most `cost`, and at most `last` from the beginning of its last step, which began `start`
    after the job at the latest. Another job that comes just after a step began waits at most `longest`, until
    nothing of this one is in flight; it is step number `longest_step`. Then this one loses at most `drained`,
    and `serial` in all, however often that happens to a job.
    `where` is the host or the timeline that is busy the longest, for `busy`.
    """

    cost: int
    last: int
    longest: int
    longest_step: int
    drained: int
    serial: int
    where: str
    busy: int

    @property
    def start(self) -> int:
        """The time from the start of a job to that of its last step."""
        return self.cost - self.last
