"""The checker of a table of times. It believes nothing of the table, and shares no code with what made it."""

from collections.abc import Iterator, Sequence

from target_arch.diagnostics import Diagnostic
from target_arch.plan.workloads.answers import TimeTable
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TimedTask
from target_arch.plan.workloads.workload import Timing
from target_arch.stages.errors import CheckError


def check_table(tasks: Sequence[TimedTask], table: TimeTable) -> None:
    """Raises CheckError with every fault: a hyperperiod that is not one of all tasks, a slot of no job, two
    slots at once, a slot that is too short for its steps, steps that are left out or come before those before
    them, a job that begins before it is released, ends after its deadline or the hyperperiod, or that is not
    there.
    """
    faults = [*_periods(tasks, table)] or [*_known(tasks, table)]
    faults = faults or [*_apart(table), *_long_enough(tasks, table), *_whole_jobs(tasks, table)]
    if faults:
        raise CheckError(tuple(faults))


def _periods(tasks: Sequence[TimedTask], table: TimeTable) -> Iterator[Diagnostic]:
    for task in tasks:
        if table.hyperperiod <= 0 or table.hyperperiod % task.timing.period:
            said = f"the table of {table.hyperperiod / 1e12:.9g} s does not come again with its period"
            yield Diagnostic(rule="bad-table", place=f"model {task.name}", message=said)


def _known(tasks: Sequence[TimedTask], table: TimeTable) -> Iterator[Diagnostic]:
    """Slots of jobs that are not due in the hyperperiod."""
    for number, slot in enumerate(table.slots):
        timing = tasks[slot.task].timing if 0 <= slot.task < len(tasks) else None
        if timing is None or slot.due not in _due(timing, table):
            yield _fault(number, "is of a job that is not there")


def _due(timing: Timing, table: TimeTable) -> range:
    return range(timing.offset, timing.offset + table.hyperperiod, timing.period)


def _apart(table: TimeTable) -> Iterator[Diagnostic]:
    end = 0
    for number, slot in enumerate(table.slots):
        if slot.start < end:
            yield _fault(number, "begins before the slot before it has ended")
        end = max(end, slot.end)
    if end > table.hyperperiod:
        yield _fault(len(table.slots) - 1, "ends after the hyperperiod")


def _long_enough(tasks: Sequence[TimedTask], table: TimeTable) -> Iterator[Diagnostic]:
    done: dict[tuple[int, int], dict[str, int]] = {}
    for number, slot in enumerate(table.slots):
        before = done.setdefault((slot.task, slot.due), {})
        steps = tasks[slot.task].steps[slot.first : slot.past]
        if slot.start + _takes(steps, before) > slot.end:
            yield _fault(number, "is too short for its steps")


def _takes(steps: Sequence[TaskStep], before: dict[str, int]) -> int:
    """The time of steps with nothing in flight before, each on a timeline after all others there; `before`
    are by timeline the steps of the job so far, and these are added.
    """
    now, ends = 0, dict[tuple[str, int], int]()
    free: dict[str, int] = {}
    for step in steps:
        if isinstance(step, TaskWait):
            now = max(now, ends.get((step.timeline, step.value), 0)) + step.host
        elif step.timeline == "":
            now += step.takes + step.host
        else:
            now = max(now, free.get(step.timeline, 0)) + step.host
            before[step.timeline] = before.get(step.timeline, 0) + 1
            free[step.timeline] = ends[step.timeline, before[step.timeline]] = now + step.takes
    return max([now, *free.values()])


def _whole_jobs(tasks: Sequence[TimedTask], table: TimeTable) -> Iterator[Diagnostic]:
    for number, task in enumerate(tasks):
        timing = task.timing
        for due in _due(timing, table):
            own = [
                (at, slot) for at, slot in enumerate(table.slots) if (slot.task, slot.due) == (number, due)
            ]
            if [slot.first for _, slot in own] + [len(task.steps)] != [0] + [slot.past for _, slot in own]:
                said = f"the job of {due / 1e12:.9g} s does not have each step once"
                yield Diagnostic(rule="bad-table", place=f"model {task.name}", message=said)
                continue
            if own[0][1].start < due + timing.jitter:
                yield _fault(own[0][0], "begins before its job is released")
            if own[-1][1].end > due + timing.deadline:
                yield _fault(own[-1][0], "ends after the deadline of its job")


def _fault(number: int, message: str) -> Diagnostic:
    return Diagnostic(rule="bad-table", place=f"slot {number}", message=message)
