"""Tables of times: right ones, refused ones, and faults that the checker finds."""

from collections.abc import Callable
from random import Random

import pytest
from attrs import evolve

from conformance.tasks import random_steps
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.printed.workloads import time_table
from target_arch.plan.workloads.answers import TableSlot, TimeTable
from target_arch.plan.workloads.tasks import TaskWork, TimedTask
from target_arch.plan.workloads.workload import MICROSECOND, Timing
from target_arch.stages.check.table import check_table
from target_arch.stages.workloads.table import hyperperiod, jobs_of_table, tabled

_MS = 10**9


def task(name: str, period: int, *milliseconds: float, offset: int = 0) -> TimedTask:
    timing = Timing(period=period * _MS, deadline=period * _MS, offset=offset * _MS)
    return TimedTask(
        name=name, timing=timing, steps=tuple(TaskWork(takes=int(each * _MS)) for each in milliseconds)
    )


def two() -> list[TimedTask]:
    return [task("vww", 20, 2, 5, 2), task("kws", 10, 1, 1.0000004, offset=1)]


def table_of(tasks: list[TimedTask]) -> TimeTable:
    table = tabled(tasks).table
    assert table is not None
    return table


def test_a_table(golden: Callable[[str, str], None]) -> None:
    tasks = two()
    made = tabled(tasks)
    assert (hyperperiod(tasks), jobs_of_table(tasks), made.schedulable) == (20 * _MS, 3, True)
    check_table(tasks, table_of(tasks))
    golden("table", time_table(table_of(tasks), ("vww", "kws")))


def test_a_job_that_is_not_over_in_the_hyperperiod() -> None:
    made = tabled([task("late", 10, 5, offset=6)])
    assert [each.worst for each in made.responses] == [None]
    assert not made.schedulable


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_are_right(seed: int) -> None:
    random = Random(seed)
    tasks = [
        TimedTask(
            name=f"t{number}",
            timing=Timing(period=period * _MS, deadline=period * _MS, jitter=random.choice((0, MICROSECOND))),
            steps=random_steps(random, int(period * _MS * 0.15), ["a", "b"]),
        )
        for number, period in enumerate(random.choices((5, 10, 20, 25, 50), k=4))
    ]
    made = tabled(tasks)
    if made.schedulable and made.table is not None:
        check_table(tasks, made.table)
        assert all(slot.start % MICROSECOND == 0 for slot in made.table.slots)


def faults(table: TimeTable) -> str:
    with pytest.raises(DiagnosticError) as caught:
        check_table(two(), table)
    return str(caught.value)


def changed(number: int, **changes: int) -> TimeTable:
    table = table_of(two())
    slots = list(table.slots)
    slots[number] = evolve(slots[number], **changes)
    return evolve(table, slots=tuple(slots))


def test_faults_of_a_table_are_found() -> None:
    right = table_of(two())
    first = right.slots[0]
    assert faults(changed(0, end=first.end - 1)) == ("slot 0: error: is too short for its steps [bad-table]")
    assert "slot 1: error: begins before the slot before it has ended [bad-table]" in faults(
        changed(0, end=right.slots[1].start + 1)
    )
    assert "model vww: error: the job of 0 s does not have each step once [bad-table]" in faults(
        changed(0, past=first.past + 1)
    )
    assert "slot 1: error: begins before its job is released [bad-table]" in faults(
        changed(1, start=right.slots[1].due - 1)
    )
    last = right.slots[-1]
    assert faults(changed(len(right.slots) - 1, end=right.hyperperiod + 2 * _MS, start=last.start)) == (
        f"slot {len(right.slots) - 1}: error: ends after the hyperperiod [bad-table]\n\n"
        f"slot {len(right.slots) - 1}: error: ends after the deadline of its job [bad-table]"
    )
    assert TableSlot(task=0, start=0, end=1, due=0, first=0, past=1) not in right.slots
