"""The models of a workload placed together: each on one device or on all, so that the responses are best."""

from collections.abc import Iterator, Sequence

from attrs import evolve

from target_arch.pipeline.packing import pack
from target_arch.pipeline.planning import plan
from target_arch.pipeline.preparation import PreparedModel
from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.pipeline.workloads import tasks_of
from target_arch.plan.lowered import Lowered
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Dispatch
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import Schedule, Workload, WorkloadPlacement
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.workloads.choice import chosen, is_better
from target_arch.stages.workloads.placements import together
from target_arch.stages.workloads.tasks import timed_task

_EVERY = "*"

Prepared = tuple[PreparedModel, ...]
Plans = tuple[Lowered, ...]


def timed_tasks(
    workload: Workload, prepared: Sequence[PreparedModel], lowered: Sequence[Lowered]
) -> tuple[TimedTask, ...]:
    """The tasks that planned models are in a workload."""
    return tasks_of(workload, [each.setting for each in prepared], lowered)


def placed_together(
    request: ModelsRequest, workload: Workload, prepared: Prepared, lowered: Plans
) -> tuple[Prepared, Plans]:
    """The models and plans with which the responses are best, where the workload asks for them or some job
    would be late; else as they are.
    """
    if workload.schedule is Schedule.TABLE:
        return prepared, lowered
    first = chosen(timed_tasks(workload, prepared, lowered))
    if workload.placement is WorkloadPlacement.ALONE and first.schedulable:
        return prepared, lowered
    choices = [[each, *_confined(*each)] for each in zip(prepared, lowered, strict=True)]
    tasks = [
        [timed_task(workload.worst, model, ready.setting, planned) for ready, planned in choice]
        for model, choice in zip(workload.models, choices, strict=True)
    ]
    picks = together(tasks)
    if not any(picks):
        return prepared, lowered
    models = tuple(choice[pick][0] for choice, pick in zip(choices, picks, strict=True))
    try:
        plans = pack(models, request, advised=False)
    except (DoesNotFitError, PlacementError):
        return prepared, lowered
    better = is_better(chosen(timed_tasks(workload, models, plans)), first)
    return (models, plans) if better else (prepared, lowered)


def _confined(model: PreparedModel, lowered: Lowered) -> Iterator[tuple[PreparedModel, Lowered]]:
    """The model on one device and the host, for each device that it is on and each like these."""
    soc = model.request.soc
    used = {step.instance for step in lowered.steps.steps if isinstance(step, Dispatch)} - {soc.host.name}
    archs = {each.arch.name for each in soc.instances if each.name in used}
    others = [each for each in soc.instances if each.name != soc.host.name]
    for device in others:
        if device.arch.name not in archs or used == {device.name}:
            continue
        only = _without(model.request, {each.name for each in others if each is not device})
        ready = evolve(model, request=only)
        try:
            found = plan(evolve(ready, request=evolve(only, resident=Resident.NEVER)), soc, advised=False)
        except (DoesNotFitError, PlacementError):
            continue
        yield ready, found


def _without(request: CompileRequest, devices: set[str]) -> CompileRequest:
    before = request.forbid.get(_EVERY, ())
    forbidden = (*before, *sorted(devices - {*before}))
    return evolve(request, forbid={**request.forbid, _EVERY: forbidden})
