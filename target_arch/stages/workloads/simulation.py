"""Jobs of a workload in simulated time, as the arbiter of the runtime runs them.

It takes the steps one by one and knows nothing of the analysis, whose judge it is: with jitter, with steps
that take less than their worst time, and under overload.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from attrs import define, evolve, field

from target_arch.plan.workloads.answers import Job, Replayed
from target_arch.plan.workloads.tasks import TaskStep, TaskWork, TimedTask
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
    tasks: Sequence[TimedTask],
    releases: Sequence[Sequence[Release]],
    waits: Sequence[Collection[int]],
    takes: Takes = worst_time,
    *,
    until_late: bool = False,
) -> Replayed:
    """The run of all these jobs, or until one is late: of each task in the order of release, and with no step
    while a job of one of those is open for which it waits.
    """
    return _Arbiter(tasks, releases, waits, takes).run(until_late)


@define
class _Active:
    """A job that was released and is not over: the next step, whether it has begun, and its clock."""

    task: int
    number: int
    due: int
    released: int
    step: int = 0
    begun: bool = False
    clock: JobClock = field(factory=JobClock)


class _Arbiter:
    """The arbiter: the jobs of each task that are released and not over, and when each timeline is free."""

    def __init__(
        self,
        tasks: Sequence[TimedTask],
        releases: Sequence[Sequence[Release]],
        waits: Sequence[Collection[int]],
        takes: Takes,
    ) -> None:
        self._tasks, self._waits, self._takes = tasks, [frozenset(each) for each in waits], takes
        self._levels = _by_priority(tasks)
        self._coming = sorted(
            (released, task, due) for task, times in enumerate(releases) for due, released in times
        )
        self._next = 0
        self._active: list[list[_Active]] = [[] for _ in tasks]
        self._jobs: list[Job] = []
        self._busy: list[list[tuple[int, int]]] = [[] for _ in tasks]
        self._free: dict[str, int] = {}
        self._late = 0

    def run(self, until_late: bool) -> Replayed:
        """Go on until every job is over or dropped, or one is late."""
        now = self._coming[0][0] if self._coming else 0
        while (self._next < len(self._coming) or any(self._active)) and not (until_late and self._late):
            self._release(now)
            wake = self._coming[self._next][0] if self._next < len(self._coming) else None
            for job in self._in_turn():
                begins = self._begins(job, now)
                if begins <= now:
                    now = self._go_on_until(wake, job, now)
                    break
                wake = begins if wake is None else min(wake, begins)
            else:
                assert wake is not None
                now = wake
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

    def _in_turn(self) -> Iterator[_Active]:
        """The first jobs of all tasks, the most urgent one first, but for those whose steps have to wait."""
        before = set[int]()
        for level in self._levels:
            there = [self._active[task][0] for task in level if self._active[task]]
            if len(there) > 1:
                there.sort(key=lambda job: (not job.begun, job.due, job.task))
            for job in there:
                over = job.step == len(self._tasks[job.task].steps)
                if over or self._waits[job.task].isdisjoint(before):
                    job.begun = True
                    yield job
                before.add(job.task)

    def _begins(self, job: _Active, now: int) -> int:
        """The time at which the host can do what is next of a job, or find it over."""
        steps = self._tasks[job.task].steps
        job.clock.now = now
        if job.step == len(steps):
            return job.clock.over
        step = steps[job.step]
        return max(job.clock.begins(step), self._free.get(step.timeline, now) if _occupies(step) else now)

    def _go_on_until(self, wake: int | None, job: _Active, now: int) -> int:
        """Do what is next of a job, as long as it need not wait, until a more urgent one may go on or one is
        released. Returns the time at which the host is free again.
        """
        active = self._active[job.task]
        now = self._go_on(job, now)
        while (wake is None or now < wake) and active and active[0] is job and self._begins(job, now) <= now:
            now = self._go_on(job, now)
        return now

    def _go_on(self, job: _Active, now: int) -> int:
        """Do what is next of a job. Returns the time at which the host is free again."""
        steps = self._tasks[job.task].steps
        if job.step == len(steps):
            return self._end(job, now)
        step = steps[job.step]
        if isinstance(step, TaskWork):
            takes = self._takes(job.task, job.step, step.takes)
            step = step if takes == step.takes else evolve(step, takes=takes)
        job.clock.execute(step)
        job.step += 1
        end = job.clock.now
        if _occupies(step):
            end = self._free[step.timeline] = job.clock.ends[step.timeline][-1]
        self._busy[job.task].append((now, end))
        over = job.step == len(steps) and job.clock.over == job.clock.now
        return self._end(job, job.clock.now) if over else job.clock.now

    def _end(self, job: _Active, now: int) -> int:
        """A job is over. Those that came before find that it was not."""
        self._release(now - 1)
        self._jobs[job.number] = evolve(self._jobs[job.number], end=now)
        self._active[job.task].pop(0)
        self._late += now > job.due + self._tasks[job.task].timing.deadline
        return now

    def _replayed(self) -> Replayed:
        ended = [job for job in self._jobs if job.end is not None]
        spans = [(start, task, end) for task, busy in enumerate(self._busy) for start, end in _joined(busy)]
        return Replayed(
            jobs=tuple(self._jobs),
            spans=tuple((task, start, end) for start, task, end in sorted(spans)),
            late=self._late,
            dropped=len(self._jobs) - len(ended),
        )


def _by_priority(tasks: Sequence[TimedTask]) -> list[list[int]]:
    """The tasks of each priority, by their numbers, the most urgent ones first."""
    levels = dict[int, list[int]]()
    for number, task in enumerate(tasks):
        levels.setdefault(task.timing.priority, []).append(number)
    return [levels[priority] for priority in sorted(levels, reverse=True)]


def _occupies(step: TaskStep) -> bool:
    return isinstance(step, TaskWork) and step.timeline != ""


def _joined(busy: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that touch or overlap as one; they are in the order of their starts."""
    if not busy:
        return
    start, end = busy[0]
    for begins, ends in busy[1:]:
        if begins > end:
            yield start, end
            start = begins
        end = max(end, ends)
    yield start, end


def periodic(task: TimedTask, until: int, jitter: Callable[[int], int] = lambda number: 0) -> list[Release]:
    """The jobs of a task that are due before a time, each released so much later as `jitter` says."""
    timing = task.timing
    due = range(timing.offset, until, timing.period)
    return sorted(((time, time + jitter(number)) for number, time in enumerate(due)), key=lambda one: one[1])
