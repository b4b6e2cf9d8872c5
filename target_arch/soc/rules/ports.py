"""Rules about ports: what a description says of a machine must fit the machine."""

from collections.abc import Iterator

from target_arch.diagnostics import name_hint
from target_arch.soc.c_names import declared
from target_arch.soc.faults import Fault, Path, Related
from target_arch.soc.machines import MACHINE_PORTS, MACHINES, Machine
from target_arch.soc.model import Memory, Port, SoC
from target_arch.soc.rules.memory import named


def _unknown_port(soc: SoC) -> Iterator[Fault]:
    for port in soc.ports:
        if port.name not in MACHINE_PORTS:
            path: Path = ("port", port.name)
            message = f"no port `{port.name}` takes a table"
            hint = name_hint(port.name, MACHINE_PORTS, "those that do")
            yield Fault(rule="unknown-port", path=path, message=message, hint=hint, uses=(path,), at_key=True)


def _not_in_machine(soc: SoC) -> Iterator[Fault]:
    """Every memory that the host sees is used by the program, so each must be there."""
    for port in soc.ports:
        machine = MACHINES[port.machine]
        for memory in soc.memories:
            if memory.base is not None and not _holds(machine, memory):
                yield _elsewhere(port, memory)
        for key, needs_write in (("code", False), ("data", True)):
            yield from _unfit(soc, port, key, needs_write)


def _unfit(soc: SoC, port: Port, key: str, needs_write: bool) -> Iterator[Fault]:
    path: Path = ("port", port.name, key)
    for memory in named(soc, getattr(port, key)):
        if memory.base is None:
            message = f"port `{port.name}` puts {key} in `{memory.name}`, unseen by the host"
            yield Fault(rule="pool-not-visible", path=path, message=message, uses=(path, declared(memory)))
        elif needs_write and not memory.writable:
            message = f"port `{port.name}` puts {key} in memory `{memory.name}`, which is not writable"
            yield Fault(rule="read-only", path=path, message=message, uses=(path, declared(memory)))


def _holds(machine: Machine, memory: Memory) -> bool:
    base = memory.base or 0
    return any(
        region.start <= base and base + memory.size <= region.end and (region.writable or not memory.writable)
        for region in machine.regions
    )


def _elsewhere(port: Port, memory: Memory) -> Fault:
    base = memory.base or 0
    place: Path = (*declared(memory), "base")
    machine = ("port", port.name, "machine")
    kind = "RAM" if memory.writable else "memory"
    message = f"`{port.machine}` has no {kind} at {base:#x} up to {base + memory.size - 1:#x}"
    regions = (
        f"{region.start:#x} up to {region.end - 1:#x}{'' if region.writable else ' (ROM)'}"
        for region in MACHINES[port.machine].regions
    )
    return Fault(
        rule="not-in-machine",
        path=place,
        message=message,
        hint=f"it has {', '.join(regions)}",
        related=(Related(path=machine, message=f"port `{port.name}` runs on it"),),
        uses=(place, machine, (*declared(memory), "size")),
    )


PORTS = (_unknown_port, _not_in_machine)
