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
from target_arch.stages.steps.simulation.orders import FREE
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
    """The steps of a model but the Loads, each with what it is in a task: its worst time, and the host's,
    which is overhead and order. The host settles a step when it waits for it, or before the next one on its
    timeline.
    """
    placed = PartialLowering(setting=setting, graph=lowered.graph, kernels=lowered.kernels)
    work = [step for step in lowered.steps.steps if isinstance(step, Copy | Dispatch)]
    worst, flying = WorstTimes(placed, rule.margin), dict[str, int]()
    times = step_times(work, lowered.steps.buffers, worst)
    takes = dict(zip(map(id, work), times, strict=True))
    for step in lowered.steps.steps:
        if not isinstance(step, Copy | Dispatch | Wait):
            continue
        line = "" if step.event is None else step.event.timeline
        order, host = worst.orders.get(line, FREE), rule.overhead
        if line in flying and not _is_before(step, flying[line]):
            host += order.end
            del flying[line]
        if isinstance(step, Wait):
            yield step, TaskWait(timeline=line, value=step.event.value, host=host)
            continue
        if step.event is not None:
            flying[line] = step.event.value
        yield step, TaskWork(takes=takes[id(step)], timeline=line, host=host + order.start)


def _is_before(step: Copy | Dispatch | Wait, value: int) -> bool:
    """Whether a step waits for an earlier value of its timeline than that."""
    return isinstance(step, Wait) and step.event.value < value
