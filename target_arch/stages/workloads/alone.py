"""A job alone on the chip, with worst times, and the limits that hold for any job of it.

The host waits before a step on a timeline that is still busy, as the arbiter of the runtime does: so at most
one step is in flight on each, and jobs of others may have their turn before the next one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field

from target_arch.plan.workloads.tasks import TaskStep, TaskTimes, TaskWait, TaskWork, TimedTask
from target_arch.stages.workloads.losses import preempted


@define
class JobClock:
    """The progress of one job that has the chip: the host's time, and when each timeline is free, of which
    some are `busy` with something else at first.
    """

    now: int = 0
    ends: dict[str, list[int]] = field(factory=dict)
    busy: Mapping[str, int] = field(factory=dict)

    def begins(self, step: TaskStep) -> int:
        """The time at which the host can begin a step: its timeline is free, or what it waits for is over."""
        line = self.ends.get(step.timeline)
        if not line:
            return max(self.now, self.busy.get(step.timeline, self.now))
        return max(self.now, line[step.value - 1] if isinstance(step, TaskWait) else line[-1])

    def execute(self, step: TaskStep) -> None:
        """One step of the host."""
        self.now = self.begins(step) + step.host
        if isinstance(step, TaskWait):
            return
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
    clock, last = JobClock(), 0
    for step in task.steps:
        last = clock.begins(step)
        clock.execute(step)
    loss, losses = preempted(task.steps)
    longest = [step.host + (step.takes if isinstance(step, TaskWork) else 0) for step in task.steps]
    where, busy = _busiest(task.steps)
    own = [
        step.host + (0 if step.timeline else step.takes) for step in task.steps if isinstance(step, TaskWork)
    ]
    host = [*own, *(step.host for step in task.steps if isinstance(step, TaskWait))]
    return TaskTimes(
        cost=clock.over,
        last=clock.over - last if _ends_alone(task.steps) else 0,
        longest=max(longest),
        longest_step=longest.index(max(longest)),
        loss=loss,
        losses=losses,
        flights=_flights(task.steps, max),
        flown=_flights(task.steps, int.__add__),
        counts=Counter(s.timeline for s in task.steps if isinstance(s, TaskWork) and s.timeline),
        tails=_tails(task, clock.over),
        hosted=sum(host),
        hosted_steps=tuple(sorted(filter(None, host), reverse=True)),
        pauses=_pauses(task.steps),
        where=where,
        busy=busy,
    )


def _ends_alone(steps: Sequence[TaskStep]) -> bool:
    """Whether the last step is the host's, and all others have been waited for."""
    counts, waited = Counter[str](), Counter[str]()
    for step in steps:
        if isinstance(step, TaskWait):
            waited[step.timeline] = max(waited[step.timeline], step.value)
        elif step.timeline:
            counts[step.timeline] += 1
    end = steps[-1]
    return isinstance(end, TaskWork) and not end.timeline and counts == waited


def _tails(task: TimedTask, cost: int) -> dict[str, int]:
    """By timeline the time from the first step there to the end: what a job takes after it has waited for
    the timeline longer than for anything else.
    """
    tails = dict[str, int]()
    for line in sorted(task.timelines):
        clock = JobClock(busy={line: cost})
        for step in task.steps:
            clock.execute(step)
        tails[line] = clock.over - cost
    return tails


def _pauses(steps: Sequence[TaskStep]) -> int:
    """How often the host may wait for own steps of a job: for one that is in flight on a timeline before the
    next, where the job says so, and at the end for what is left.
    """
    pauses, flying = 0, dict[str, int]()
    counts = Counter[str]()
    for step in steps:
        if isinstance(step, TaskWait):
            if step.value >= flying.get(step.timeline, step.value + 1):
                pauses += 1
                del flying[step.timeline]
        elif step.timeline:
            counts[step.timeline] += 1
            pauses += step.timeline in flying
            flying[step.timeline] = counts[step.timeline]
    return pauses + bool(flying)


def _flights(steps: Sequence[TaskStep], joined: Callable[[int, int], int]) -> dict[str, int]:
    flights = dict[str, int]()
    for step in steps:
        if isinstance(step, TaskWork) and step.timeline:
            flights[step.timeline] = joined(flights.get(step.timeline, 0), step.host + step.takes)
    return flights


def _busiest(steps: Sequence[TaskStep]) -> tuple[str, int]:
    busy = Counter[str]()
    for step in steps:
        busy[""] += step.host
        if isinstance(step, TaskWork):
            busy[step.timeline] += step.takes
    return max(sorted(busy.items()), key=lambda item: item[1], default=("", 0))
