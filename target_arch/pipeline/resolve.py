"""A request against its SoC: names become parts of the chip, rules of both are joined.

Messages have the field of the request as their place.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from target_arch.backend.port import PortKind
from target_arch.diagnostics import Diagnostic, DiagnosticError, listed, name_hint, refusal
from target_arch.emit.bundle_name import bundle_name
from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.division import Divide
from target_arch.plan.goal import Goal
from target_arch.plan.inputs.time_limit import bad_limit
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import model_name
from target_arch.plan.model_pools import Sharing
from target_arch.plan.objective import Objective
from target_arch.plan.resident import Resident
from target_arch.soc.costs import NOTHING_MEASURED, Costs
from target_arch.soc.files.cost_file import read_costs
from target_arch.soc.model import MemoryMode, SoC
from target_arch.soc.stacks import stack_bytes
from target_arch.stages.memory.model_pools import reduced
from target_arch.stages.placement.rules import Rules


def named_models(request: ModelsRequest) -> tuple[CompileRequest, ...]:
    """The models; a single one without a name has the bundle's."""
    if len(request.models) > 1:
        return request.models
    return tuple(evolve(each, name=each.name or request.name) for each in request.models)


def name_of_bundle(request: ModelsRequest) -> str:
    """The bundle's name. Raises DiagnosticError with everything that is wrong with the list of models."""
    if not request.models:
        raise refusal("no-models", "models", "there is no model to compile")
    if not isinstance(request.arenas, Sharing):
        hint = name_hint(request.arenas, Sharing, "there are")
        raise refusal("unknown-arenas", "arenas", f"arenas cannot be `{request.arenas}`", hint)
    files = [(_name(each), each.model_path.name) for each in named_models(request)]
    return bundle_name(request.models[0].soc.name, files, request.name)


_OF_THE_BUNDLE = ("soc", "mode", "port", "optimize", "memory", "constants")
"""The fields of a request that a bundle has once, whatever the number of its models."""


def require_alike(request: ModelsRequest) -> None:
    """DiagnosticError where the models want different chips, modes, ports, goals, memory, or constants."""
    first, *others = request.models
    differing = [
        (field, each)
        for field in _OF_THE_BUNDLE
        for each in others
        if getattr(each, field) != getattr(first, field)
    ]
    faults = [
        Diagnostic(
            rule="unlike-models",
            place=field,
            message=f"`{_name(each)}` has another than `{_name(first)}`, and models of one bundle have one",
            hint="give all models the same, or make a bundle of each",
        )
        for field, each in differing
    ]
    if faults:
        raise DiagnosticError(faults)


def _name(request: CompileRequest) -> str:
    """The name that the model will have."""
    return model_name(request.name or request.model_path.stem)


def available(request: CompileRequest) -> SoC:
    """The chip with the memory that models may take: less the stacks of the port's program and of cores,
    and no more than was asked for.

    Code and variables are known once the bundle is compiled for the machine
    (`target_arch.run.executables.image`). Raises DiagnosticError for a memory that the SoC does not have.
    """
    known = tuple(memory.name for memory in request.soc.memories)
    for name in request.memory:
        if name not in known:
            raise _unknown("memory", "memory", name, request.soc, known)
    soc = whole(request)
    memories = (evolve(m, size=min(m.size, request.memory.get(m.name, m.size))) for m in soc.memories)
    return evolve(soc, memories=tuple(memories)) if request.memory else soc


def whole(request: CompileRequest) -> SoC:
    """The chip with the memory that models and the buffers of their caller may take together: less the stacks
    of the port's program and of cores.
    """
    stacks = Counter(stack_bytes(request.soc))
    port = request.soc.port(request.port)
    if port is not None:
        stacks[port.data] += port.stack
    return reduced(request.soc, stacks) if stacks else request.soc


def programmed(request: CompileRequest, soc: SoC) -> SoC:
    """The SoC with the programs that the model wants on target_archs.

    Raises DiagnosticError for a target_arch that does not exist or takes no program.
    """
    known = {arch.name: arch for arch in soc.archs}
    for name in request.images:
        if name not in known:
            raise _unknown("images", "target_arch", name, soc, tuple(known))
        if known[name].load.image is None:
            said = f"`{name}` takes no image: its load process is `{known[name].load.process}`"
            able = listed([each for each in known if known[each].load.image is not None])
            raise refusal("no-image", "images", said, f"those that take one: {able}" if able else None)
    return evolve(
        soc,
        archs=tuple(
            evolve(arch, load=evolve(arch.load, image=request.images.get(arch.name, arch.load.image)))
            for arch in soc.archs
        ),
    )


def measured_costs(request: CompileRequest) -> Costs:
    """The measured costs: as asked for, else from the file that the SoC names."""
    if request.costs is not None:
        return request.costs
    file = request.soc.cost_file
    return read_costs(Path(file), request.soc) if file else NOTHING_MEASURED


def require_goal(request: CompileRequest) -> None:
    """DiagnosticError for a goal that there is not."""
    if not isinstance(request.optimize, Goal):
        hint = name_hint(request.optimize, Goal, "there are")
        raise refusal("unknown-goal", "optimize", f"there is no goal `{request.optimize}`", hint)


