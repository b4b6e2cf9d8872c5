"""The simulated arbiter: preemption between steps, what is in flight, and overload."""

import pytest

from target_arch.plan.workloads.answers import Replayed
from target_arch.plan.workloads.tasks import TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import Overload, Timing
from target_arch.stages.workloads.simulation import periodic, simulated


def task(
    priority: int, *takes: int, period: int = 100, overload: str = "skip", deadline: int = 0
) -> TimedTask:
    timing = Timing(period=period, deadline=deadline or period, priority=priority, overload=overload)
    return TimedTask(name="t", timing=timing, steps=tuple(TaskWork(takes=each) for each in takes))


def ends(made: Replayed) -> list[int | None]:
    return [job.end for job in made.jobs]


def test_a_more_urgent_job_comes_between_two_steps() -> None:
    low, high = task(1, 5, 5, 5), task(2, 3)
    made = simulated([low, high], [[(0, 0)], [(6, 6)]])
    assert ends(made) == [18, 13]
    assert made.spans == ((0, 0, 10), (1, 10, 13), (0, 13, 18))


def test_what_is_in_flight_ends_first() -> None:
    timing = Timing(period=100, deadline=100, priority=1)
    npu = TaskWork(takes=20, timeline="npu")
    low = TimedTask(
        name="t", timing=timing, steps=(npu, TaskWork(takes=2), npu, TaskWait(timeline="npu", value=2))
    )
    made = simulated([low, task(2, 3)], [[(0, 0)], [(1, 1)]])
    assert ends(made) == [43, 23]


def test_equals_do_not_preempt() -> None:
    made = simulated([task(1, 5, 5), task(1, 1)], [[(0, 0)], [(2, 2)]])
    assert ends(made) == [10, 11]


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
    made = simulated([slow], [periodic(slow, 50)])
    assert ends(made) == ended
    assert made.dropped == ended.count(None)
    assert made.late == 5 - ended.count(None)


def test_jitter_may_change_the_order() -> None:
    one = task(1, 1, period=10)
    late = periodic(one, 30, lambda number: 15 if number == 0 else 0)
    assert late == [(10, 10), (0, 15), (20, 20)]
