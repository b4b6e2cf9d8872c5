"""Response times: hand-made tasks against the textbook, and random ones against the simulation."""

from collections.abc import Callable
from random import Random

import pytest
from attrs import evolve

from conformance.tasks import beyond, late_with_less, random_tasks, tasks_of_few, tasks_that_copy
from target_arch.plan.printed.workloads import response_times
from target_arch.plan.workloads.answers import Change
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import Timing
from target_arch.stages.check.waiting import check_waits
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.choice import chosen
from target_arch.stages.workloads.remedies import advised
from target_arch.stages.workloads.response import _Member, analysis
from target_arch.stages.workloads.simulation import simulated
from target_arch.stages.workloads.waiting import group_of, waits_of
from tests.slow import slow_except

_MS = 10**9


def task(
    name: str, period: int, priority: int, *steps: TaskStep, deadline: int = 0, jitter: int = 0
) -> TimedTask:
    timing = Timing(
        period=period * _MS, deadline=(deadline or period) * _MS, jitter=jitter * _MS, priority=priority
    )
    return TimedTask(name=name, timing=timing, steps=steps)


def host(*milliseconds: int) -> tuple[TaskWork, ...]:
    return tuple(TaskWork(takes=each * _MS) for each in milliseconds)


def worst(*tasks: TimedTask) -> list[float | None]:
    return [None if each.worst is None else each.worst / _MS for each in analysis(tasks).responses]


def test_preemptive_tasks_of_small_steps() -> None:
    """Periods 7, 12, 20 and costs 3, 3, 5: 3, 6 and 20 in the literature; steps of 1 add a blocking of 1."""
    ones = [host(*[1] * count) for count in (3, 3, 5)]
    tasks = [task(f"t{n}", period, 3 - n, *ones[n]) for n, period in enumerate((7, 12, 20))]
    assert worst(*tasks) == [4.0, 7.0, 20.0]


def test_the_longest_step_of_a_less_urgent_task_blocks() -> None:
    assert worst(task("a", 10, 2, *host(2)), task("b", 50, 1, *host(1, 6, 2))) == [8.0, 11.0]


def npu(*milliseconds: int) -> tuple[TaskStep, ...]:
    return waited("npu", *milliseconds)


def dsp(*milliseconds: int) -> tuple[TaskStep, ...]:
    return waited("dsp", *milliseconds)


def waited(line: str, *milliseconds: int) -> tuple[TaskStep, ...]:
    work = (TaskWork(takes=each * _MS, timeline=line) for each in milliseconds)
    return tuple(s for at, each in enumerate(work) for s in (each, TaskWait(timeline=line, value=at + 1)))


def test_what_is_in_flight_on_the_same_device_blocks_too() -> None:
    """The step of 5, and while that is in flight, the one of 1 on the host that could be over meanwhile."""
    flying = (TaskWork(takes=5 * _MS, timeline="npu"), *host(1), TaskWait(timeline="npu", value=1))
    below = task("b", 50, 1, *flying)
    assert worst(task("a", 20, 2, *npu(2)), below) == [7.0, 8.0]
    times = task_times(below)
    assert (times.cost, times.longest, times.loss, times.losses) == (5 * _MS, 5 * _MS, _MS, (_MS,))
    assert (times.flights, times.hosted, times.hosted_steps) == ({"npu": 5 * _MS}, _MS, (_MS,))


def test_tasks_on_different_devices_share_the_host_alone() -> None:
    """Each is over after its own time and that of the host's steps of the other: of a job that has not ended
    when it begins, and of the next one.
    """
    above, below = task("a", 20, 2, *dsp(9), *host(2)), task("b", 25, 1, *npu(9, 10), *host(1), deadline=24)
    assert worst(above, below) == [13.0, 24.0]
    answer = analysis([above, below])
    assert answer.waits == (frozenset(), frozenset())
    assert [each.beside for each in answer.responses] == [2 * _MS, 4 * _MS]
    assert answer.load > 1.3


def test_a_device_that_is_needed_late_blocks_less() -> None:
    """The device is busy for 5 with another job, while this one works on the host for 4."""
    above, below = task("a", 20, 2, *host(4), *npu(2)), task("b", 50, 1, *npu(5))
    assert worst(above, below)[0] == 7.0
    assert task_times(above).tails == {"npu": 2 * _MS}


