"""The way of models through the program, on one screen. Every value on the way is kept.

    import → place → lowering order → lower, each with its budget → steps → memory plan → check → emit

Several models go up to the memory plan each in what the others leave of the chip, and become one bundle; one
model is a list of one.

Tests: `tests/test_pipeline.py` and `tests/e2e`.
"""

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend, Pattern
from target_arch.backend.port import PortKind
from target_arch.emit.build.machine import require_machine
from target_arch.emit.bundle import emit_bundle
from target_arch.emit.manifest import manifest
from target_arch.emit.model.inputs import EmitInputs, Member, SelfTest
from target_arch.pipeline.asked import asked_options
from target_arch.pipeline.compilation import CompiledModel, ModelsCompilation
from target_arch.pipeline.costs_used import costs_used
from target_arch.pipeline.fewer_composites import alike, on_fewer, without_composites
from target_arch.pipeline.frames import require_frames, wanted_frames, with_frames
from target_arch.pipeline.lowerer import Lowerer
from target_arch.pipeline.objectives import lowered_for, most_often, with_choice
from target_arch.pipeline.placed_together import Planning, placed_together
from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.pipeline.resolve import (
    available,
    measured_costs,
    memory_mode,
    name_of_bundle,
    named_models,
    partitioning_order,
    programmed,
    require_alike,
    require_constants,
    require_divide,
    require_goal,
    require_io,
    require_objective,
    require_resident,
    rules,
    whole,
)
from target_arch.pipeline.reuse import Imported, ModelKey, Reuse
from target_arch.pipeline.workloads import answered, checked, require_workload, tasks_of
from target_arch.plan.division import Divide, ShareChoice
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import Codegen
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPools, Sharing
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.resident import Resident
from target_arch.plan.workloads.answers import TimedTasks
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import Workload
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.importer import import_model
from target_arch.relax.operators.moved import with_own_outputs
from target_arch.relax.operators.program import RelaxProgram
from target_arch.run.references.find import self_test
from target_arch.soc.model import MemoryMode, SoC
from target_arch.soc.stacks import core_stacks
from target_arch.stages.check.jobs import check_jobs
from target_arch.stages.check.meaning.check import check_imported
from target_arch.stages.check.models import check_models
from target_arch.stages.check.stacks import check_stacks
from target_arch.stages.division.choose import divided_where_faster
from target_arch.stages.division.explained import share_choices
from target_arch.stages.division.graphs import DividedGraphs, as_placed
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.memory.model_pools import model_pools, needed_in_turn, reduced, taken_by_others
from target_arch.stages.memory.multi_model import excess, pack_models
from target_arch.stages.placement.aims import PLAIN, PlacementTrial
from target_arch.stages.placement.candidates import PlacementTask
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.placement.shortest import shortest_run as least_time
from target_arch.stages.setting import Setting
from target_arch.stages.simplification.halves import with_half_weights
from target_arch.stages.simplification.removal import without_dead_channels
from target_arch.stages.steps.expected import with_runs
from target_arch.stages.workloads.apart import apart, may_be_apart

_WIDENING = (Codegen.C, Codegen.LLVM, Codegen.COMMAND_STREAM, Codegen.NONE)
"""Codegens beside which weights may be in float16: their functions widen them, or they take no floats."""


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
    require_workload(request)
    prepared = tuple(prepare(each) for each in named_models(request))
    lowered = _pack(prepared, request)
    if request.workload is not None:
        prepared, lowered = _together(request, request.workload, prepared, lowered)
    timed = _timed(request, prepared, lowered)
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


def _together(
    request: ModelsRequest,
    workload: Workload,
    prepared: tuple["PreparedModel", ...],
    lowered: tuple[Lowered, ...],
) -> tuple[tuple["PreparedModel", ...], tuple[Lowered, ...]]:
    """The models of a workload, placed for each other where that is wanted or helps."""

    def asked(requests: Sequence[CompileRequest]) -> tuple[PreparedModel, ...]:
        return tuple(evolve(each, request=one) for each, one in zip(prepared, requests, strict=True))

    def tasks(requests: Sequence[CompileRequest], plans: Sequence[Lowered]) -> tuple[TimedTask, ...]:
        settings = [_setting(each.request, each.backends) for each in asked(requests)]
        return tasks_of(workload, settings, plans)

    def one(number: int, changed: CompileRequest) -> Lowered:
        ready = evolve(prepared[number], request=evolve(changed, resident=Resident.NEVER))
        return plan(ready, changed.soc, advised=False)

    planning = Planning(
        one=one, every=lambda requests: _pack(asked(requests), request, advised=False), tasks=tasks
    )
    requests, plans = placed_together(workload, tuple(e.request for e in prepared), lowered, planning)
    return asked(requests), plans


