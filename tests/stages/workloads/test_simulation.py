"""The simulated arbiter: preemption between steps, what is in flight, and overload."""

import pytest

from target_arch.plan.workloads.answers import Replayed
from target_arch.plan.workloads.tasks import TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import Overload, Timing
from target_arch.stages.workloads.simulation import periodic, simulated
from target_arch.stages.workloads.waiting import waits_of


def task(
    priority: int, *takes: int, period: int = 100, overload: str = "skip", deadline: int = 0
) -> TimedTask:
    timing = Timing(period=period, deadline=deadline or period, priority=priority, overload=overload)
    return TimedTask(name="t", timing=timing, steps=tuple(TaskWork(takes=each) for each in takes))


def ends(made: Replayed) -> list[int | None]:
    return [job.end for job in made.jobs]


def run(tasks: list[TimedTask], *releases: int) -> Replayed:
    """One job of each task."""
    return simulated(tasks, [[(time, time)] for time in releases], waits_of(tasks))


def test_a_more_urgent_job_comes_between_two_steps() -> None:
    low, high = task(1, 5, 5, 5), task(2, 3)
    made = run([low, high], 0, 6)
    assert ends(made) == [18, 13]
    assert made.spans == ((0, 0, 10), (1, 10, 13), (0, 13, 18))


def on(where: str, priority: int, *takes: int) -> TimedTask:
    """A task with steps on a device, each of which is waited for."""
    work = (TaskWork(takes=each, timeline=where) for each in takes)
    waited = ((each, TaskWait(timeline=where, value=at + 1)) for at, each in enumerate(work))
    timing = Timing(period=100, deadline=100, priority=priority)
    return TimedTask(name=where, timing=timing, steps=tuple(step for pair in waited for step in pair))


def test_jobs_on_different_devices_run_at_once() -> None:
    made = run([on("npu", 1, 20, 10), on("dsp", 2, 5, 5)], 0, 1)
    assert ends(made) == [30, 11]
    assert made.spans == ((0, 0, 30), (1, 1, 11))


def test_a_device_in_common_is_waited_for() -> None:
    made = run([on("npu", 1, 20, 10), on("npu", 2, 5, 5)], 0, 1)
    assert ends(made) == [40, 30]
    assert made.spans == ((0, 0, 20), (1, 20, 30), (0, 30, 40))


def test_the_host_takes_a_step_of_another_job_meanwhile() -> None:
    made = run([on("npu", 2, 20), task(1, 5, 30)], 0, 0)
    assert ends(made) == [35, 35]


def test_equals_do_not_preempt() -> None:
    assert ends(run([task(1, 5, 5), task(1, 1)], 0, 2)) == [10, 11]
    assert ends(run([on("npu", 1, 5), on("dsp", 1, 5)], 0, 2)) == [5, 10]


@pytest.mark.parametrize(
    ("overload", "ended"),
    [
        (Overload.SKIP, [40, None, None, None, 80]),
        (Overload.DROP_OLDEST, [40, None, None, 80, 120]),
        (Overload.QUEUE, [40, 80, 120, None, 160]),
    ],
)
def test_overload(overload: Overload, ended: list[int | None]) -> None:
    """Jobs of 40 that come every 10; three may be there at once where the deadline is three periods."""
    deadline = 30 if overload is Overload.QUEUE else 10
    slow = task(1, 40, period=10, overload=overload, deadline=deadline)
    made = simulated([slow], [periodic(slow, 50)], waits_of([slow]))
    assert ends(made) == ended
    assert made.dropped == ended.count(None)
    assert made.late == 5 - ended.count(None)


def test_jitter_may_change_the_order() -> None:
    one = task(1, 1, period=10)
    late = periodic(one, 30, lambda number: 15 if number == 0 else 0)
    assert late == [(10, 10), (0, 15), (20, 20)]