def test_a_long_step_of_one_job_is_met_once() -> None:
    """Two waits for the device, each of which may end in a step of the host: of the one job, 6 and 1."""
    above, below = task("a", 20, 2, *npu(2, 2)), task("b", 100, 1, *host(6, 1), *dsp(1))
    assert worst(above, below)[0] == 11.0


def test_a_last_step_that_is_in_flight_blocks_those_with_the_same_device() -> None:
    """Nothing comes after the step of 40, so it is never preempted; but a job of `b`, which is linked to `a`,
    may find it in flight.
    """
    tasks = [
        task("a", 50, 3, *host(1), *dsp(1)),
        task("b", 100, 2, *npu(2)),
        task("c", 400, 1, TaskWork(takes=40 * _MS, timeline="npu")),
    ]
    answer = analysis(tasks, waits=[frozenset(), frozenset({0}), frozenset({1})])
    assert answer.responses[1].worst == 44 * _MS


def test_who_waits_for_whom() -> None:
    tasks = [
        task("a", 10, 3, *npu(1)),
        task("b", 20, 2, TaskWork(takes=_MS, timeline="dsp"), *npu(1)),
        task("c", 30, 1, TaskWork(takes=_MS, timeline="dsp")),
        task("d", 30, 1, *host(1)),
    ]
    waits = waits_of(tasks)
    assert [sorted(each) for each in waits] == [[], [0], [1, 3], [2]]
    assert sorted(group_of(waits, 2)) == [0, 1, 2, 3]
    assert [sorted(each) for each in waits_of(tasks, {0})] == [[], [0], [0, 1, 3], [0, 2]]
    assert [sorted(each) for each in waits_of(tasks, linked=True)] == [[], [0], [0, 1, 3], [0, 1, 2]]


def copies(task: TimedTask) -> TimedTask:
    return evolve(task, channels=frozenset({"dma"}))


def dma(*times: float) -> tuple[TaskStep, ...]:
    return tuple(TaskWork(takes=int(time * _MS), timeline="dma") for time in times)


def test_copies_on_a_channel_take_turns() -> None:
    """Each of three copies may find one of the other task there; of all of these together that is no more."""
    above = copies(task("a", 20, 2, *dma(1), *npu(2), *dma(1), *npu(2), *dma(1)))
    below = copies(task("b", 50, 1, *dsp(4), *dma(3), *dsp(4), *dma(0.5)))
    assert waits_of([above, below]) == (frozenset(), frozenset())
    assert waits_of([above, below], in_turn=True) == (frozenset(), frozenset({0}))
    alone, other = (each.cost / _MS for each in map(task_times, (above, below)))
    first, second = worst(above, below)
    assert first == alone + 3 + 0.5
    assert second == other + 3
    releases = [[(time * _MS, time * _MS)] for time in (4, 0)]
    made = simulated([above, below], releases, [frozenset(), frozenset()])
    assert [((job.end or 0) - job.due) / _MS for job in made.jobs] == [10.5, 6.0]


def test_copies_on_two_channels_at_once_take_longer_than_a_job() -> None:
    """The job takes 10, and keeps two channels for 20 together: they were not seen as being so long there."""
    other = TaskWork(takes=10 * _MS, timeline="axi")
    above = evolve(task("a", 50, 2, *dma(10), other), channels=frozenset({"dma", "axi"}))
    below = evolve(task("b", 90, 1, *dma(1), evolve(other, takes=_MS)), channels=above.channels)
    assert worst(above, below) == [12.0, 21.0]


def test_copies_wait_for_each_other_where_a_task_waits_for_both() -> None:
    above, below = copies(task("a", 20, 3, *dma(1), *npu(2))), copies(task("b", 50, 2, *dsp(4), *dma(3)))
    both = task("c", 100, 1, *npu(1), *dsp(1))
    assert waits_of([above, below, both]) == (frozenset(), frozenset({0}), frozenset({0, 1}))


def test_an_urgent_task_has_the_chip_alone_where_that_is_needed() -> None:
    """Four waits of the urgent task, each of which might end in the middle of the other's step of 4."""
    above, below = task("a", 20, 2, *npu(2, 2, 2, 2), deadline=13), task("b", 100, 1, *host(*[4] * 5))
    assert worst(above, below) == [28.0, 20.0]
    answer = chosen([above, below])
    assert answer.waits == (frozenset(), frozenset({0}))
    assert [(each.worst or 0) / _MS for each in answer.responses] == [12.0, 36.0]


