"""The way of models through the program, on one screen. Every value on the way is kept.

    import → place → lowering order → lower, each with its budget → steps → memory plan → check → emit

Several models go up to the memory plan each in what the others leave of the chip, and become one bundle; one
model is a list of one.

Tests: `tests/test_pipeline.py` and `tests/e2e`.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend, Hooks, LoweringRequest
from target_arch.backend.port import PortKind
from target_arch.diagnostics import Diagnostic, DiagnosticError, listed, name_hint
from target_arch.emit.build.machine import require_machine
from target_arch.emit.bundle import emit_bundle
from target_arch.emit.bundle_name import bundle_name
from target_arch.emit.manifest import manifest
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.plan.bundle import Bundle
from target_arch.plan.execution import Execution
from target_arch.plan.kernels import Kernel
from target_arch.plan.lowered import Attempt, Lowered
from target_arch.plan.memory import Budget, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPools, Sharing, sharing
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.steps import StepOrder
from target_arch.plan.tuning import NOTHING_TUNED, Tuning
from target_arch.registry.guard import Guard
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.importer import import_model
from target_arch.relax.lower.hook_stages import lower_by_hooks, reach
from target_arch.relax.operators.program import Program
from target_arch.run.bundles.manifest import models_in
from target_arch.run.references.find import self_test
from target_arch.soc.costs import NOTHING_MEASURED, Costs
from target_arch.soc.files.cost_file import read_costs
from target_arch.soc.model import MemoryMode, SoC
from target_arch.stages.check.models import check_models
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import Wish, lowering_order
from target_arch.stages.memory.model_pools import model_pools, reduced
from target_arch.stages.memory.multi_model import pack_models
from target_arch.stages.memory.planner import BEST, Planner
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting
from target_arch.stages.steps.expected import with_runs


@frozen(kw_only=True)
class CompileRequest:
    """What a person asks for. None and empty mean: as the SoC file says.

    `order` is the partitioning order (target_archs), `lowering_order` a policy or a list of partition
    ids, or one for each phase. `port`, policies and the planner's algorithm are names of plug-ins.
    `require` and `prefer` map operators (id, kind or `*`) to a target_arch or instance, `forbid` to several;
    they go before those of the SoC file. `targets` selects target_archs and is their partitioning order; the
    host always stays. `costs` were measured and count instead of estimates and of the cost file that the SoC
    file names; with `exact` a solver goes on where the search for a placement ends. `plug_ins` are backends,
    ports and others; without them they are those that are installed and those in `backend_dirs`.
    `images` are programs that the model wants on target_archs, instead of those that the SoC file names.
    """

    model_path: Path
    soc: SoC
    mode: str = "default"
    lowering_order: Wish | Mapping[str, Wish] | None = None
    order: tuple[str, ...] = ()
    require: Mapping[str, str] = field(factory=dict)
    prefer: Mapping[str, str] = field(factory=dict)
    forbid: Mapping[str, tuple[str, ...]] = field(factory=dict)
    targets: tuple[str, ...] = ()
    costs: Costs | None = None
    tuning: Tuning = NOTHING_TUNED
    exact: bool = False
    planner: Planner = BEST
    backend_dirs: tuple[Path, ...] = ()
    plug_ins: PlugIns | None = field(default=None, repr=False)
    name: str | None = None
    port: str = "host"
    images: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class ModelsRequest:
    """Models for one SoC, in the order in which they are planned; one model is a list of one.

    `arenas` is `shared` or `separate`, see `plan.model_pools`. `name` is the bundle's: by default that of a
    single model, `<soc>_models` of several. The models differ in file and name, and may in `require`,
    `prefer` and `forbid`, `costs`, `images` and the like; SoC, memory mode and port are the same for all.
    """

    models: tuple[CompileRequest, ...]
    arenas: Sharing = field(default=Sharing.SHARED, converter=sharing)
    name: str | None = None


@frozen(kw_only=True)
class Compilation:
    """Everything that came to be of one model on the way from a request to a bundle."""

    request: CompileRequest
    model: Model = field(repr=False)
    graph: PartitionGraph
    lowering: LoweringOrder
    kernels: Mapping[str, Kernel] = field(repr=False)
    budgets: tuple[Budget, ...]
    steps: StepOrder = field(repr=False)
    plan: MemoryPlan = field(repr=False)
    execution: Execution | None
    attempts: tuple[Attempt, ...]
    manifest: Mapping[str, object] = field(repr=False)
    bundle: Bundle = field(repr=False)


@frozen(kw_only=True)
class ModelsCompilation:
    """The compilation of every model (the bundle of each is that of all), and their memory together."""

    request: ModelsRequest
    models: tuple[Compilation, ...]
    pools: ModelPools
    manifest: Mapping[str, object] = field(repr=False)
    bundle: Bundle = field(repr=False)


def compile_model(request: CompileRequest) -> Compilation:
    """From a model file and a SoC to a bundle. Every refusal is a DiagnosticError."""
    (made,) = compile_models(ModelsRequest(models=(request,))).models
    return made


def compile_models(request: ModelsRequest) -> ModelsCompilation:
    """From model files and a SoC to one bundle. Every refusal is a DiagnosticError; one that concerns one of
    several models names it.
    """
    name = _bundle_name(request)
    prepared = tuple(prepare(each) for each in _named(request))
    lowered = _pack(prepared, request.arenas)
    inputs = emit_inputs(name, prepared, lowered, request.arenas)
    facts = manifest(inputs)
    bundle = emit_bundle(inputs, facts)
    return ModelsCompilation(
        request=request,
        models=tuple(map(_compilation, prepared, lowered, models_in(facts), repeat(bundle))),
        pools=inputs.pools,
        manifest=facts,
        bundle=bundle,
    )


@frozen(kw_only=True)
class Prepared:
    """A model that was read, and who may take part of it."""

    request: CompileRequest
    mode: MemoryMode
    plug_ins: PlugIns = field(repr=False)
    port: PortKind
    backends: Mapping[str, Backend] = field(repr=False)
    model: Model = field(repr=False)
    program: Program = field(repr=False)


def prepare(request: CompileRequest) -> Prepared:
    """The first part of `compile_model`: everything up to the imported model."""
    mode, plug_ins = _mode(request), _plug_ins(request)
    port = plug_ins.ports[request.port]
    require_machine(request.soc, port)
    request = evolve(request, planner=evolve(request.planner, algorithms=plug_ins.planners))
    request.planner.plan((), {})
    backends = plug_ins.backends_for(request.soc)
    model, program = _import(request, backends)
    return Prepared(
        request=request,
        mode=mode,
        plug_ins=plug_ins,
        port=port,
        backends=backends,
        model=model,
        program=program,
    )


def plan(prepared: Prepared, chip: SoC) -> Lowered:
    """The second part: place, lower and plan, on the part of the chip that other models leave."""
    asked = prepared.request
    request = evolve(asked, soc=_with_images(asked, chip))
    setting = _setting(request, prepared.backends)
    return _lower(evolve(prepared, request=request), setting)


def _pack(prepared: Sequence[Prepared], arenas: Sharing) -> tuple[Lowered, ...]:
    """Every model planned, such that all fit the chip together."""
    request = prepared[0].request
    return pack_models(
        available(request),
        tuple(each.model.name for each in prepared),
        arenas,
        lambda number, taken: plan(prepared[number], reduced(request.soc, taken)),
    )


def emit_inputs(
    name: str, prepared: Sequence[Prepared], lowered: Sequence[Lowered], arenas: Sharing
) -> EmitInputs:
    """What a bundle is emitted from: its models, and their memory together, which is checked."""
    first = prepared[0]
    soc = first.request.soc
    plans = {one.model.name: each.plan for one, each in zip(prepared, lowered, strict=True)}
    pools = model_pools(soc, plans, arenas)
    check_models(available(first.request), pools, plans)
    return EmitInputs(
        name=name,
        soc=soc,
        mode=first.mode,
        backends=first.backends,
        members=tuple(map(_member, prepared, lowered)),
        pools=pools,
        port=first.port,
        processes={name: first.plug_ins.load_processes[name] for name in _processes(soc)},
    )


def _member(prepared: Prepared, lowered: Lowered) -> Member:
    request = prepared.request
    vector = self_test(request.model_path)
    return Member(model=prepared.model, lowered=lowered, tuning=request.tuning, self_test=vector)


def _compilation(
    prepared: Prepared, lowered: Lowered, facts: Mapping[str, object], bundle: Bundle
) -> Compilation:
    """All values of the way, with the bundle at its end."""
    return Compilation(
        request=prepared.request,
        model=prepared.model,
        graph=lowered.graph,
        lowering=lowered.order,
        kernels=lowered.kernels,
        budgets=lowered.budgets,
        steps=lowered.steps,
        plan=lowered.plan,
        execution=lowered.execution,
        attempts=lowered.attempts,
        manifest=facts,
        bundle=bundle,
    )


def _named(request: ModelsRequest) -> tuple[CompileRequest, ...]:
    """The models; a single one without a name has the bundle's."""
    if len(request.models) > 1:
        return request.models
    return tuple(evolve(each, name=each.name or request.name) for each in request.models)


