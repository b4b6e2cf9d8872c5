"""Tables of times: right ones, refused ones, and faults that the checker finds."""

from collections.abc import Callable
from random import Random

import pytest
from attrs import evolve

from conformance.tasks import random_steps
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.printed.workloads import time_table
from target_arch.plan.workloads.answers import TableSlot, TimeTable
from target_arch.plan.workloads.tasks import TaskWait, TaskWork, TimedTask
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


ON_TIMELINES = (
    (TaskWork(takes=10, timeline="a", host=1), 11),
    (TaskWork(takes=5, timeline="a", host=2), 18),
    (TaskWork(takes=30, timeline="b", host=1), 44),
    (TaskWait(timeline="a", value=1, host=1), 44),
    (TaskWork(takes=2, host=1), 44),
    (TaskWait(timeline="a", value=2, host=1), 44),
    (TaskWait(timeline="b", value=1, host=1), 45),
    (TaskWork(takes=3, timeline="a", host=1), 49),
    (TaskWait(timeline="a", value=3, host=1), 50),
    (TaskWork(takes=2, host=1), 53),
)
"""Steps, each with the time that those up to it take."""


def said(slots: list[TableSlot], count: int = len(ON_TIMELINES), **timing: int) -> str:
    """What is said of slots for the first of these steps, with a period of 100."""
    steps = tuple(step for step, _ in ON_TIMELINES[:count])
    timed = Timing(**{"period": 100, "deadline": 100, **timing})
    try:
        check_table(
            [TimedTask(name="m", timing=timed, steps=steps)],
            TimeTable(hyperperiod=100, slots=tuple(slots)),
        )
    except DiagnosticError as error:
        return str(error)
    return ""


def slot(start: int, end: int, first: int = 0, past: int = len(ON_TIMELINES), due: int = 0) -> TableSlot:
    return TableSlot(task=0, start=start, end=end, due=due, first=first, past=past)


SHORT = "error: is too short for its steps [bad-table]"


@pytest.mark.parametrize("count", range(1, len(ON_TIMELINES) + 1))
def test_a_slot_lasts_until_its_last_step_is_over(count: int) -> None:
    time = ON_TIMELINES[count - 1][1]
    assert said([slot(0, time, past=count)], count) == ""
    assert said([slot(7, time + 7, past=count)], count) == ""
    assert said([slot(7, time + 6, past=count)], count) == f"slot 0: {SHORT}"


def test_a_slot_that_goes_on_finds_nothing_in_flight() -> None:
    """Steps 3 to 9 alone: `a` has had two steps in the slot before."""
    assert said([slot(0, 44, past=3), slot(44, 58, 3)]) == ""
    assert said([slot(0, 44, past=3), slot(44, 57, 3)]) == f"slot 1: {SHORT}"


def test_a_slot_may_touch_what_limits_it() -> None:
    assert said([slot(3, 56)], jitter=3) == ""
    assert said([slot(2, 56)], jitter=3) == "slot 0: error: begins before its job is released [bad-table]"
    assert said([slot(0, 60)], deadline=60) == ""
    late = "slot 0: error: ends after the deadline of its job [bad-table]"
    assert said([slot(0, 61)], deadline=60) == late
    assert said([slot(47, 100)]) == ""
    assert said([slot(30, 90, due=20)], offset=20) == ""
    again = [slot(30, 90, past=9, due=20), slot(89, 95, 9, due=20)]
    assert said(again, offset=20) == "slot 1: error: begins before the slot before it has ended [bad-table]"


@pytest.mark.parametrize("unknown", [{"due": 120}, {"due": 21}, {"due": -80}, {"task": 1}, {"task": -1}])
def test_a_slot_of_no_job(unknown: dict[str, int]) -> None:
    """The runtime would begin a job that is not due, or none."""
    slots = [slot(30, 83, due=20), evolve(slot(83, 99, 9, due=20), **unknown)]
    assert said(slots, offset=20) == "slot 1: error: is of a job that is not there [bad-table]"


@pytest.mark.parametrize("hyperperiod", [-100, 0, 60, 99, 150])
def test_a_hyperperiod_that_is_not_one_of_the_task(hyperperiod: int) -> None:
    steps = (TaskWork(takes=9),)
    tasks = [TimedTask(name="m", timing=Timing(period=100, deadline=100), steps=steps)]
    with pytest.raises(DiagnosticError) as caught:
        check_table(tasks, TimeTable(hyperperiod=hyperperiod, slots=(slot(0, 9, past=1),)))
    whole = f"{hyperperiod / 1e12:.9g} s"
    assert str(caught.value) == (
        f"model m: error: the table of {whole} does not come again with its period [bad-table]"
    )


def test_a_hyperperiod_that_is_not_one_of_the_second_task() -> None:
    """Each task that it does not fit is named, and the others are not."""
    timings = {"a": 50, "b": 30, "c": 100, "d": 70}
    steps = (TaskWork(takes=9),)
    tasks = [
        TimedTask(name=name, timing=Timing(period=period, deadline=period), steps=steps)
        for name, period in timings.items()
    ]
    with pytest.raises(DiagnosticError) as caught:
        check_table(tasks, TimeTable(hyperperiod=100, slots=(slot(0, 9, past=1),)))
    assert [line.split(":")[0] for line in str(caught.value).splitlines() if line] == ["model b", "model d"]


def test_the_shortest_hyperperiod() -> None:
    timed = TimedTask(name="m", timing=Timing(period=1, deadline=1), steps=(TaskWork(takes=1),))
    check_table([timed], TimeTable(hyperperiod=1, slots=(slot(0, 1, past=1),)))


def test_a_job_that_is_not_there_at_all() -> None:
    missing = "model m: error: the job of {} s does not have each step once [bad-table]"
    assert said([]) == missing.format("0")
    assert said([], offset=250) == missing.format("2.5e-10")


def test_a_job_whose_steps_are_in_no_order() -> None:
    """One after the other in time, and a later one among the first."""
    missing = "model m: error: the job of 0 s does not have each step once [bad-table]"
    assert said([slot(0, 60, 0, 9), slot(60, 99, 8, 10)]) == missing
    assert said([slot(0, 60, 0, 8), slot(60, 99, 9, 10)]) == missing


def test_of_a_job_in_two_slots_the_last_one_is_late_and_the_first_one_early() -> None:
    late = "slot 1: error: ends after the deadline of its job [bad-table]"
    assert said([slot(0, 44, past=3), slot(44, 61, 3)], deadline=60) == late
    assert said([slot(0, 44, past=3), slot(44, 60, 3)], deadline=60) == ""
    early = "slot 0: error: begins before its job is released [bad-table]"
    assert said([slot(2, 46, past=3), slot(46, 62, 3)], jitter=3) == early
