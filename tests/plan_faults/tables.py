"""Random right tables of time-triggered workloads, the kinds of faults of their slots, and whether every job
is there, whole and in time when the table is run through more than once.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from attrs import define, evolve, field, frozen

from conformance.tasks import random_steps
from target_arch.plan.workloads.answers import TableSlot, TimeTable
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TimedTask
from target_arch.plan.workloads.workload import Timing
from target_arch.stages.check.table import check_table
from target_arch.stages.errors import CheckError
from target_arch.stages.workloads.table import hyperperiod, tabled
from tests.plan_faults.execution import NoRun

Fault = Callable[[Random, TimeTable], TimeTable | None]

_MILLISECOND = 10**9


@frozen(kw_only=True)
class RightTable:
    """A table that the checker accepts, and its tasks."""

    tasks: tuple[TimedTask, ...]
    right: TimeTable

    @property
    def kinds(self) -> Mapping[str, Fault]:
        """Those of slots and of the time after which they come again."""
        return TABLE_FAULTS

    def accepts(self, changed: TimeTable) -> bool:
        """True where a compilation would end with this table."""
        try:
            check_table(self.tasks, changed)
        except CheckError:
            return False
        return True

    def outcomes(self, changed: TimeTable, seed: int) -> str:
        """That all jobs are right, which no table can say better. NoRun where one is not."""
        if changed.hyperperiod <= 0:
            raise NoRun("no time")
        rounds = 1 + -(-2 * hyperperiod(self.tasks) // changed.hyperperiod)
        chip = _Chip(self.tasks)
        for turn in range(rounds):
            for slot in changed.slots:
                chip.slot(slot, turn * changed.hyperperiod)
        for number, task in enumerate(self.tasks):
            timing = task.timing
            for due in range(timing.offset, 2 * hyperperiod(self.tasks), timing.period):
                job = chip.jobs.get((number, due))
                if job is None or job.done != len(task.steps) or job.over > due + timing.deadline:
                    raise NoRun(f"{task.name}, due at {due}")
        return "every job is right"


@define
class _Job:
    done: int = 0
    over: int = 0
    ends: dict[str, list[int]] = field(factory=dict)


@define
class _Chip:
    """A host and devices that take the longest. NoRun where something is not as a table has it."""

    tasks: Sequence[TimedTask]
    jobs: dict[tuple[int, int], _Job] = field(factory=dict)
    _now: int = 0

    def slot(self, slot: TableSlot, since: int) -> None:
        """The steps of a slot, begun when it says and over when it says."""
        start, due = since + slot.start, since + slot.due
        timing = self.tasks[slot.task].timing
        if start < self._now or start < due + timing.jitter or (due - timing.offset) % timing.period:
            raise NoRun(f"{slot} begins at {start}")
        job = self.jobs.setdefault((slot.task, due), _Job())
        if slot.first != job.done or not slot.first < slot.past <= len(self.tasks[slot.task].steps):
            raise NoRun(f"{slot} begins with another step")
        self._now = start
        for step in self.tasks[slot.task].steps[slot.first : slot.past]:
            self._step(job, step)
        over = max((self._now, *(end for line in job.ends.values() for end in line)))
        if over > since + slot.end:
            raise NoRun(f"{slot} is over at {over}")
        self._now = since + slot.end
        job.done, job.over = slot.past, over

    def _step(self, job: _Job, step: TaskStep) -> None:
        line = job.ends.setdefault(step.timeline, [])
        if isinstance(step, TaskWait):
            if step.value > len(line):
                raise NoRun(str(step))
            self._now = max(self._now, line[step.value - 1]) + step.host
        elif step.timeline:
            self._now = max((self._now, *line)) + step.host
            line.append(self._now + step.takes)
        else:
            self._now += step.host + step.takes


def tables(number: int) -> RightTable | None:
    """The table of that number; None where a job would be late."""
    random = Random(number)
    lines = [f"instance{each}" for each in range(random.randint(0, 3))]
    tasks = []
    for each in range(random.choice((2, 2, 3, 4))):
        period = random.choice((4, 8, 8, 12)) * _MILLISECOND
        cost = int(period * random.uniform(0.05, 0.3))
        timing = Timing(
            period=period,
            deadline=int(period * random.choice((1, 0.8))),
            offset=random.choice((0, 0, period // 4)),
            jitter=random.choice((0, 0, period // 20)),
        )
        tasks.append(TimedTask(name=f"task{each}", timing=timing, steps=random_steps(random, cost, lines)))
    found = tabled(tasks)
    return RightTable(tasks=tuple(tasks), right=found.table) if found.schedulable and found.table else None


# The kinds.


def _slot(change: Callable[[Random, TimeTable, TableSlot], TableSlot | None]) -> Fault:
    """A slot in place of one of the slots."""

    def planted(random: Random, table: TimeTable) -> TimeTable | None:
        slots = list(table.slots)
        number = random.randrange(len(slots))
        changed = change(random, table, slots[number])
        if changed is None:
            return None
        slots[number] = changed
        return evolve(table, slots=tuple(slots))

    return planted


def _later(name: str) -> Fault:
    """A slot with an end or a start, or both, at another time."""

    def change(random: Random, table: TimeTable, slot: TableSlot) -> TableSlot:
        by = random.choice((-1, 1)) * random.choice((1, 1000, 10**6, 10**7, _MILLISECOND, 4 * _MILLISECOND))
        times = {key: getattr(slot, key) + by for key in name.split()}
        return evolve(slot, **times)

    return _slot(change)


def _of_another(name: str) -> Fault:
    """A slot with a fact of another one."""

    def change(random: Random, table: TimeTable, slot: TableSlot) -> TableSlot:
        other = random.choice(table.slots)
        return evolve(slot, **{key: getattr(other, key) for key in name.split()})

    return _slot(change)


def _steps(random: Random, table: TimeTable, slot: TableSlot) -> TableSlot:
    key = random.choice(("first", "past"))
    return evolve(slot, **{key: max(getattr(slot, key) + random.choice((-1, 1)), 0)})


def _divided(random: Random, table: TimeTable) -> TimeTable | None:
    """A slot in two, the second of which begins when the first is over, as somebody guessed it."""
    number = random.randrange(len(table.slots))
    slot = table.slots[number]
    if slot.past - slot.first < 2:
        return None
    middle = random.randrange(slot.first + 1, slot.past)
    time = slot.start + int((slot.end - slot.start) * random.random())
    parts = (evolve(slot, past=middle, end=time), evolve(slot, first=middle, start=time))
    return evolve(table, slots=(*table.slots[:number], *parts, *table.slots[number + 1 :]))


def _left_out(random: Random, table: TimeTable) -> TimeTable:
    number = random.randrange(len(table.slots))
    return evolve(table, slots=(*table.slots[:number], *table.slots[number + 1 :]))


def _again(random: Random, table: TimeTable) -> TimeTable:
    """A slot a second time, somewhere in the table, where it may have time."""
    slot, number = random.choice(table.slots), random.randrange(len(table.slots) + 1)
    start = table.slots[number - 1].end if number else 0
    due = random.choice((slot.due, slot.due + table.hyperperiod, -1, start))
    again = evolve(slot, start=start, end=start + slot.end - slot.start, due=due)
    return evolve(table, slots=(*table.slots[:number], again, *table.slots[number:]))


def _exchanged(random: Random, table: TimeTable) -> TimeTable:
    """Two slots in each other's place of the list, with their times or without."""
    slots = list(table.slots)
    one, other = random.randrange(len(slots)), random.randrange(len(slots))
    first, second = slots[one], slots[other]
    if random.random() < 0.5:
        first, second = (
            evolve(first, start=second.start, end=second.end),
            evolve(second, start=first.start, end=first.end),
        )
    slots[one], slots[other] = second, first
    return evolve(table, slots=tuple(slots))


def _period(random: Random, table: TimeTable) -> TimeTable:
    last = max(slot.end for slot in table.slots)
    chosen = random.choice(
        (last, table.hyperperiod // 2, 2 * table.hyperperiod, table.hyperperiod - 1, table.hyperperiod + 1, 0)
    )
    return evolve(table, hyperperiod=chosen)


TABLE_FAULTS: dict[str, Fault] = {
    "a slot at another time": _later("start end"),
    "a slot that begins at another time": _later("start"),
    "a slot that ends at another time": _later("end"),
    "a slot of another task": _of_another("task"),
    "a slot of another job": _of_another("due"),
    "a slot of another task's job": _of_another("task due"),
    "a slot with the steps of another": _of_another("first past"),
    "a slot at the time of another": _of_another("start end"),
    "a slot with other steps": _slot(_steps),
    "a slot in two": _divided,
    "a slot left out": _left_out,
    "a slot again": _again,
    "slots exchanged": _exchanged,
    "another hyperperiod": _period,
}
