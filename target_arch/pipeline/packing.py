"""Several models planned for one chip, and their memory together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from target_arch.pipeline.planning import plan
from target_arch.pipeline.preparation import PreparedModel
from target_arch.pipeline.request import ModelsRequest
from target_arch.pipeline.resolve import available, whole
from target_arch.plan.lowered import Lowered
from target_arch.plan.model_pools import ModelPools, Sharing
from target_arch.plan.resident import Resident
from target_arch.soc.stacks import core_stacks
from target_arch.stages.check.models import check_models
from target_arch.stages.check.stacks import check_stacks
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.memory.model_pools import model_pools, needed_in_turn, reduced, taken_by_others
from target_arch.stages.memory.multi_model import excess, pack_models

if TYPE_CHECKING:
    from target_arch.plan.model_pools import Pairs
    from target_arch.plan.workloads.answers import TimedTasks
    from target_arch.plan.workloads.workload import Workload


def pack(
    prepared: Sequence[PreparedModel], asked: ModelsRequest, *, advised: bool = True
) -> tuple[Lowered, ...]:
    """Every model planned, such that all fit the chip together. Constants of several are resident where all
    of them leave room; those of a workload, whose answers are times of runs that copy, are not.
    """
    request, arenas, workload = prepared[0].request, asked.arenas, asked.workload
    without = prepared if len(prepared) == 1 else tuple(map(_copying, prepared))
    lowered = pack_models(
        available(request),
        tuple(each.model.name for each in prepared),
        arenas,
        lambda number, taken: plan(without[number], reduced(request.soc, taken), advised=advised),
        whole(request),
        None if workload is None else _apart(workload),
    )
    if len(prepared) == 1 or workload is not None:
        return lowered
    return _with_residents(prepared, lowered, arenas)


def _copying(prepared: PreparedModel) -> PreparedModel:
    return evolve(prepared, request=evolve(prepared.request, resident=Resident.NEVER))


def _with_residents(
    prepared: Sequence[PreparedModel], lowered: Sequence[Lowered], arenas: Sharing
) -> tuple[Lowered, ...]:
    """The models, each with constants resident in what all others leave, where that is faster."""
    made = list(lowered)
    for number, ready in enumerate(prepared):
        if ready.request.resident is Resident.NEVER or not made[number].copies_constants:
            continue
        soc, others = ready.request.soc, [each.memory for each in made if each is not made[number]]
        held = needed_in_turn(soc, others, arenas)
        chip = reduced(soc, taken_by_others(soc, others, arenas))
        try:
            found = plan(evolve(ready, held=held), chip, advised=False)
        except (DoesNotFitError, PlacementError):
            continue
        tried = [found if place == number else each for place, each in enumerate(made)]
        if found.makespan < made[number].makespan and not _excess(prepared, tried, arenas):
            made = tried
    return tuple(made)


def _excess(
    prepared: Sequence[PreparedModel], lowered: Sequence[Lowered], arenas: Sharing
) -> Mapping[str, int]:
    request = prepared[0].request
    plans = {one.model.name: each.memory for one, each in zip(prepared, lowered, strict=True)}
    return excess(available(request), whole(request), model_pools(request.soc, plans, arenas))


def checked_pools(
    prepared: Sequence[PreparedModel],
    lowered: Sequence[Lowered],
    arenas: Sharing,
    timed: "TimedTasks | None" = None,
) -> ModelPools:
    """The memory of all models together. Raises CheckError where it is wrong."""
    request = prepared[0].request
    plans = {one.model.name: each.memory for one, each in zip(prepared, lowered, strict=True)}
    pairs = None if timed is None else _apart_in(timed)
    pools = evolve(model_pools(request.soc, plans, arenas, pairs), stacks=core_stacks(request.soc))
    check_models(available(request), pools, plans, whole(request))
    if timed is not None:
        from target_arch.stages.check.jobs import check_jobs

        check_jobs(available(request), pools, plans, timed)
    check_stacks(request.soc, pools.stacks, whole(request))
    return pools


def _apart(workload: "Workload") -> "Pairs":
    from target_arch.stages.workloads.apart import may_be_apart

    return may_be_apart(workload)


def _apart_in(timed: "TimedTasks") -> "Pairs":
    from target_arch.stages.workloads.apart import apart

    return apart(timed.tasks, timed.analysis.table)
