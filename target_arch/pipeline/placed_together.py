"""The models of a workload placed together: each on one device or on all, so that the responses are best."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from attrs import evolve, frozen

from target_arch.pipeline.request import CompileRequest
from target_arch.plan.lowered import Lowered
from target_arch.plan.steps import Dispatch
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import Schedule, Workload, WorkloadPlacement
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.workloads.choice import chosen
from target_arch.stages.workloads.placements import is_better, together

_EVERY = "*"
T = TypeVar("T")

Requests = tuple[CompileRequest, ...]
Plans = tuple[Lowered, ...]


@frozen(kw_only=True)
class Planning:
    """How models are planned: one, by its number, on the whole chip, and all together; and their tasks."""

    one: Callable[[int, CompileRequest], Lowered]
    every: Callable[[Requests], Plans]
    tasks: Callable[[Requests, Plans], tuple[TimedTask, ...]]


def placed_together(
    workload: Workload, requests: Requests, lowered: Plans, planning: Planning
) -> tuple[Requests, Plans]:
    """The requests and plans with which the responses are best, where the workload asks for them or some job
    would be late; else as they are.
    """
    first = chosen(planning.tasks(requests, lowered))
    if workload.schedule is Schedule.TABLE:
        return requests, lowered
    if workload.placement is WorkloadPlacement.ALONE and first.schedulable:
        return requests, lowered
    choices = [
        [(requests, lowered), *_confined(number, requests, lowered, planning)]
        for number in range(len(requests))
    ]
    tasks = [[planning.tasks(*each)[number] for each in choice] for number, choice in enumerate(choices)]
    picks = together(tasks)
    chosen_requests = tuple(choices[number][pick][0][number] for number, pick in enumerate(picks))
    if not any(picks):
        return requests, lowered
    try:
        made = planning.every(chosen_requests)
    except (DoesNotFitError, PlacementError):
        return requests, lowered
    better = is_better(chosen(planning.tasks(chosen_requests, made)), first)
    return (chosen_requests, made) if better else (requests, lowered)


def _confined(
    number: int, requests: Requests, lowered: Plans, planning: Planning
) -> Iterator[tuple[Requests, Plans]]:
    """The models with that one on one device and the host, for each that it is on and each like these."""
    request = requests[number]
    steps = lowered[number].steps.steps
    used = {step.instance for step in steps if isinstance(step, Dispatch)} - {request.soc.host.name}
    archs = {each.arch.name for each in request.soc.instances if each.name in used}
    others = [each for each in request.soc.instances if each.name != request.soc.host.name]
    for device in others:
        if device.arch.name not in archs or used == {device.name}:
            continue
        only = _without(request, {each.name for each in others if each is not device})
        try:
            plan = planning.one(number, only)
        except (DoesNotFitError, PlacementError):
            continue
        yield _changed(requests, number, only), _changed(lowered, number, plan)


def _without(request: CompileRequest, devices: set[str]) -> CompileRequest:
    before = request.forbid.get(_EVERY, ())
    forbidden = (*before, *sorted(devices - {*before}))
    return evolve(request, forbid={**request.forbid, _EVERY: forbidden})


def _changed(values: tuple[T, ...], number: int, value: T) -> tuple[T, ...]:
    return (*values[:number], value, *values[number + 1 :])
