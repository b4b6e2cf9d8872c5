"""Jobs of a workload in simulated time, as the arbiter of the runtime runs them.

It takes the steps one by one and knows nothing of the analysis, whose judge it is: with jitter, with steps
that take less than their worst time, and under overload.
"""

from collections.abc import Callable, Sequence

from attrs import define, evolve, field

from target_arch.plan.workloads.answers import Job, Replayed
from target_arch.plan.workloads.tasks import TaskWork, TimedTask
from target_arch.plan.workloads.workload import Overload
from target_arch.stages.workloads.alone import JobClock

Release = tuple[int, int]
"""The times at which a job is due and released."""

Takes = Callable[[int, int, int], int]
"""The time of a step, of a task's number, the step's and its worst time."""


def worst_time(task: int, step: int, takes: int) -> int:
    """The time of a step that takes as long as it ever does."""
    return takes


def simulated(
    tasks: Sequence[TimedTask], releases: Sequence[Sequence[Release]], takes: Takes = worst_time
) -> Replayed:
    """The run of all these jobs: of each task in the order of release."""
    return _Arbiter(tasks, releases, takes).run()


@define
class _Active:
    """A job that was released and is not over: the next step, whether it had the chip, and its clock."""

    task: int
    number: int
    due: int
    released: int
    step: int = 0
    begun: bool = False
    clock: JobClock = field(factory=JobClock)


class _Arbiter:
    """The arbiter: the jobs of each task that are released and not over."""

    def __init__(
        self, tasks: Sequence[TimedTask], releases: Sequence[Sequence[Release]], takes: Takes
    ) -> None:
        self._tasks, self._takes = tasks, takes
        self._coming = sorted(
            (released, task, due) for task, times in enumerate(releases) for due, released in times
        )
        self._next = 0
        self._active: list[list[_Active]] = [[] for _ in tasks]
        self._jobs: list[Job] = []
        self._spans: list[tuple[int, int, int]] = []

    def run(self) -> Replayed:
        """Go on until every job is over or dropped."""
        now, current = self._coming[0][0] if self._coming else 0, None
        while True:
            self._release(now)
            chosen = self._most_urgent()
            if chosen is None:
                if self._next == len(self._coming):
                    break
                now, current = max(now, self._coming[self._next][0]), None
                continue
            if current is not None and chosen is not current:
                now = current.clock.over
                self._spans[-1] = (*self._spans[-1][:2], now)
                current = None
                continue
            if current is None:
                chosen.clock.now, chosen.begun = now, True
                self._spans.append((chosen.task, now, now))
            now, current = self._step(chosen)
        return self._replayed()

    def _release(self, now: int) -> None:
        while self._next < len(self._coming) and self._coming[self._next][0] <= now:
            released, task, due = self._coming[self._next]
            self._next += 1
            number, active = len(self._jobs), self._active[task]
            self._jobs.append(Job(task=task, due=due, released=released, end=None))
            timing = self._tasks[task].timing
            if len(active) >= timing.places:
                if timing.overload is not Overload.DROP_OLDEST:
                    continue
                del active[1 if active[0].begun else 0]
            active.append(_Active(task, number, due, released))

    def _most_urgent(self) -> _Active | None:
        first = (active[0] for active in self._active if active)
        return min(
            first,
            key=lambda job: (-self._tasks[job.task].timing.priority, not job.begun, job.released, job.task),
            default=None,
        )

    def _step(self, job: _Active) -> tuple[int, _Active | None]:
        """Execute a step, or wait until it can begin. Returns the time, and the job unless it is over."""
        steps = self._tasks[job.task].steps
        step = steps[job.step]
        begins = job.clock.begins(step)
        if begins > job.clock.now:
            job.clock.now = begins
            self._spans[-1] = (*self._spans[-1][:2], begins)
            return begins, job
        if isinstance(step, TaskWork):
            step = evolve(step, takes=self._takes(job.task, job.step, step.takes))
        job.clock.execute(step)
        job.step += 1
        if job.step < len(steps):
            self._spans[-1] = (*self._spans[-1][:2], job.clock.now)
            return job.clock.now, job
        end = job.clock.over
        self._release(end - 1)
        self._jobs[job.number] = evolve(self._jobs[job.number], end=end)
        self._active[job.task].pop(0)
        self._spans[-1] = (*self._spans[-1][:2], end)
        return end, None

    def _replayed(self) -> Replayed:
        ended = [job for job in self._jobs if job.end is not None]
        late = [job for job in ended if (job.end or 0) > job.due + self._tasks[job.task].timing.deadline]
        return Replayed(
            jobs=tuple(self._jobs),
            spans=tuple(self._spans),
            late=len(late),
            dropped=len(self._jobs) - len(ended),
        )


def periodic(task: TimedTask, until: int, jitter: Callable[[int], int] = lambda number: 0) -> list[Release]:
    """The jobs of a task that are due before a time, each released so much later as `jitter` says."""
    timing = task.timing
    due = range(timing.offset, until, timing.period)
    return sorted(((time, time + jitter(number)) for number, time in enumerate(due)), key=lambda one: one[1])