def _bundle_name(request: ModelsRequest) -> str:
    """The bundle's name. Raises DiagnosticError with everything that is wrong with the list of models."""
    if not isinstance(request.arenas, Sharing):
        message, hint = (
            f"arenas cannot be `{request.arenas}`",
            name_hint(request.arenas, Sharing, "there are"),
        )
        raise DiagnosticError([Diagnostic(rule="unknown-arenas", place="arenas", message=message, hint=hint)])
    files = [(each.name or each.model_path.stem, each.model_path.name) for each in _named(request)]
    return bundle_name(request.models[0].soc.name, files, request.name)


def partition_model(request: CompileRequest) -> PartitionGraph:
    """Only the first half: import and place, nothing is lowered. Raises as `compile_model` does.

    `run` is simulated, with stand-ins for kernels.
    """
    return _placed(request, ())


def explain_model(request: CompileRequest, operators: Collection[str]) -> PartitionGraph:
    """As `partition_model`; candidates of these operators have the run if the operator went there."""
    return _placed(request, operators)


def _placed(request: CompileRequest, operators: Collection[str]) -> PartitionGraph:
    backends = _plug_ins(request).backends_for(request.soc)
    model, _ = _import(request, backends)
    setting = _setting(request, backends)
    graph = _place(request, setting, backends, model, _rules(request))
    grouping = Grouping(model=model, setting=setting, backends=backends)
    return with_runs(graph, grouping, operators)


