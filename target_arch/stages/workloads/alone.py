"""A job alone on the chip, with worst times, and the limits that hold for any job of it.

The host waits before a step on a timeline that is still busy, as the arbiter of the runtime does: so at most
one step is in flight on each, and a more urgent job may come before the next one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import define, field

from target_arch.plan.workloads.tasks import TaskStep, TaskTimes, TaskWait, TaskWork, TimedTask


@define
class JobClock:
    """The progress of one job that has the chip: the host's time, and when each timeline is free."""

    now: int = 0
    ends: dict[str, list[int]] = field(factory=dict)

    def begins(self, step: TaskStep) -> int:
        """The time at which the host can begin a step: its timeline is free."""
        line = self.ends.get(step.timeline) if isinstance(step, TaskWork) else None
        return self.now if not line else max(self.now, line[-1])

    def execute(self, step: TaskStep) -> None:
        """One step of the host."""
        self.now = self.begins(step)
        if isinstance(step, TaskWait):
            self.now = max(self.now, self.ends[step.timeline][step.value - 1]) + step.host
            return
        self.now += step.host
        if not step.timeline:
            self.now += step.takes
        else:
            self.ends.setdefault(step.timeline, []).append(self.now + step.takes)

    @property
    def over(self) -> int:
        """The time at which nothing is in flight."""
        return max((self.now, *(line[-1] for line in self.ends.values())))


def task_times(task: TimedTask) -> TaskTimes:
    """The worst times of a task."""
    clock, starts, drained = JobClock(), list[int](), 0
    for step in task.steps:
        if starts:
            drained = max(drained, clock.over - clock.now)
        starts.append(clock.now)
        clock.execute(step)
    longest = [*_longest(task.steps)]
    where, busy = _busiest(task.steps)
    return TaskTimes(
        cost=clock.over,
        last=clock.over - starts[-1],
        longest=max(longest),
        longest_step=longest.index(max(longest)),
        drained=drained,
        serial=_serial(task.steps) - clock.over,
        where=where,
        busy=busy,
    )


def _serial(steps: Sequence[TaskStep]) -> int:
    """The time of a job that has nothing in flight between any two of its steps."""
    return sum(step.host + (step.takes if isinstance(step, TaskWork) else 0) for step in steps)


def _longest(steps: Sequence[TaskStep]) -> Iterator[int]:
    """For each step the longest time from its start until nothing is in flight, even where the steps before
    took no time: all is in flight that no step waited for, at most one step on each timeline.
    """
    flying, counts = dict[str, int](), Counter[str]()
    for step in steps:
        host = 0
        if isinstance(step, TaskWork) and step.timeline:
            counts[step.timeline] += 1
            flying[step.timeline] = step.takes
        elif isinstance(step, TaskWork):
            host = step.takes
        yield step.host + max((host, *flying.values()))
        if isinstance(step, TaskWait) and step.value == counts[step.timeline]:
            flying.pop(step.timeline, None)


def _busiest(steps: Sequence[TaskStep]) -> tuple[str, int]:
    busy = Counter[str]()
    for step in steps:
        busy[""] += step.host
        if isinstance(step, TaskWork):
            busy[step.timeline] += step.takes
    return max(sorted(busy.items()), key=lambda item: item[1], default=("", 0))