@pytest.mark.parametrize("seed", range(40))
def test_each_preemption_costs_the_largest_loss_that_is_left(seed: int) -> None:
    random = Random(seed)
    losses = sorted((random.randint(1, 9) for _ in range(random.randint(0, 6))), reverse=True)
    losing = sorted(((random.randint(1, 9), other) for other in range(random.randint(0, 4))), reverse=True)
    others, jobs = {other: random.randint(0, 7) for _, other in losing}, random.randint(0, 4)
    member = _Member(
        number=9,
        priority=0,
        period=1,
        jitter=0,
        limit=1,
        cost=1,
        held=0,
        met=0,
        losses=tuple(losses),
        losing=tuple(losing),
        pauses=0,
    )
    waits = [wait for wait, other in losing for _ in range(others[other])]
    each = [loss for loss in losses for _ in range(jobs)]
    assert member.lost(jobs, others) == sum(map(min, waits, each))


def test_jitter_is_part_of_a_response() -> None:
    assert worst(task("a", 10, 2, *host(2), jitter=3), task("b", 30, 1, *host(1, 1))) == [6.0, 4.0]


def test_equal_priorities_run_in_the_order_of_release() -> None:
    a, b = task("a", 10, 1, *host(2, 2)), task("b", 10, 1, *host(1, 2))
    assert worst(a, b) == [7.0, 7.0]


def test_jobs_that_wait_for_the_one_before_are_looked_at() -> None:
    """The second job of the less urgent task is the late one: its last step holds up nobody else."""
    a = task("a", 7, 2, *host(3))
    b = task("b", 10, 1, *host(2, 3), deadline=12)
    assert worst(a, b) == [6.0, 8.0]


def test_too_much_work_has_no_limit() -> None:
    assert worst(task("a", 4, 2, *host(2)), task("b", 6, 1, *host(3))) == [5.0, None]


def test_a_single_step_is_never_preempted() -> None:
    a, b = task("a", 10, 2, *host(1)), task("b", 20, 1, *host(3))
    assert worst(a, b) == [4.0, 4.0]


def test_what_would_help(golden: Callable[[str, str], None]) -> None:
    a = task("vww", 66, 1, *host(4, 20, 4), deadline=60)
    b = task("kws", 33, 2, *host(2, 3), deadline=20)
    answer = advised([a, b])
    assert [each.change for each in answer.remedies] == [
        Change.DEADLINE,
        Change.PERIOD,
        Change.STEP,
    ]
    golden("would_help", response_times(answer))


def test_what_fits_needs_no_help(golden: Callable[[str, str], None]) -> None:
    a = task("vww", 66, 1, *host(4, 10, 4), deadline=60)
    b = task("kws", 33, 2, *host(2, 3), deadline=20)
    golden("schedulable", response_times(advised([a, b])))


def test_a_host_that_others_keep_busy_is_found_at_once() -> None:
    """The time that is looked for grew by picoseconds, for hours."""
    assert chosen(tasks_of_few(Random(703_199))).schedulable


def test_what_is_done_while_a_timeline_is_busy_delays_nobody_who_waits_for_it() -> None:
    """`low` has the device for 20, and `high` comes every 22: once while `same` waits, or once after that."""
    tasks = [task("low", 200, 1, *npu(20)), task("high", 22, 3, *host(5)), task("same", 50, 2, *npu(4))]
    assert worst(*tasks)[1:] == [5.0, 29.0]


@pytest.mark.parametrize("random_set", [random_tasks, tasks_of_few, tasks_that_copy])
@pytest.mark.parametrize("seed", slow_except(range(20_000, 20_006), range(20_000, 20_050)))
def test_no_job_is_late_where_the_analysis_accepts(
    seed: int, random_set: Callable[[Random], list[TimedTask]]
) -> None:
    random = Random(seed)
    tasks = random_set(random)
    answer = chosen(tasks)
    if answer.schedulable:
        check_waits(tasks, answer.waits)
        assert not beyond(tasks, answer, random, 3)
        assert not late_with_less(tasks, answer, random)
