"""The checker of jobs that run at once finds who does not wait, and times that a simulation contradicts."""

from collections.abc import Collection

import pytest
from attrs import evolve

from target_arch.plan.workloads.answers import Job, Replayed
from target_arch.plan.workloads.tasks import TaskWork, TimedTask
from target_arch.plan.workloads.workload import Timing
from target_arch.stages.check.waiting import check_responses, check_waits
from target_arch.stages.errors import CheckError
from target_arch.stages.workloads.response import analysis
from target_arch.stages.workloads.simulation import periodic, simulated
from target_arch.stages.workloads.waiting import waits_of

_MS = 10**9


def task(name: str, priority: int, *lines: str) -> TimedTask:
    timing = Timing(period=100 * _MS, deadline=100 * _MS, priority=priority)
    steps = tuple(TaskWork(takes=_MS, timeline=line) for line in lines)
    return TimedTask(name=name, timing=timing, steps=steps)


TASKS = [task("a", 3, "npu"), task("b", 2, "dma", "npu"), task("c", 1, "", "dma"), task("d", 1, "")]


def said(*waits: Collection[int]) -> list[str]:
    with pytest.raises(CheckError) as caught:
        check_waits(TASKS, waits)
    return str(caught.value).split("\n\n")


def test_what_the_planner_says_is_right() -> None:
    check_waits(TASKS, waits_of(TASKS))
    check_waits(TASKS, waits_of(TASKS, {0, 1}, linked=True))


def test_who_does_not_wait_is_found() -> None:
    assert said(set(), set(), {1, 3}, {2}) == [
        "model b: error: does not wait for `a`, and both take steps on `npu` [no-wait]"
    ]
    assert said(set(), {0}, {3}, {2}) == [
        "model c: error: does not wait for `b`, and both take steps on `dma` [no-wait]"
    ]
    assert said(set(), {0}, {1, 3}, set()) == [
        "model d: error: does not wait for `c`, and both have one priority [no-wait]"
    ]
    assert said({2}, {0}, {1}, {2}) == [
        "model c: error: does not wait for `d`, and both have one priority [no-wait]",
        "model a: error: waits for `c`, which is less urgent [no-wait]",
    ]
    assert said((3, 2), {0}, {1, 3}, {2}) == [
        f"model a: error: waits for `{name}`, which is less urgent [no-wait]" for name in "cd"
    ]


def test_the_second_model_waits_for_one_that_is_less_urgent() -> None:
    assert said(set(), {0, 3}, {1, 3}, {2}) == [
        "model b: error: waits for `d`, which is less urgent [no-wait]"
    ]


def test_a_group_is_reached_over_both_of_two_models() -> None:
    """`c` waits for `a` and for `b`, of which one waits for `d` and the other for `e`; these copy."""
    lines = {"d": ("dma",), "e": ("dma",), "a": ("npu",), "b": ("dsp",), "c": ("npu", "dsp")}
    tasks = [
        evolve(task(name, 9 - number, *lines[name]), channels=frozenset({"dma"}))
        for number, name in enumerate(lines)
    ]
    with pytest.raises(CheckError) as caught:
        check_waits(tasks, [set(), set(), {0}, {1}, {2, 3}])
    assert str(caught.value) == (
        "model e: error: does not wait for `d`, and both copy on `dma`, and are in the group of `c` [no-wait]"
    )


def test_copies_at_once_are_of_models_that_nobody_waits_for_both() -> None:
    first, second = task("a", 3, "", "npu", "dma"), task("b", 2, "", "dsp", "dma")
    third = task("c", 1, "npu", "dsp", "dma")
    tasks = [evolve(each, channels=frozenset({"dma"})) for each in (first, second, third)]
    check_waits(tasks[:2], [set(), set()])
    check_waits(tasks, waits_of(tasks))
    with pytest.raises(CheckError) as caught:
        check_waits(tasks, [set(), set(), {0, 1}])
    assert str(caught.value) == (
        "model b: error: does not wait for `a`, and both copy on `dma`, and are in the group of `c` [no-wait]"
    )
    for pair in ([first, tasks[1]], [tasks[0], second]):
        with pytest.raises(CheckError) as caught:
            check_waits(pair, [set(), set()])
        expected = "model b: error: does not wait for `a`, and both take steps on `dma` [no-wait]"
        assert str(caught.value) == expected


def test_a_response_that_a_simulation_contradicts_is_found() -> None:
    answer = analysis(TASKS)
    replayed = simulated(TASKS, [periodic(each, 200 * _MS) for each in TASKS], answer.waits)
    check_responses(TASKS, answer, replayed)
    short = evolve(answer.responses[2], worst=2 * _MS)
    wrong = evolve(answer, responses=(*answer.responses[:2], short, answer.responses[3]))
    with pytest.raises(CheckError) as caught:
        check_responses(TASKS, wrong, replayed)
    assert str(caught.value) == (
        "model c: error: a job takes 4000 us in the simulation, and 2000 us at most by the analysis "
        "[late-job]"
    )


def taken(worst: int | None, *times: int | None, of: int = 1) -> str:
    """What is said of the second of two tasks, where that is the worst, and its jobs, or the other's, took so
    long.
    """
    answer = analysis(TASKS[:2])
    one, other = answer.responses
    jobs = tuple(
        Job(task=of, due=7, released=7, end=None if time is None else 7 + time * 10**6) for time in times
    )
    worst = worst if worst is None else worst * 10**6
    wrong = evolve(answer, responses=(evolve(one, worst=None), evolve(other, worst=worst)))
    try:
        check_responses(TASKS[:2], wrong, Replayed(jobs=jobs, late=0, dropped=0))
    except CheckError as error:
        return str(error)
    return ""


def test_every_job_that_ended_is_asked_about() -> None:
    assert taken(2, 1, 2, None) == taken(0) == taken(0, None) == taken(None, 9) == ""
    assert taken(2, 1, 9, of=0) == ""
    late = "model b: error: a job takes {} us in the simulation, and {} us at most by the analysis [late-job]"
    assert taken(2, 1, 3, 2) == late.format(3, 2)
    assert taken(0, None, 1) == late.format(1, 0)