def _timed(
    request: ModelsRequest, prepared: Sequence["PreparedModel"], lowered: Sequence[Lowered]
) -> TimedTasks | None:
    """The tasks of a workload and the answer about them; None without one."""
    if request.workload is None:
        return None
    settings = [_setting(each.request, each.backends) for each in prepared]
    tasks = tasks_of(request.workload, settings, lowered)
    analysis = answered(request.workload, tasks)
    return TimedTasks(tasks=tasks, analysis=analysis, spans=checked(tasks, analysis))


@frozen(kw_only=True)
class PlannedModels:
    """Everything before a bundle is emitted: every model lowered, and their memory together."""

    models: tuple[Lowered, ...]
    pools: ModelPools = field(repr=False)


def plan_models(request: ModelsRequest, reuse: Reuse | None = None) -> PlannedModels:
    """As `compile_models` without a bundle, for those who ask for numbers: same plans, checks and refusals,
    which have no hint: that costs as much as several compilations.

    What does not depend on the chip is taken from `reuse`, and kept there.
    """
    name_of_bundle(request)
    require_alike(request)
    prepared = tuple(prepare(each, reuse) for each in named_models(request))
    lowered = _pack(prepared, request, advised=False)
    return PlannedModels(models=lowered, pools=_checked_pools(prepared, lowered, request.arenas))


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
            setting=_setting(prepared.request, prepared.backends),
            backends=prepared.backends,
            rules=rules(prepared.request),
            order=chip.partitioning,
        )
    )


@frozen(kw_only=True)
class PreparedModel:
    """A model that was read, and the instances that may take part of it."""

    request: CompileRequest
    mode: MemoryMode
    plug_ins: PlugIns = field(repr=False)
    port: PortKind
    backends: Mapping[str, Backend] = field(repr=False)
    model: Model = field(repr=False)
    program: RelaxProgram = field(repr=False)
    reuse: Reuse = field(repr=False)
    shared: MutableMapping[object, Any] = field(repr=False)
    """What backends keep for this model whatever the chip."""
    held: Mapping[str, int] = field(factory=dict, repr=False)
    """By memory the bytes that other models need there in their turns, and that no constant may keep."""


def prepare(request: CompileRequest, reuse: Reuse | None = None) -> PreparedModel:
    """The first part of `compile_model`: everything up to the imported model."""
    reuse = reuse or Reuse()
    mode, plug_ins = memory_mode(request), _plug_ins(request)
    partitioning_order(request)  # refuses names that the SoC does not have
    port = plug_ins.ports[request.port]
    require_machine(request.soc, port)
    require_constants(request, port)
    request = evolve(request, planner=evolve(request.planner, algorithms=plug_ins.planners))
    request.planner.check()
    backends = plug_ins.backends_for(request.soc)
    (model, program), shared = _imported(request, backends, plug_ins, reuse)
    return PreparedModel(
        request=request,
        mode=mode,
        plug_ins=plug_ins,
        port=port,
        backends=backends,
        model=model,
        program=program,
        reuse=reuse,
        shared=shared,
    )


def plan(prepared: PreparedModel, chip: SoC, *, advised: bool = True) -> Lowered:
    """The second part: place, lower and plan, on the part of the chip that other models leave. Unless
    `advised`, a refusal has no hint.
    """
    asked = prepared.request
    request = evolve(asked, soc=programmed(asked, chip))
    ready = evolve(prepared, request=request)
    fewer = without_composites(request, prepared.backends)
    if not fewer:
        return _lower(ready, advised=advised)
    try:
        return _lower(ready, advised=False)
    except DoesNotFitError as refusal:
        found = _on_fewer_composites(ready, fewer, refusal)
    return _lower(ready, advised=advised) if found is None else found