def require_divide(request: CompileRequest) -> None:
    """DiagnosticError for a choice of division that there is not."""
    if not isinstance(request.divide, Divide):
        hint = name_hint(request.divide, Divide, "there are")
        raise refusal("unknown-divide", "divide", f"there is no choice `{request.divide}`", hint)


def require_objective(request: CompileRequest) -> None:
    """DiagnosticError for an objective that there is not, and a limit of time that is none."""
    if not isinstance(request.objective, Objective):
        hint = name_hint(request.objective, Objective, "there are")
        raise refusal("unknown-objective", "objective", f"there is no objective `{request.objective}`", hint)
    if request.within is not None and not request.within > 0:
        raise bad_limit(f"{request.within:g} s")


def require_resident(request: CompileRequest) -> None:
    """DiagnosticError for a choice of residents that there is not."""
    if not isinstance(request.resident, Resident):
        hint = name_hint(request.resident, Resident, "there are")
        raise refusal("unknown-resident", "resident", f"there is no choice `{request.resident}`", hint)


def require_io(request: CompileRequest) -> None:
    """DiagnosticError for an owner of inputs and outputs that there is not."""
    if not isinstance(request.io, IoOwner):
        hint = name_hint(request.io, IoOwner, "there are")
        raise refusal("unknown-io", "io", f"inputs and outputs cannot be the {request.io}'s", hint)


def require_constants(request: CompileRequest, port: PortKind) -> None:
    """DiagnosticError for a form of constants that there is not, or whose files the port's programs would not
    find.
    """
    if not isinstance(request.constants, ConstantsForm):
        hint = name_hint(request.constants, ConstantsForm, "there are")
        raise refusal("unknown-constants", "constants", f"constants cannot be `{request.constants}`", hint)
    finds = port.hosted.simulates or (port.bare_metal is not None and port.bare_metal.load_file)
    if request.constants is ConstantsForm.FILE and not finds:
        text = f"programs on port `{port.name}` have no way to find a weights file"
        raise refusal("no-weights-files", "constants", text, "let constants be linked: `section`, or `text`")


def memory_mode(request: CompileRequest) -> MemoryMode:
    """The memory mode. Raises DiagnosticError for one that the SoC does not have."""
    known = tuple(mode.name for mode in request.soc.modes)
    if request.mode not in known:
        raise _unknown("mode", "memory mode", request.mode, request.soc, known)
    return request.soc.mode(request.mode)


def partitioning_order(request: CompileRequest) -> tuple[str, ...]:
    """The partitioning order: named targets come first, then the others as in the SoC file.

    Raises DiagnosticError for a name that the SoC does not have, and for one that is given twice.
    """
    known = tuple(arch.name for arch in request.soc.archs)
    named = dict.fromkeys(request.order, "order") | dict.fromkeys(request.targets, "targets")
    for name, place in named.items():
        if name not in known:
            raise _unknown(place, "target_arch", name, request.soc, known)
    for name in request.order:
        if request.order.count(name) > 1:
            raise refusal("repeated-name", "order", f"the partitioning order names `{name}` twice")
    return (*named, *(name for name in request.soc.partitioning if name not in named))


def rules(request: CompileRequest) -> Rules:
    """The rules of the request and of the SoC file, those of the request first.

    Raises DiagnosticError where the request drops a rule that the SoC file does not have.
    """
    _require_dropped(request)
    forbidden = tuple(
        (operator, target) for operator in request.forbid for target in request.forbid[operator]
    )
    soc = request.soc
    left_out = (arch.name for arch in soc.archs if not arch.host and arch.name not in request.targets)
    kept = (operator for operator in soc.forbid if request.forbid.get(operator) != ())
    forbidden += tuple((operator, target) for operator in kept for target in soc.forbid[operator])
    return Rules(
        require=_without_dropped({**soc.require, **request.require}),
        prefer=_without_dropped({**soc.prefer, **request.prefer}),
        forbid=tuple(dict.fromkeys(forbidden)),
        left_out=frozenset(left_out if request.targets else ()),
        devices={instance.device: instance.name for instance in soc.instances},
        general=frozenset(
            {*soc.require, *soc.prefer, *soc.forbid} - {*request.require, *request.prefer, *request.forbid}
        ),
    )


def _require_dropped(request: CompileRequest) -> None:
    kinds = {"require": request.soc.require, "prefer": request.soc.prefer, "forbid": request.soc.forbid}
    faults = [
        Diagnostic(
            rule="no-rule",
            place=kind,
            message=f"`{request.soc.name}` has no rule `{kind}` for `{operator}` that could be dropped",
            hint=name_hint(operator, there, "it has some for") if there else "leave it out",
        )
        for kind, there in kinds.items()
        for operator, target in getattr(request, kind).items()
        if not target and operator not in there
    ]
    if faults:
        raise DiagnosticError(faults)


def _without_dropped(rules: Mapping[str, str]) -> dict[str, str]:
    """Without those for which the request names nothing."""
    return {operator: target for operator, target in rules.items() if target}


def _unknown(place: str, kind: str, name: str, soc: SoC, known: tuple[str, ...]) -> DiagnosticError:
    """A name in a field of the request that the SoC does not have."""
    hint = name_hint(name, known, "declared here")
    rule = {"mode": "unknown-mode", "memory": "unknown-memory"}.get(place, "unknown-target")
    return refusal(rule, place, f"`{soc.name}` has no {kind} `{name}`", hint)
