"""Rules about names: every name that is used must be declared."""

from collections.abc import Iterable, Iterator

from target_arch.diagnostics import name_hint
from target_arch.soc.c_names import PURPOSES
from target_arch.soc.faults import Fault, Path
from target_arch.soc.model import HOST_ENGINE, SoC

ALL_MEMORIES: Path = ("memory", "*")
ALL_ARCHS: Path = ("target_arch", "*")


def declared_name(soc: SoC, name: str) -> str:
    """The name a memory is declared by: that of its declaration for one of several replicas."""
    return next((memory.replica_of or memory.name for memory in soc.memories if memory.name == name), name)


def named_in_list(soc: SoC, path: Path, names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Each memory of a list, by the name and at the place it has in the file."""
    declared = dict.fromkeys(declared_name(soc, name) for name in names)
    return (((*path, index), name) for index, name in enumerate(declared))


def memories_named(soc: SoC) -> Iterator[tuple[Path, str]]:
    """Every place that names a memory, with the name."""
    for arch in soc.archs:
        yield from named_in_list(soc, ("target_arch", arch.name, "memory"), arch.memory)
        for buffer, name in arch.buffers.items():
            yield ("target_arch", arch.name, "buffers", buffer), declared_name(soc, name)
        if arch.cores and arch.cores.stack_memory:
            path = ("target_arch", arch.name, "cores", "stack_memory")
            yield path, declared_name(soc, arch.cores.stack_memory)
    for index, copy in enumerate(soc.copies):
        yield ("copy", index, "from"), declared_name(soc, copy.source)
        yield ("copy", index, "to"), declared_name(soc, copy.target)
    for mode in soc.modes:
        for purpose in PURPOSES:
            yield from named_in_list(soc, ("memory_mode", mode.name, purpose), getattr(mode, purpose))
    for port in soc.ports:
        yield ("port", port.name, "code"), declared_name(soc, port.code)
        yield ("port", port.name, "data"), declared_name(soc, port.data)


def _unknown_memory(soc: SoC) -> Iterator[Fault]:
    known = {memory.replica_of or memory.name for memory in soc.memories}
    for path, name in memories_named(soc):
        if name not in known:
            yield _unknown("memory", path, name, known)


def _unknown_engine(soc: SoC) -> Iterator[Fault]:
    known = {HOST_ENGINE, *(dma.name for dma in soc.dmas)}
    for index, copy in enumerate(soc.copies):
        if copy.engine not in known:
            path: Path = ("copy", index, "engine")
            yield _unknown("dma", path, copy.engine, known)


def _unknown_target_arch(soc: SoC) -> Iterator[Fault]:
    known = {arch.name for arch in soc.archs}
    places: list[tuple[Path, str]] = [
        (("memory", memory.replica_of or memory.name, "observers", observer), observer)
        for memory in soc.memories
        for observer in memory.observers
    ]
    if soc.chip is not None:
        tables = {key: getattr(soc.chip, key) for key in ("processor", "slowdown", "active", "idle")}
        places += [(("chip", key, name), name) for key, table in tables.items() for name in table]
    places += [(("partitioning", "order", index), name) for index, name in enumerate(soc.partitioning)]
    for path, name in places:
        if name not in known:
            yield _unknown("target_arch", path, name, known)
    instances = known | {instance.name for instance in soc.instances}
    for path, name in _wishes(soc):
        if name not in instances:
            yield _unknown("target_arch", path, name, instances)


def _wishes(soc: SoC) -> Iterator[tuple[Path, str]]:
    """Every place of a placement rule that names a target_arch or an instance."""
    for verb, wishes in (("require", soc.require), ("prefer", soc.prefer)):
        for operator, target in wishes.items():
            yield ("partitioning", verb, operator), target
    for verb, several in (("forbid", soc.forbid), ("divide", soc.divide)):
        for operator, targets in several.items():
            for index, target in enumerate(targets):
                yield ("partitioning", verb, operator, index), target


def _unknown(section: str, path: Path, name: str, known: Iterable[str]) -> Fault:
    rule, word = {
        "memory": ("unknown-memory", "memory"),
        "dma": ("unknown-engine", "DMA engine"),
        "target_arch": ("unknown-target-arch", "target_arch"),
    }[section]
    return Fault(
        rule=rule,
        path=path,
        message=f"{word} `{name}` is not declared",
        hint=name_hint(name, known, "declared here"),
        uses=((section, "*"), path),
        at_key=path[-1] == name,
    )


REFERENCES = (_unknown_memory, _unknown_engine, _unknown_target_arch)