def _plug_ins(request: CompileRequest) -> PlugIns:
    return PlugIns.discover(request.backend_dirs) if request.plug_ins is None else request.plug_ins


def _processes(soc: SoC) -> tuple[str, ...]:
    """The names of the load processes of a SoC, each once."""
    return tuple(dict.fromkeys(arch.load.process for arch in soc.archs))


def _import(request: CompileRequest, backends: Mapping[str, Backend]) -> tuple[Model, Program]:
    """Only the backends that take part say what is a composite: the host's and those of the targets."""
    soc = request.soc
    taking = (a for a in soc.archs if a.host or not request.targets or a.name in request.targets)
    patterns = dict.fromkeys(pattern for arch in taking for pattern in backends[arch.name].patterns)
    return import_model(request.model_path, request.name, tuple(patterns))


def _setting(request: CompileRequest, backends: Mapping[str, Backend]) -> Setting:
    return Setting.of(available(request), backends, _mode(request), _costs(request), request.planner)


def _lower(prepared: Prepared, setting: Setting) -> Lowered:
    request, backends, model = prepared.request, prepared.backends, prepared.model
    wish, policies = request.lowering_order or None, prepared.plug_ins.policies
    lowerer = _Lowerer(request.soc, backends, prepared.program, request.tuning)
    return lower_in_order(
        setting=setting,
        place=lambda rules: _place(request, setting, backends, model, rules),
        order=lambda graph: lowering_order(graph, setting.soc, setting.codegens, wish, policies),
        lower=lowerer.lower,
        rules=_rules(request),
        advance=lowerer.advance,
    )


def available(request: CompileRequest) -> SoC:
    """The chip with the memory that models may take: less the stack that the port's program has.

    Code and variables are known once the bundle is compiled for the machine
    (`target_arch.run.executables.image`).
    """
    port = request.soc.port(request.port)
    if port is None:
        return request.soc
    return reduced(request.soc, {port.data: port.stack})


