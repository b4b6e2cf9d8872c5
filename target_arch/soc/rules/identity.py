"""Rules about identity: one host, which is linked, one DLDevice each, one C name each, complete orders."""

from collections.abc import Iterator
from itertools import combinations

from target_arch.diagnostics import listed
from target_arch.soc.c_names import c_names
from target_arch.soc.faults import Fault, Path, Related, dotted
from target_arch.soc.model import DLDevice, SoC, TargetArch
from target_arch.soc.rules.references import ALL_ARCHS
from target_arch.soc.words import LINKED, DLDeviceType

_HOST_DEVICE = DLDeviceType.CPU


def _no_host(soc: SoC) -> Iterator[Fault]:
    if not any(arch.host for arch in soc.archs):
        message = "no target_arch is the host"
        hint = "say `host = true` in the one that runs the bundle"
        uses: tuple[Path, ...] = (ALL_ARCHS, *(("target_arch", arch.name, "host") for arch in soc.archs))
        yield Fault(rule="no-host", path=("target_arch",), message=message, hint=hint, uses=uses)


def _two_hosts(soc: SoC) -> Iterator[Fault]:
    hosts = [arch for arch in soc.archs if arch.host]
    for other in hosts[1:]:
        message = f"target_arch `{other.name}` is a second host"
        related = Related(path=_at(hosts[0], "host"), message=f"`{hosts[0].name}` is the host already")
        yield Fault(rule="two-hosts", path=_at(other, "host"), message=message, related=(related,))


def _host(soc: SoC) -> Iterator[Fault]:
    for arch in soc.archs:
        if not arch.host:
            continue
        if arch.device.type != _HOST_DEVICE:
            message = f"the host `{arch.name}` is a `{arch.device.type}`"
            hint = f"a host is a `{_HOST_DEVICE}`"
            path = _at(arch, "device", "type")
            yield Fault(
                rule="host-device", path=path, message=message, hint=hint, uses=(_at(arch, "device"),)
            )
        if arch.instances != 1:
            message = f"the host `{arch.name}` has {arch.instances} instances"
            hint = "there is one host; describe further cores as a target_arch of their own"
            yield Fault(rule="host-instances", path=_at(arch, "instances"), message=message, hint=hint)
        if arch.load.process != LINKED:
            message = f"the host `{arch.name}` has load process `{arch.load.process}`"
            hint = 'the bundle is part of the host\'s program: `load = "linked"`'
            yield Fault(rule="host-load", path=_at(arch, "load"), message=message, hint=hint)


def _same_device(soc: SoC) -> Iterator[Fault]:
    for first, second in combinations(soc.archs, 2):
        shared = _devices(first) & _devices(second)
        if shared:
            message = f"target_archs `{first.name}` and `{second.name}` are both {listed(map(str, shared))}"
            related = Related(path=_at(first, "device"), message=f"`{first.name}` is declared here")
            free = 1 + max(arch.device.id + arch.instances - 1 for arch in soc.archs if _alike(arch, second))
            hint = f"`id = {free}` is free"
            uses = (
                _at(first, "device"),
                _at(second, "device"),
                _at(first, "instances"),
                _at(second, "instances"),
            )
            yield Fault(
                rule="same-device",
                path=_at(second, "device"),
                message=message,
                hint=hint,
                related=(related,),
                uses=uses,
            )


def _name_clash(soc: SoC) -> Iterator[Fault]:
    owners: dict[str, Path] = {}
    clashing: set[tuple[Path, Path]] = set()
    for name, path in c_names(soc):
        first = owners.setdefault(name, path)
        if first != path and (first, path) not in clashing:
            clashing.add((first, path))
            message = f"`{dotted(path)}` and `{dotted(first)}` both become `{name}` in C"
            related = Related(path=first, message=f"`{dotted(first)}` is declared here")
            yield Fault(rule="name-clash", path=path, message=message, related=(related,), at_key=True)


def _named_alike(soc: SoC) -> Iterator[Fault]:
    """In a file TOML itself forbids this."""
    sections = {
        "memory": [memory.name for memory in soc.memories],
        "dma": [dma.name for dma in soc.dmas],
        "target_arch": [arch.name for arch in soc.archs],
        "memory_mode": [mode.name for mode in soc.modes],
    }
    for section, names in sections.items():
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            path = (section, name)
            yield Fault(rule="duplicate-key", path=path, message=f"`{dotted(path)}` is declared twice")


def _orders(soc: SoC) -> Iterator[Fault]:
    missing = [arch.name for arch in soc.archs if arch.name not in soc.partitioning]
    if missing:
        path: Path = ("partitioning", "order")
        message = f"the partitioning order leaves out {listed(missing)}"
        hint = "name every target_arch, so that all may claim operators"
        yield Fault(rule="missing-from-order", path=path, message=message, hint=hint, uses=(path, ALL_ARCHS))


def _default_mode(soc: SoC) -> Iterator[Fault]:
    if not any(mode.name == "default" for mode in soc.modes):
        message = "no memory mode is named `default`"
        names = listed(mode.name for mode in soc.modes)
        hint = f"rename one of {names} or add one" if names else "add `[memory_mode.default]`"
        path: Path = ("memory_mode",)
        yield Fault(
            rule="no-default-mode", path=path, message=message, hint=hint, uses=(("memory_mode", "*"),)
        )


def _devices(arch: TargetArch) -> set[DLDevice]:
    return {DLDevice(type=arch.device.type, id=arch.device.id + index) for index in range(arch.instances)}


def _alike(one: TargetArch, other: TargetArch) -> bool:
    return one.device.type == other.device.type


def _at(arch: TargetArch, *keys: str) -> Path:
    return ("target_arch", arch.name, *keys)


IDENTITY = (
    _no_host,
    _two_hosts,
    _host,
    _same_device,
    _name_clash,
    _named_alike,
    _orders,
    _default_mode,
)
