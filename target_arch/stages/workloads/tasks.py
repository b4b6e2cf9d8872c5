"""Planned models as tasks: their steps with worst times."""

from collections.abc import Mapping

from target_arch.plan.lowered import Lowered
from target_arch.plan.steps import Copy, Dispatch, Wait
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import TimedModel, Workload
from target_arch.soc.costs import Costs
from target_arch.soc.model import SoC
from target_arch.stages.steps.simulation.replay import step_times
from target_arch.stages.steps.simulation.times import Times


def timed_task(
    workload: Workload, model: TimedModel, lowered: Lowered, times: Times, factors: Mapping[str, float]
) -> TimedTask:
    """The task of a model: its steps but the Loads. A step takes `factors` times its estimate, by the
    instance that computes it, or the margin of the workload for what is not there; and the host's overhead.
    """
    work = [step for step in lowered.steps.steps if isinstance(step, Copy | Dispatch)]
    takes = dict(zip(map(id, work), step_times(work, lowered.steps.buffers, times), strict=True))
    steps = list[TaskStep]()
    for step in lowered.steps.steps:
        if isinstance(step, Wait):
            steps.append(
                TaskWait(timeline=step.event.timeline, value=step.event.value, host=workload.overhead)
            )
        elif isinstance(step, Copy | Dispatch):
            where = step.instance if isinstance(step, Dispatch) else ""
            worst = round(takes[id(step)] * factors.get(where, 1 + workload.margin))
            timeline = "" if step.event is None else step.event.timeline
            steps.append(TaskWork(takes=worst, timeline=timeline, host=workload.overhead))
    return TimedTask(name=model.name, timing=model.timing, steps=tuple(steps))


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
