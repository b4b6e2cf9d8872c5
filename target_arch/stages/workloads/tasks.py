"""Planned models as tasks: their steps with worst times."""

from collections.abc import Iterator, Mapping

from target_arch.plan.lowered import Lowered
from target_arch.plan.steps import Copy, Dispatch, Wait
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import TimedModel, Workload, WorstRule
from target_arch.soc.costs import Costs
from target_arch.soc.model import SoC
from target_arch.stages.steps.simulation.replay import step_times
from target_arch.stages.steps.simulation.times import Times


def timed_task(
    workload: Workload, model: TimedModel, lowered: Lowered, times: Times, factors: Mapping[str, float]
) -> TimedTask:
    """The task of a model, by what its steps take at worst; `factors` are by instance."""
    steps = (step for _, step in worst_steps(workload.worst, lowered, times, factors))
    return TimedTask(name=model.name, timing=model.timing, steps=tuple(steps))


def worst_steps(
    rule: WorstRule, lowered: Lowered, times: Times, factors: Mapping[str, float]
) -> Iterator[tuple[Copy | Dispatch | Wait, TaskStep]]:
    """The steps of a model but the Loads, each with what it is in a task. It takes `factors` times its
    estimate, by the instance that computes it, or the margin for what is not there; and the host's overhead.
    """
    work = [step for step in lowered.steps.steps if isinstance(step, Copy | Dispatch)]
    takes = dict(zip(map(id, work), step_times(work, lowered.steps.buffers, times), strict=True))
    for step in lowered.steps.steps:
        if isinstance(step, Wait):
            event = step.event
            yield step, TaskWait(timeline=event.timeline, value=event.value, host=rule.overhead)
        elif isinstance(step, Copy | Dispatch):
            where = step.instance if isinstance(step, Dispatch) else ""
            worst = round(takes[id(step)] * factors.get(where, 1 + rule.margin))
            timeline = "" if step.event is None else step.event.timeline
            yield step, TaskWork(takes=worst, timeline=timeline, host=rule.overhead)


def worst_factors(soc: SoC, costs: Costs) -> dict[str, float]:
    """By instance, how many times longer than estimated a step may take, where a calibration says by how much
    it was off at most.
    """
    errors = {arch: each.error.worst for arch, each in costs.fitted.items() if each.error is not None}
    return {
        instance.name: 1 + errors[instance.arch.name]
        for instance in soc.instances
        if instance.arch.name in errors
    }
