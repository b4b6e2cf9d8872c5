"""Random tasks, and a judge that tries to make one of their jobs late.

The judge simulates worst times: for each task the release of all that are as urgent or more at once, just
after the longest step of one that is less urgent began, and random offsets. It knows the analysis only as the
length of the busy period that it looks at.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from random import Random

from attrs import evolve

from target_arch.plan.workloads.answers import Analysis
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import Overload, Timing
from target_arch.stages.workloads.alone import JobClock
from target_arch.stages.workloads.simulation import Release, periodic, simulated
from target_arch.stages.workloads.waiting import group_of

_MILLISECOND = 10**9


def random_tasks(random: Random) -> list[TimedTask]:
    """Two to ten tasks on a host and up to six instances or channels, busy for 30 to 100 % of the time, with
    periods from 5 to 500 ms. One in ten has the priority of another, which else go by deadlines.
    """
    lines = [f"instance{number}" for number in range(random.randint(0, 6))]
    return _tasks(random, random.randint(2, 10), random.uniform(0.3, 1.0), lambda: lines)


def tasks_of_few(random: Random) -> list[TimedTask]:
    """As `random_tasks`, but each on one or two of up to six instances or channels, and so many at once: busy
    for 30 to 200 % of the time if they ran in turn.
    """
    lines = [f"instance{number}" for number in range(random.randint(2, 6))]
    return _tasks(
        random,
        random.randint(2, 10),
        random.uniform(0.3, 2.0),
        lambda: random.sample(lines, random.choice((1, 1, 2))),
        0.1,
    )


def tasks_that_copy(random: Random) -> list[TimedTask]:
    """As `tasks_of_few`, but each on one device, and on one of one or two DMA channels, where a step takes a
    fifth as long.
    """
    devices = [f"instance{number}" for number in range(random.randint(2, 6))]
    channels = [f"channel{number}" for number in range(random.randint(1, 2))]
    made = _tasks(
        random,
        random.randint(2, 10),
        random.uniform(0.3, 2.0),
        lambda: [random.choice(devices), random.choice(channels)],
        0.1,
    )
    return [
        evolve(
            task,
            steps=tuple(_shorter(step) if step.timeline in channels else step for step in task.steps),
            channels=task.timelines.intersection(channels),
        )
        for task in made
    ]


def _shorter(step: TaskStep) -> TaskStep:
    return evolve(step, takes=max(1, step.takes // 5)) if isinstance(step, TaskWork) else step


def _tasks(
    random: Random, count: int, load: float, lines: Callable[[], Sequence[str]], hosted: float = 1.0
) -> list[TimedTask]:
    shares = [random.random() for _ in range(count)]
    drafts = []
    for share in shares:
        period = int(_MILLISECOND * 10 ** random.uniform(0.7, 2.7))
        cost = max(1000, int(period * load * share / sum(shares)))
        part = random.uniform(0.6, 1) if random.random() < 0.5 else 1
        drafts.append((max(int(part * period), cost), period, cost))
    tasks = list[TimedTask]()
    for number, (deadline, period, cost) in enumerate(sorted(drafts)):
        priority = tasks[-1].timing.priority if tasks and random.random() < 0.1 else count - number
        jitter = int(random.choice((0, 0, 0.05, 0.1)) * period)
        overload = Overload.QUEUE if deadline > period else Overload.SKIP  # as workload files must have it
        timing = Timing(period=period, deadline=deadline, jitter=jitter, priority=priority, overload=overload)
        tasks.append(
            TimedTask(name=f"task{number}", timing=timing, steps=random_steps(random, cost, lines(), hosted))
        )
    return tasks


def random_steps(
    random: Random, cost: int, lines: Sequence[str], hosted: float = 1.0
) -> tuple[TaskStep, ...]:
    """Steps on the host and on timelines, that take so long together; those of the host so much shorter.

    In half of the cases each step has host time of its own, up to a tenth of what steps take in the mean.
    """
    steps, counts = list[TaskStep](), Counter[str]()
    parts = [random.random() ** 2 + 0.02 for _ in range(random.randint(1, 12))]
    host = int(cost / len(parts) * random.choice((0, random.uniform(0, 0.1))))
    for part in parts:
        where = random.choice(["", *lines])
        takes = max(1, int(cost * part / sum(parts) * (1 if where else hosted)) - host)
        steps.append(TaskWork(takes=takes, timeline=where, host=host))
        if where:
            counts[where] += 1
            if random.random() < 0.7:
                steps.append(TaskWait(timeline=where, value=counts[where], host=host))
    return tuple(steps)


def broken(tasks: Sequence[TimedTask], answer: Analysis, random: Random, tries: int) -> bool:
    """Whether a job was late in the simulation with worst times."""
    return any(
        simulated(tasks, releases, answer.waits, until_late=True).late
        for releases in _tried(tasks, answer, random, tries)
    )


def beyond(tasks: Sequence[TimedTask], answer: Analysis, random: Random, tries: int) -> bool:
    """Whether a job of an accepted set took longer than the worst response of its task in the simulation with
    worst times, which is stricter than its deadline.
    """
    return any(
        job.end is None or job.end - job.due > (answer.responses[job.task].worst or 0)
        for releases in _tried(tasks, answer, random, tries)
        for job in simulated(tasks, releases, answer.waits).jobs
    )


def _tried(
    tasks: Sequence[TimedTask], answer: Analysis, random: Random, tries: int
) -> Iterator[list[list[Release]]]:
    yield from phasings(tasks, answer, random)
    yield from (_random(tasks, random) for _ in range(tries))


def late_with_less(tasks: Sequence[TimedTask], answer: Analysis, random: Random) -> bool:
    """Whether a job was late where steps took less than their worst time."""

    def takes(task: int, step: int, worst: int) -> int:
        return int(worst * random.uniform(0.2, 1))

    return simulated(tasks, _random(tasks, random), answer.waits, takes).late > 0


def _random(tasks: Sequence[TimedTask], random: Random) -> list[list[Release]]:
    until = 5 * max(task.timing.period for task in tasks)
    moved = (
        evolve(task, timing=evolve(task.timing, offset=random.randrange(task.timing.period)))
        for task in tasks
    )
    return [
        periodic(task, until, lambda _, most=task.timing.jitter: random.randint(0, most)) for task in moved
    ]


def phasings(tasks: Sequence[TimedTask], answer: Analysis, random: Random) -> Iterator[list[list[Release]]]:
    """Releases that are likely the worst for some task: all that are as urgent or more come at once, late by
    their whole jitter, just after the longest step of one that is less urgent began; or itself just after
    others of its urgency, which go first then. Each also with jobs of all that are less urgent.

    As many jobs of each follow as may come in one busy period.
    """
    for number, task in enumerate(tasks):
        worst = answer.responses[number].worst or 4 * _longest(tasks)
        level, blocker, step = task.timing.priority, *_blocker(tasks, answer, number)
        for first in (False, True):
            found = list[list[Release]]()
            for other, each in enumerate(tasks):
                if each.timing.priority >= level:
                    last = first and other == number
                    late = 0 if last else each.timing.jitter
                    found.append(_from(int(last), each, _longest(tasks) + worst, late))
                else:
                    found.append([_begun_before(each, step)] if other == blocker else [])
            yield found
            yield [
                each
                if tasks[other].timing.priority >= level or other == blocker
                else _before(tasks[other], random)
                for other, each in enumerate(found)
            ]


def _longest(tasks: Sequence[TimedTask]) -> int:
    return max(each.timing.period + each.timing.jitter for each in tasks)


def _blocker(tasks: Sequence[TimedTask], answer: Analysis, number: int) -> tuple[int | None, int]:
    """The less urgent task with the longest step that keeps the group of one from the host or its timelines,
    and that step.
    """
    lines = frozenset[str]().union(*(tasks[one].timelines for one in group_of(answer.waits, number)))
    level = tasks[number].timing.priority
    lower = [(*_blocks(each, lines), k) for k, each in enumerate(tasks) if each.timing.priority < level]
    _, step, blocker = max(lower, default=(0, 0, None))
    return blocker, step


def _blocks(task: TimedTask, lines: Collection[str]) -> tuple[int, int]:
    """The longest step that keeps others from the host or these timelines, and its number."""
    return max(
        (
            (step.host + (step.takes if isinstance(step, TaskWork) else 0), number)
            for number, step in enumerate(task.steps)
            if isinstance(step, TaskWork) and (not step.timeline or step.timeline in lines)
        ),
        default=(0, 0),
    )


def _from(start: int, task: TimedTask, window: int, jitter: int) -> list[Release]:
    """Jobs of which the first comes at a start, late by so much, and the others as soon as they may."""
    return [(due, max(due, start)) for due in range(start - jitter, window, task.timing.period)]


def _before(task: TimedTask, random: Random) -> list[Release]:
    """A job at some time of the last period."""
    due = -random.randrange(task.timing.period)
    return [(due, due)]


def _begun_before(task: TimedTask, step: int) -> Release:
    """The release with which a step of a job begins just before 0, if nothing else runs."""
    clock = JobClock()
    for before in task.steps[:step]:
        clock.execute(before)
    return -clock.now - 1, -clock.now - 1
