"""The rules between a SoC and plug-ins as a whole: its load processes, ports, lowering orders and kinds of
operators exist, and have the settings that they need.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from target_arch.backend.load_process import LoadProcessKind
from target_arch.backend.port import Machine, PortKind
from target_arch.diagnostics import listed, name_hint
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.registry.lookup.table import PlugInTable
from target_arch.soc.c_names import declared
from target_arch.soc.faults import Fault, Path, Related
from target_arch.soc.model import Memory, Port, SoC, TargetArch
from target_arch.soc.rules.wishes import EVERY
from target_arch.stages.division.axes import divisible_kinds


def process_faults(soc: SoC, known: PlugInTable[LoadProcessKind]) -> Iterator[Fault]:
    """Every fault of a SoC in the use of load processes."""
    for arch in soc.archs:
        name = arch.load.process
        if name not in known:
            path: Path = ("target_arch", arch.name, "load")
            message = f"load process `{name}` is not installed"
            hint = name_hint(name, known.names, "there are")
            yield Fault(rule="unknown-load-process", path=path, message=message, hint=hint)
        else:
            yield from _image_faults(arch, known[name])
    used = {arch.load.process: arch for arch in soc.archs if arch.load.process in known}
    for first, second in combinations(used, 2):
        if known[first].number == known[second].number:
            number = f"{known[first].number}: {known.origin(first)}; {known.origin(second)}"
            message = f"load processes `{first}` and `{second}` have one number, {number}"
            path = ("target_arch", used[second].name, "load")
            yield Fault(rule="same-number", path=path, message=message, hint="give one of them another")


def _image_faults(arch: TargetArch, kind: LoadProcessKind) -> Iterator[Fault]:
    load, path = arch.load, ("target_arch", arch.name, "load")
    where = f"load process `{kind.name}` of target_arch `{arch.name}`"
    if kind.image is not None:
        if load.image is None:
            message = f"{where} has no image"
            hint = f'write `load = {{ process = "{kind.name}", image = "{arch.name}{kind.image}" }}`'
            yield Fault(rule="missing-image", path=path, message=message, hint=hint)
    elif load.image is not None or load.bytes:
        key = "bytes" if load.image is None else "image"
        yield Fault(rule="unused-image", path=(*path, key), message=f"{where} takes no `{key}`")


def port_faults(soc: SoC, known: PlugInTable[PortKind]) -> Iterator[Fault]:
    """Every fault of a SoC in the tables of its ports."""
    for port in soc.ports:
        path: Path = ("port", port.name)
        if port.name not in known:
            message = f"port `{port.name}` is not installed"
            hint = name_hint(port.name, known.names, "there are")
            yield Fault(rule="unknown-port", path=path, message=message, hint=hint, at_key=True)
            continue
        bare = known[port.name].bare_metal
        if bare is None:
            message = f"port `{port.name}` runs under an operating system and takes no table"
            yield Fault(rule="unused-port", path=path, message=message, hint="leave it out", at_key=True)
            continue
        machines = {machine.name: machine for machine in bare.machines}
        if port.machine not in machines:
            message = f"port `{port.name}` runs on no machine `{port.machine}`"
            hint = name_hint(port.machine, machines, "it runs on")
            yield Fault(rule="unknown-machine", path=(*path, "machine"), message=message, hint=hint)
        else:
            yield from _not_in_machine(soc, port, machines[port.machine])


def _not_in_machine(soc: SoC, port: Port, machine: Machine) -> Iterator[Fault]:
    """Every memory that the host sees is used by the program, so each must be there."""
    for memory in soc.memories:
        if memory.base is not None and not _holds(machine, memory):
            yield _elsewhere(port, machine, memory)


def _holds(machine: Machine, memory: Memory) -> bool:
    base = memory.base or 0
    return any(
        region.start <= base and base + memory.size <= region.end and (region.writable or not memory.writable)
        for region in machine.regions
    )


def _elsewhere(port: Port, machine: Machine, memory: Memory) -> Fault:
    base = memory.base or 0
    kind = "RAM" if memory.writable else "memory"
    regions = (
        f"{region.start:#x} up to {region.end - 1:#x}{'' if region.writable else ' (ROM)'}"
        for region in machine.regions
    )
    runs_on = Related(path=("port", port.name, "machine"), message=f"port `{port.name}` runs on it")
    return Fault(
        rule="not-in-machine",
        path=(*declared(memory), "base"),
        message=f"`{machine.name}` has no {kind} at {base:#x} up to {base + memory.size - 1:#x}",
        hint=f"it has {', '.join(regions)}",
        related=(runs_on,),
    )


def order_faults(soc: SoC, known: tuple[str, ...]) -> Iterator[Fault]:
    """Policies that a SoC's lowering orders name and that do not exist."""
    wishes: Mapping[str, str | tuple[str, ...]] = {"order": soc.lowering, **soc.lowering_phases}
    for key, wish in wishes.items():
        if isinstance(wish, str) and wish not in known:
            message = f"lowering order `{wish}` is not installed"
            hint = name_hint(wish, known, "there are")
            yield Fault(rule="unknown-policy", path=("lowering", key), message=message, hint=hint)


def kind_faults(soc: SoC, known: Iterable[str]) -> Iterator[Fault]:
    """Kinds of operators that placement rules name and that do not exist."""
    kinds = {EVERY, *known}
    wishes: Mapping[str, Iterable[str]] = {
        "require": soc.require,
        "prefer": soc.prefer,
        "forbid": soc.forbid,
        "divide": soc.divide,
    }
    for verb, named in wishes.items():
        for kind in named:
            if kind not in kinds:
                message = f"there is no kind of operator `{kind}`"
                hint = name_hint(kind, sorted(kinds), "there are")
                path: Path = ("partitioning", verb, kind)
                yield Fault(rule="unknown-operator", path=path, message=message, hint=hint, at_key=True)


def division_faults(soc: SoC) -> Iterator[Fault]:
    """Kinds of operators that a rule divides and that are never divided."""
    able = divisible_kinds()
    for kind in soc.divide:
        if kind in {*OperatorKind} - {*able}:
            message = f"operators of the kind `{kind}` cannot be divided"
            hint = f"kinds that can: {listed(sorted(able))}"
            path: Path = ("partitioning", "divide", kind)
            yield Fault(rule="not-divisible", path=path, message=message, hint=hint, at_key=True)
