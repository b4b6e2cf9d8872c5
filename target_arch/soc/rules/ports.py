"""Rules about ports: the memories in which a port puts a program are there, seen and writable."""

from collections.abc import Iterator

from target_arch.soc.c_names import declared
from target_arch.soc.faults import Fault, Path
from target_arch.soc.model import Port, SoC
from target_arch.soc.rules.memory import named


def _places(soc: SoC) -> Iterator[Fault]:
    for port in soc.ports:
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


PORTS = (_places,)
