"""The checker of jobs that run at once finds who does not wait, and times that a simulation contradicts."""

import pytest
from attrs import evolve

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


def said(*waits: set[int]) -> list[str]:
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