def _on_fewer_composites(
    prepared: PreparedModel, fewer: Sequence[CompileRequest], refusal: DoesNotFitError
) -> Lowered | None:
    """The lowering of the first of these requests under which the model has other operators, and they fit;
    None if none does.
    """
    for request in fewer:
        (model, program), shared = _imported(request, prepared.backends, prepared.plug_ins, prepared.reuse)
        if alike(model, prepared.model):
            continue
        ready = evolve(prepared, request=request, model=model, program=program, shared=shared)
        try:
            made = _lower(ready, advised=False)
        except (DoesNotFitError, PlacementError):
            continue
        return evolve(made, attempts=(*on_fewer(prepared.request, request, refusal), *made.attempts))
    return None


def _pack(
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
        None if workload is None else may_be_apart(workload),
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


def emit_inputs(
    name: str,
    prepared: Sequence[PreparedModel],
    lowered: Sequence[Lowered],
    arenas: Sharing,
    timed: TimedTasks | None = None,
) -> EmitInputs:
    """The source of a bundle: its models, and their memory together, which is checked."""
    first = prepared[0]
    soc, pools = first.request.soc, _checked_pools(prepared, lowered, arenas, timed)
    return EmitInputs(
        name=name,
        soc=soc,
        mode=first.mode,
        backends=first.backends,
        members=tuple(map(_member, prepared, lowered)),
        pools=pools,
        timed=timed,
        port=first.port,
        goal=first.request.optimize,
        constants=first.request.constants.of_bytes(pools.constant_bytes),
        processes={name: first.plug_ins.load_processes[name] for name in _processes(soc)},
    )


def _checked_pools(
    prepared: Sequence[PreparedModel],
    lowered: Sequence[Lowered],
    arenas: Sharing,
    timed: TimedTasks | None = None,
) -> ModelPools:
    """The memory of all models together. Raises CheckError where it is wrong."""
    request = prepared[0].request
    plans = {one.model.name: each.memory for one, each in zip(prepared, lowered, strict=True)}
    pairs = None if timed is None else apart(timed.tasks, timed.analysis.table)
    pools = evolve(model_pools(request.soc, plans, arenas, pairs), stacks=core_stacks(request.soc))
    check_models(available(request), pools, plans, whole(request))
    if timed is not None:
        check_jobs(available(request), pools, plans, timed)
    check_stacks(request.soc, pools.stacks, whole(request))
    return pools


def _member(prepared: PreparedModel, lowered: Lowered) -> Member:
    request, model = prepared.request, lowered.model
    pairs = [state.pair for state in model.states if state.pair is not None]
    shapes = [model.tensors[name].shape for name in model.in_file]
    asked = request.input_shapes
    vector = self_test(request.model_path, shapes, pairs, asked.values, asked.cut, imported=model)
    return Member(
        model=model,
        lowered=lowered,
        tuning=request.tuning,
        input_shapes=request.input_shapes,
        self_test=vector if isinstance(vector, SelfTest) else None,
        no_self_test=vector if isinstance(vector, str) else "",
        options=asked_options(request),
    )


def partition_model(request: CompileRequest) -> PartitionGraph:
    """Only the first half: import and place, nothing is lowered. Raises as `compile_model` does.

    `run` is simulated, with stand-ins for kernels.
    """
    return _placed(request, ())


def explain_model(request: CompileRequest, operators: Collection[str]) -> PartitionGraph:
    """As `partition_model`; candidates of these operators have the run if the operator went there."""
    return _placed(request, operators)


def explain_shares(request: CompileRequest, operators: Collection[str]) -> tuple[ShareChoice, ...]:
    """Of operators of the model that may be divided, the expected run with other shares of each alone. Raises
    as `compile_model` does: everything is lowered.
    """
    prepared = prepare(request)
    lowered = plan(prepared, request.soc)
    graphs = DividedGraphs(
        base=lowered.whole or lowered.graph,
        setting=_setting(prepared.request, prepared.backends),
        backends=prepared.backends,
        rules=rules(request),
    )
    return tuple(share_choices(lowered.division, graphs, operators))


def _placed(request: CompileRequest, operators: Collection[str]) -> PartitionGraph:
    plug_ins = _plug_ins(request)
    backends = plug_ins.backends_for(request.soc)
    (model, _), _ = _imported(request, backends, plug_ins, Reuse())
    setting = _setting(request, backends)
    graph = _place(request, setting, backends, model, rules(request), Reuse())
    grouping = Grouping(model=model, setting=setting, backends=backends)
    return with_runs(graph, grouping, operators)


def _plug_ins(request: CompileRequest) -> PlugIns:
    return PlugIns.discover(request.backend_dirs) if request.plug_ins is None else request.plug_ins


def _processes(soc: SoC) -> tuple[str, ...]:
    """The names of the load processes of a SoC, each once."""
    return tuple(dict.fromkeys(arch.load.process for arch in soc.archs))


def _imported(
    request: CompileRequest, backends: Mapping[str, Backend], plug_ins: PlugIns, reuse: Reuse
) -> tuple[Imported, MutableMapping[object, Any]]:
    """The imported model, and what backends keep for it.

    Composites are defined by the backends that take part alone: those of the targets, then the host's: it
    has rows for nearly everything, and another's composite may be the same operators.
    """
    require_io(request)
    soc = request.soc
    taking = [a for a in soc.archs if a.host or not request.targets or a.name in request.targets]
    taking.sort(key=lambda arch: arch.host)
    patterns = tuple(dict.fromkeys(pattern for arch in taking for pattern in backends[arch.name].patterns))
    key = ModelKey.of(request, patterns)
    halves = request.optimize is Goal.SIZE and all(
        backends[arch.name].codegen in _WIDENING for arch in taking
    )
    found = reuse.model(key, lambda: _import(request, patterns, plug_ins, halves=halves))
    return found, reuse.store(key, request.optimize, request.tuning)


def _import(
    request: CompileRequest, patterns: tuple[Pattern, ...], plug_ins: PlugIns, *, halves: bool
) -> Imported:
    model, program = import_model(
        request.model_path,
        request.name,
        patterns,
        request.input_shapes,
        request.states,
        plug_ins.operators.converter,
        request.passes,
    )
    if not request.keep_dead:
        model = without_dead_channels(model)
    if halves:
        model = with_half_weights(model)
    return with_own_outputs(model) if request.io is IoOwner.CALLER else model, program


def _setting(request: CompileRequest, backends: Mapping[str, Backend]) -> Setting:
    require_goal(request)
    require_divide(request)
    require_objective(request)
    require_resident(request)
    setting = Setting.of(
        available(request),
        backends,
        memory_mode(request),
        measured_costs(request),
        request.planner,
        request.optimize,
        request.io,
    )
    return evolve(setting, objective=request.objective, within=request.within, resident=request.resident)


def _lower(prepared: PreparedModel, *, advised: bool = True) -> Lowered:
    """Unless `advised`, a refusal has no hint."""
    setting = evolve(_setting(prepared.request, prepared.backends), held=prepared.held)
    request, backends, model = prepared.request, prepared.backends, prepared.model
    wishes = rules(request)

    def lower(
        place: Callable[[Rules], PartitionGraph],
        shared: MutableMapping[object, Any],
        setting: Setting = setting,
        *,
        advised: bool,
    ) -> Lowered:
        wish, policies = request.lowering_order or None, prepared.plug_ins.policies
        lowerer = Lowerer(request.soc, backends, prepared.program, request.tuning, request.optimize, shared)
        return lower_in_order(
            setting=setting,
            place=place,
            order=lambda graph: lowering_order(graph, setting.soc, setting.codegens, wish, policies),
            lower=lowerer.lower,
            rules=wishes,
            advance=lowerer.advance,
            advised=advised,
        )

    def tried(trial: PlacementTrial) -> Lowered:
        lowered = lower(
            lambda rules: _place(request, setting, backends, model, rules, prepared.reuse, trial),
            prepared.shared,
            advised=advised,
        )
        made = [lowered]
        if request.divide is Divide.AUTO and len(setting.soc.instances) > 1:
            graphs = DividedGraphs(base=lowered.graph, setting=setting, backends=backends, rules=wishes)
            divided = divided_where_faster(
                lowered,
                graphs,
                lambda graph, chip: lower(partial(as_placed, graph, wishes), {}, chip, advised=False),
            )
            made = with_choice(setting, lowered, divided)
        for each in made:
            check_imported(model, each.graph)
        return most_often([partial(with_frames, setting, each, wanted_frames(request)) for each in made])

    lowered = lowered_for(setting, tried)
    return evolve(lowered, costs=costs_used(lowered, setting, backends), program=prepared.program)


def _place(
    request: CompileRequest,
    setting: Setting,
    backends: Mapping[str, Backend],
    model: Model,
    rules: Rules,
    reuse: Reuse,
    trial: PlacementTrial = PLAIN,
) -> PartitionGraph:
    return place(
        model,
        setting,
        backends,
        rules,
        order=partitioning_order(request),
        searched=reuse.searches,
        trial=evolve(trial, exact=request.exact),
    )
