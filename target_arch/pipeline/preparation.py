"""A model that was read, with everything that its request asks for: the first part of a compilation."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend, Pattern
from target_arch.backend.port import Hosted, PortKind
from target_arch.diagnostics import refusal
from target_arch.emit.build.machine import require_machine
from target_arch.pipeline.request import CompileRequest
from target_arch.pipeline.resolve import (
    available,
    measured_costs,
    memory_mode,
    partitioning_order,
    require_constants,
    require_divide,
    require_goal,
    require_io,
    require_objective,
    require_resident,
)
from target_arch.pipeline.reuse import Imported, ModelKey, Reuse
from target_arch.plan.goal import Goal
from target_arch.plan.input_range import InputRange, named
from target_arch.plan.kernels import Codegen
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import Model
from target_arch.plan.workloads.workload import StepLimit
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.importer import import_model
from target_arch.relax.operators.moved import with_own_outputs
from target_arch.relax.operators.program import RelaxProgram
from target_arch.soc.model import MemoryMode
from target_arch.stages.setting import Setting
from target_arch.stages.simplification.halves import with_half_weights
from target_arch.stages.simplification.removal import without_dead_channels
from target_arch.stages.simplification.stepped import with_stepped_weights

_WIDENING = (Codegen.C, Codegen.LLVM, Codegen.COMMAND_STREAM, Codegen.NONE)
"""Codegens beside which weights may be in float16: their functions widen them, or they take no floats."""

_BOUND = 2**63
"""Integers of a manifest are less than that, either side of zero."""


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
    step_limit: StepLimit | None = None
    """The most that its steps may take in a workload."""
    bounds: bool = True
    """Whether lower bounds of its runs are computed."""

    @property
    def setting(self) -> Setting:
        """The SoC, the mode and the choices of its request, as stages take them."""
        found = evolve(setting_of(self.request, self.backends), held=self.held, bounds=self.bounds)
        system = self.plug_ins.ports[self.request.port].system
        if not (isinstance(system, Hosted) and system.joins_calls):
            return found
        return evolve(found, joining=frozenset(filter(found.is_function, found.codegens)))


def prepare(request: CompileRequest, reuse: Reuse | None = None) -> PreparedModel:
    """The first part of `compile_model`: everything up to the imported model. Plans of memory are kept where
    there is something to `reuse`: one compilation has few twice.
    """
    plans, reuse = None if reuse is None else reuse.plans, reuse or Reuse()
    mode, plug_ins = memory_mode(request), plug_ins_of(request)
    partitioning_order(request)  # refuses names that the SoC does not have
    port = plug_ins.ports[request.port]
    require_machine(request.soc, port)
    require_constants(request, port)
    planner = evolve(request.planner, algorithms=plug_ins.planners, known=plans)
    request = evolve(request, planner=planner)
    request.planner.check()
    backends = plug_ins.backends_for(request.soc)
    (model, program), shared = imported(request, backends, plug_ins, reuse)
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


def imported(
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
    model = evolve(model, input_ranges=promised(request, model))
    if not request.keep_dead:
        model = without_dead_channels(model)
    if halves:
        model = with_half_weights(with_stepped_weights(model))
    return with_own_outputs(model) if request.io is IoOwner.CALLER else model, program


def promised(request: CompileRequest, model: Model) -> dict[str, InputRange]:
    """The promised ranges by input, without those that are no narrower than the type."""
    place, types = str(request.model_path), {name: model.tensors[name].dtype for name in model.inputs}
    asked = named(request.input_ranges, model.inputs, place)
    ranges = ((name, InputRange.of(name, types[name], ends, place)) for name, ends in asked.items())
    found = {name: each for name, each in ranges if not each.all_of(types[name])}
    for name, each in found.items():
        if types[name] == "float16":
            text = f"input `{name}` is float16, of which nothing can be promised"
            raise refusal("wrong-range", place, text, "promise a range of an input of another type")
        if not -_BOUND < each.low <= each.high < _BOUND and types[name] in ("int64", "uint64"):
            text = f"input `{name}` cannot be promised to be {each}, which takes more than 63 bits"
            raise refusal("wrong-range", place, text, "a narrower range will do, or none")
    return {name: found[name] for name in model.inputs if name in found}


def setting_of(request: CompileRequest, backends: Mapping[str, Backend]) -> Setting:
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


def plug_ins_of(request: CompileRequest) -> PlugIns:
    return PlugIns.discover(request.backend_dirs) if request.plug_ins is None else request.plug_ins
