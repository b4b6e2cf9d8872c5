"""What preempted jobs lose, against all ways to preempt them."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from random import Random

import pytest

from conformance.tasks import random_steps
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TaskWork
from target_arch.stages.workloads import losses
from target_arch.stages.workloads.alone import JobClock
from target_arch.stages.workloads.losses import preempted


def takes(steps: Sequence[TaskStep], points: Sequence[int]) -> int:
    """The time of a job that is preempted before these steps, each time until nothing of it is in flight."""
    total, past = 0, Counter[str]()
    for first, until in pairwise((0, *points, len(steps))):
        clock = JobClock()
        for step in steps[first:until]:
            if not isinstance(step, TaskWait):
                clock.execute(step)
            elif (value := step.value - past[step.timeline]) > 0:
                clock.execute(TaskWait(timeline=step.timeline, value=value, host=step.host))
        past.update({line: len(ends) for line, ends in clock.ends.items()})
        total += clock.over
    return total


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most", [256, 2])
def test_no_preemptions_cost_more_than_the_losses(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "_MOST_STEPS", most)
    steps = random_steps(Random(seed), 10_000, ["npu", "dsp", "dma"])[:9]
    once, together = preempted(steps)
    for count in range(1, len(steps)):
        for points in combinations(range(1, len(steps)), count):
            lost = takes(steps, points) - takes(steps, ())
            assert lost <= sum(together[:count])
            assert lost - (takes(steps, points[:-1]) - takes(steps, ())) <= once


def test_a_loss_is_what_would_have_overlapped() -> None:
    """The host's 3 and the 4 in flight; then nothing, as the host has waited; then 2 on the host with 5."""
    fly, wait = (
        lambda time, line: TaskWork(takes=time, timeline=line),
        lambda line: TaskWait(timeline=line, value=1),
    )
    steps = [fly(4, "npu"), TaskWork(takes=3), wait("npu"), fly(5, "dsp"), TaskWork(takes=2), wait("dsp")]
    assert preempted(steps) == (3, (3, 2))
    assert preempted([TaskWork(takes=3), fly(4, "npu")]) == (0, ())