@frozen
class _Lowerer:
    """Hands partitions to the backends of their instances, with what they made of them in earlier phases."""

    soc: SoC
    backends: Mapping[str, Backend]
    program: Program
    tuning: Tuning
    earlier: dict[tuple[str, tuple[str, ...]], Mapping[str, Any]] = field(factory=dict)

    def lower(self, graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
        """The kernel of a partition."""
        request = self._request(graph, partition, budget)
        backend = self.backends[request.instance.arch.name]
        if backend.lower is not None:
            return backend.lower(request)
        kernel: Kernel = Guard(lower_by_hooks, "hooks", backend.name)(backend.hooks or Hooks(), request)
        return kernel

    def advance(self, graph: PartitionGraph, partition: Partition, phase: str) -> None:
        """Take a partition up to this phase; one whose backend has no stages waits for its kernel."""
        request = self._request(graph, partition, Budget(partition=partition.id, sites={}))
        backend = self.backends[request.instance.arch.name]
        if backend.hooks is not None:
            stages = Guard(reach, "hooks", backend.name)(backend.hooks, request, phase)
            self.earlier[partition.instance, _ids(partition)] = stages

    def _request(self, graph: PartitionGraph, partition: Partition, budget: Budget) -> LoweringRequest:
        return LoweringRequest(
            partition=partition,
            model=graph.model,
            soc=self.soc,
            instance=self.soc.instance(partition.instance),
            budget=budget,
            program=self.program,
            tuning=self.tuning,
            earlier=self.earlier.get((partition.instance, _ids(partition)), {}),
        )


def _ids(partition: Partition) -> tuple[str, ...]:
    return tuple(operator.id for operator in partition.operators)


def _place(
    request: CompileRequest, setting: Setting, backends: Mapping[str, Backend], model: Model, rules: Rules
) -> PartitionGraph:
    return place(model, setting, backends, rules, order=_order(request), exact=request.exact)


def _with_images(request: CompileRequest, soc: SoC) -> SoC:
    """The SoC with the programs that the model wants on target_archs."""
    known = {arch.name: arch for arch in soc.archs}
    for name in request.images:
        if name not in known:
            raise _refused("unknown-target", f"`{soc.name}` has no target_arch `{name}`", name, tuple(known))
        if known[name].load.image is None:
            said = f"`{name}` takes no image: its load process is `{known[name].load.process}`"
            able = listed([each for each in known if known[each].load.image is not None])
            hint = f"those that take one: {able}" if able else None
            found = Diagnostic(rule="no-image", place="command line", message=said, hint=hint)
            raise DiagnosticError([found])
    return evolve(
        soc,
        archs=tuple(
            evolve(arch, load=evolve(arch.load, image=request.images.get(arch.name, arch.load.image)))
            for arch in soc.archs
        ),
    )


def _costs(request: CompileRequest) -> Costs:
    """What was measured: as asked for, else as the file says that the SoC names."""
    if request.costs is not None:
        return request.costs
    file = request.soc.cost_file
    return read_costs(Path(file), request.soc) if file else NOTHING_MEASURED


def _mode(request: CompileRequest) -> MemoryMode:
    known = tuple(mode.name for mode in request.soc.modes)
    if request.mode not in known:
        raise _refused(
            "unknown-mode", f"`{request.soc.name}` has no memory mode `{request.mode}`", request.mode, known
        )
    return request.soc.mode(request.mode)


def _order(request: CompileRequest) -> tuple[str, ...]:
    """The partitioning order: targets that were named come first, then the rest as the SoC file has it."""
    known = tuple(arch.name for arch in request.soc.archs)
    for name in (*request.order, *request.targets):
        if name not in known:
            raise _refused("unknown-target", f"`{request.soc.name}` has no target_arch `{name}`", name, known)
    for name in request.order:
        if request.order.count(name) > 1:
            said = f"the partitioning order names `{name}` twice"
            raise DiagnosticError([Diagnostic(rule="repeated-name", place="command line", message=said)])
    named = tuple(dict.fromkeys((*request.order, *request.targets)))
    return named + tuple(name for name in request.soc.partitioning if name not in named)


def _rules(request: CompileRequest) -> Rules:
    forbidden = tuple(
        (operator, target) for operator in request.forbid for target in request.forbid[operator]
    )
    soc = request.soc
    left_out = (arch.name for arch in soc.archs if not arch.host and arch.name not in request.targets)
    forbidden += tuple((operator, target) for operator in soc.forbid for target in soc.forbid[operator])
    return Rules(
        require={**soc.require, **request.require},
        prefer={**soc.prefer, **request.prefer},
        forbid=tuple(dict.fromkeys(forbidden)),
        left_out=frozenset(left_out if request.targets else ()),
        general=frozenset(
            {*soc.require, *soc.prefer, *soc.forbid} - {*request.require, *request.prefer, *request.forbid}
        ),
    )


def _refused(rule: str, message: str, name: str, known: tuple[str, ...]) -> DiagnosticError:
    hint = name_hint(name, known, "declared here")
    return DiagnosticError([Diagnostic(rule=rule, place="command line", message=message, hint=hint)])
