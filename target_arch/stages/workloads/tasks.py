"""Planned models as tasks: their steps with worst times."""

from collections.abc import Iterator

from attrs import evolve

from target_arch.plan.lowered import Lowered
from target_arch.plan.steps import Copy, Dispatch, Wait
from target_arch.plan.workloads.tasks import TaskStep, TaskWait, TaskWork, TimedTask
from target_arch.plan.workloads.workload import TimedModel, WorstRule
from target_arch.soc.numbering import channels
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.replay import step_times
from target_arch.stages.steps.simulation.worst_times import WorstTimes


def timed_task(rule: WorstRule, model: TimedModel, setting: Setting, lowered: Lowered) -> TimedTask:
    """The task of a model, by what its steps take at worst."""
    steps = tuple(step for _, step in worst_steps(rule, setting, lowered))
    task = TimedTask(name=model.name, timing=model.timing, steps=steps)
    return evolve(task, channels=task.timelines.intersection(channels(setting.soc)))


def worst_steps(
    rule: WorstRule, setting: Setting, lowered: Lowered
) -> Iterator[tuple[Copy | Dispatch | Wait, TaskStep]]:
    """The steps of a model but the Loads, each with what it is in a task: its worst time, and the host's
    overhead.
    """
    placed = PartialLowering(setting=setting, graph=lowered.graph, kernels=lowered.kernels)
    work = [step for step in lowered.steps.steps if isinstance(step, Copy | Dispatch)]
    times = step_times(work, lowered.steps.buffers, WorstTimes(placed, rule.margin))
    takes = dict(zip(map(id, work), times, strict=True))
    for step in lowered.steps.steps:
        if isinstance(step, Wait):
            event = step.event
            yield step, TaskWait(timeline=event.timeline, value=event.value, host=rule.overhead)
        elif isinstance(step, Copy | Dispatch):
            timeline = "" if step.event is None else step.event.timeline
            yield step, TaskWork(takes=takes[id(step)], timeline=timeline, host=rule.overhead)
