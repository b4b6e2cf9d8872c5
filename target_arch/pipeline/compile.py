"""The way of models through the program, on one screen. Every value on the way is kept.

    import → place → lowering order → lower, each with its budget → steps → memory plan → check → emit

Several models go up to the memory plan each in what the others leave of the chip, and become one bundle; one
model is a list of one.

Tests: `tests/test_pipeline.py` and `tests/e2e`.
"""

from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from target_arch.emit.bundle import emit_bundle
from target_arch.emit.manifest import manifest
from target_arch.pipeline.compilation import CompiledModel, ModelsCompilation
from target_arch.pipeline.emission import emit_inputs
from target_arch.pipeline.fewer_composites import without_composites
from target_arch.pipeline.frames import require_frames
from target_arch.pipeline.packing import checked_pools, pack
from target_arch.pipeline.preparation import prepare
from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.pipeline.resolve import name_of_bundle, named_models, require_alike, rules
from target_arch.pipeline.reuse import Reuse
from target_arch.plan.division import Divide
from target_arch.plan.lowered import Lowered
from target_arch.plan.model_pools import ModelPools
from target_arch.plan.workloads.workload import Workload
from target_arch.stages.placement.candidates import PlacementTask
from target_arch.stages.placement.shortest import shortest_run as least_time

if TYPE_CHECKING:
    from target_arch.pipeline.placed_together import Plans, Prepared
    from target_arch.plan.workloads.answers import TimedTasks


def compile_model(request: CompileRequest) -> CompiledModel:
    """From a model file and a SoC to a bundle. Every refusal is a DiagnosticError."""
    (made,) = compile_models(ModelsRequest(models=(request,))).models
    return made


def compile_models(request: ModelsRequest) -> ModelsCompilation:
    """From model files and a SoC to one bundle. Every refusal is a DiagnosticError; one that concerns one of
    several models names it.
    """
    name = name_of_bundle(request)
    require_alike(request)
    require_frames(request.models)
    prepared = _prepared(request)
    lowered, timed = pack(prepared, request), None
    if request.workload is not None:
        prepared, lowered, timed = _in_time(request, request.workload, prepared, lowered)
    inputs = emit_inputs(name, prepared, lowered, request.arenas, timed)
    described = manifest(inputs)
    bundle = emit_bundle(inputs, described)
    return ModelsCompilation(
        request=request,
        models=tuple(
            CompiledModel.of(each, one.request, entry, bundle)
            for one, each, entry in zip(prepared, lowered, described.models, strict=True)
        ),
        pools=inputs.pools,
        manifest=described,
        bundle=bundle,
        timed=timed,
    )


def _prepared(request: ModelsRequest) -> "Prepared":
    """Every model prepared, with the most that its steps may take in a workload."""
    if request.workload is None:
        return tuple(map(prepare, named_models(request)))
    from target_arch.pipeline.workloads import limited, require_workload

    require_workload(request)
    return limited(request.workload, list(map(prepare, named_models(request))))


def _in_time(
    request: ModelsRequest, workload: Workload, prepared: "Prepared", lowered: "Plans"
) -> "tuple[Prepared, Plans, TimedTasks]":
    """The models placed together for their workload, its tasks and the answer about them."""
    from target_arch.pipeline.placed_together import placed_together, timed_tasks
    from target_arch.pipeline.workloads import answered, checked, require_short_steps
    from target_arch.plan.workloads.answers import TimedTasks

    prepared, lowered = placed_together(request, workload, prepared, lowered)
    tasks = timed_tasks(workload, prepared, lowered)
    require_short_steps(workload, prepared, lowered, tasks)
    analysis = answered(workload, tasks)
    return prepared, lowered, TimedTasks(tasks=tasks, analysis=analysis, spans=checked(tasks, analysis))


@frozen(kw_only=True)
class PlannedModels:
    """Everything before a bundle is emitted: every model lowered, and their memory together."""

    models: tuple[Lowered, ...]
    pools: ModelPools = field(repr=False)


def plan_models(request: ModelsRequest, reuse: Reuse | None = None) -> PlannedModels:
    """As `compile_models` without a bundle, for those who ask for numbers: same plans, checks and refusals.
    These have no hint, which costs as much as several compilations, and runs no lower bounds.

    What does not depend on the chip is taken from `reuse`, and kept there.
    """
    name_of_bundle(request)
    require_alike(request)
    prepared = tuple(evolve(prepare(each, reuse), bounds=False) for each in named_models(request))
    lowered = pack(prepared, request, advised=False)
    return PlannedModels(models=lowered, pools=checked_pools(prepared, lowered, request.arenas))


def shortest_run(request: CompileRequest, reuse: Reuse | None = None) -> float:
    """Seconds that no run of a compilation for this request takes less than, found without one; 0 where
    nothing is known.
    """
    prepared = prepare(request, reuse)
    if request.divide is not Divide.NEVER or without_composites(prepared.request, prepared.backends):
        return 0.0
    chip = prepared.request.soc
    return least_time(
        PlacementTask(
            model=prepared.model,
            setting=prepared.setting,
            backends=prepared.backends,
            rules=rules(prepared.request),
            order=chip.partitioning,
            shared=prepared.shared,
        )
    )
