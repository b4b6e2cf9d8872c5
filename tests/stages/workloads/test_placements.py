"""Placements of models for each other, on hand-made tasks."""

from attrs import evolve

from target_arch.plan.workloads.tasks import TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import Timing
from target_arch.stages.workloads.choice import chosen, is_better
from target_arch.stages.workloads.placements import together

_MS = 10**9


def task(name: str, deadline: int, priority: int, **milliseconds: int) -> TimedTask:
    """A task with a step on each of some devices, all of which are waited for."""
    steps = tuple(
        step
        for where, takes in milliseconds.items()
        for step in (TaskWork(takes=takes * _MS, timeline=where), TaskWait(timeline=where, value=1))
    )
    timing = Timing(period=100 * _MS, deadline=deadline * _MS, priority=priority)
    return TimedTask(name=name, timing=timing, steps=steps)


def choices(name: str, deadline: int, priority: int) -> list[TimedTask]:
    """On both devices, or for longer on one of them."""
    both = task(name, deadline, priority, npu=3, dsp=3)
    return [both, *(task(name, deadline, priority, **{where: 8}) for where in ("dsp", "npu"))]


def test_each_has_a_device_where_that_is_better() -> None:
    """In turn the second would be over after 6 and 6, at once after 8."""
    picks = together([choices("a", 20, 2), choices("b", 20, 1)])
    assert picks == (1, 2)


def test_one_that_is_urgent_keeps_both() -> None:
    assert together([choices("a", 7, 2)[:1], choices("b", 100, 1)]) == (0, 0)


def test_many_models_are_changed_one_by_one() -> None:
    """The last one has a way that is shorter for all."""
    models = [*(choices(f"m{number}", 90, 10 - number) for number in range(5)), choices("m5", 90, 1)]
    models[5].append(task("m5", 90, 1, npu=1))
    picks = together(models)
    assert picks == (0, 0, 0, 0, 0, 3)


def test_fewer_late_ones_are_better_whatever_others_take() -> None:
    late, less = chosen([task("a", 1, 1, npu=2)]), chosen([task("a", 100, 1, npu=99)])
    assert is_better(less, late)
    assert not is_better(late, less)
    assert not is_better(less, less)
    nearly = chosen([evolve(task("a", 100, 1, npu=99), name="b")])
    assert not is_better(nearly, less)
