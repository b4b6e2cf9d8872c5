"""From the tables of a parsed TOML file to model values, collecting the faults of each value."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, define, evolve

from target_arch.soc.chip.chip import Chip
from target_arch.soc.copy_tables import Places, expanded
from target_arch.soc.document import CostTable, LoweringOrders, SocDocument
from target_arch.soc.faults import CopyDeclaration, Fault, Path
from target_arch.soc.files.shared_memories import with_shared
from target_arch.soc.model import (
    PHASES,
    SCHEMA,
    CopyPath,
    Cores,
    DeclaredCores,
    DeclaredMemory,
    DLDevice,
    Dma,
    LoadProcess,
    Memory,
    MemoryMode,
    PartitioningRules,
    Port,
    SoC,
    TargetArch,
)
from target_arch.soc.schema.kinds import Text, wrong_type
from target_arch.soc.schema.records import one_table, record_key, record_keys, table_values
from target_arch.soc.schema.tables import TableDraft, named_tables, required_value, unknown_keys
from target_arch.soc.words import LINKED, DLDeviceType

_PLACEHOLDER = DLDevice(type=DLDeviceType.CPU, id=0)


@define
class SocDraft(TableDraft):
    """The result of reading a file: values where it is right, placeholders where it is not.

    `origins` maps the position of a copy path in the SoC to its place in the file, since one table may
    become many.
    """

    origins: list[CopyDeclaration] = Factory(list)
    soc: SoC | None = None


def schema_fault(document: Mapping[str, Any]) -> Fault | None:
    """The fault in the version of the file; then nothing else can be checked."""
    version = document.get("schema")
    if version == SCHEMA and isinstance(version, int) and not isinstance(version, bool):
        return None
    said = "does not say its `schema`" if version is None else "has an unsupported `schema`"
    hint = f"this version reads `schema = {SCHEMA}`"
    return Fault(rule="schema-version", path=("schema",), message=f"this file {said}", hint=hint)


def draft(document: Mapping[str, Any]) -> SocDraft:
    """Read every table of a document whose schema is supported."""
    made = SocDraft()
    unknown_keys((), document, tuple(key.name for key in record_keys(SocDocument)), made)
    name = required_value((), document, "name", made)
    read_name = Text(identifier=True).read(("name",), name, made.faults) if name is not None else None
    archs = tuple(
        _target_arch(n, t, made) for n, t in named_tables(document, "target_arch", made, required=True)
    )
    memories, replicas = _memories(document, archs, made)
    memories = with_shared(memories, _shares(document, made), made.faults)
    modes = tuple(
        _mode(n, t, replicas, made) for n, t in named_tables(document, "memory_mode", made, required=True)
    )
    wishes = _partitioning(document, made)
    made.soc = SoC(
        name=read_name or "unnamed",
        memories=memories,
        dmas=tuple(_dma(n, t, made) for n, t in named_tables(document, "dma", made)),
        copies=_copies(document, Places(replicas=replicas, uncached=_uncached(memories, made)), made),
        archs=tuple(evolve(arch, memory=_own_or_all(arch, replicas)) for arch in archs),
        modes=modes,
        partitioning=wishes.pop("order", ()),
        **wishes,
        **_lowering(document, made),
        ports=_ports(document, made),
        cost_file=_cost_file(document, made),
        chip=_chip(document, made),
        schema=SCHEMA,
    )
    made.wrong += [fault.path for fault in made.faults]
    return made


def _memories(
    document: Mapping[str, Any], archs: tuple[TargetArch, ...], made: SocDraft
) -> tuple[tuple[Memory, ...], dict[str, tuple[str, ...]]]:
    """The memories, each per-instance one multiplied, and for each of the latter the names it became."""
    memories: list[Memory] = []
    replicas: dict[str, tuple[str, ...]] = {}
    for name, table in named_tables(document, "memory", made, required=True):
        values = table_values(("memory", name), table, DeclaredMemory, made)
        per_instance = values.pop("per_instance", False)
        memory = Memory(name=name, **({"size": 1} | values))
        count = _instances(memory, archs, made) if per_instance else 1
        if count > 1:
            replicas[name] = tuple(f"{name}_{index}" for index in range(count))
            memories += [_replica(memory, index) for index in range(count)]
        else:
            memories.append(memory)
    return tuple(memories), replicas


def _instances(memory: Memory, archs: tuple[TargetArch, ...], made: SocDraft) -> int:
    observers = [arch for arch in archs if arch.name in memory.observers]
    if len(memory.observers) != 1:
        message = f"memory `{memory.name}` is per instance, so exactly one target_arch must observe it"
        hint = f"it has {len(memory.observers)} observers" if memory.observers else "it has no `observers`"
        path = ("memory", memory.name, "observers")
        made.faults.append(Fault(rule="per-instance", path=path, message=message, hint=hint))
    return observers[0].instances if len(observers) == 1 else 1


def _replica(memory: Memory, index: int) -> Memory:
    """The memory of one instance. Where the host sees them, they are one after the other."""
    base = None if memory.base is None else memory.base + index * memory.size
    return evolve(memory, name=f"{memory.name}_{index}", base=base, replica_of=memory.name)


def _own_or_all(arch: TargetArch, replicas: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A target_arch of several instances keeps the declared name (each instance resolves its own)."""
    if arch.instances > 1:
        return arch.memory
    return _expanded(arch.memory, replicas)


def _expanded(names: Iterable[str], replicas: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(each for name in names for each in replicas.get(name, (name,)))


def _dma(name: str, table: Mapping[str, Any], made: SocDraft) -> Dma:
    return Dma(name=name, **table_values(("dma", name), table, Dma, made))


def _uncached(memories: Iterable[Memory], made: SocDraft) -> set[str]:
    """The declared names of the memories that are surely not cached."""
    doubtful = {*made.wrong, *(fault.path for fault in made.faults)}
    names = (memory.replica_of or memory.name for memory in memories if not memory.cached)
    return {name for name in names if ("memory", name, "cached") not in doubtful}


def _copies(document: Mapping[str, Any], places: Places, made: SocDraft) -> tuple[CopyPath, ...]:
    tables = document.get("copy", [])
    if not isinstance(tables, list):
        wrong_type(("copy",), "a list of tables, each written `[[copy]]`", tables, made.faults)
        return ()
    copies: list[CopyPath] = []
    for index, table in enumerate(tables):
        path: Path = ("copy", index)
        if not isinstance(table, dict):
            wrong_type(path, "a table", table, made.faults)
            continue
        values = table_values(path, table, CopyPath, made)
        if "source" not in values or "target" not in values:
            made.wrong.append(("copy",))
            continue
        for copy, origin in expanded(index, table, values, places):
            copies.append(copy)
            made.origins.append(origin)
    return tuple(copies)


def _target_arch(name: str, table: Mapping[str, Any], made: SocDraft) -> TargetArch:
    path: Path = ("target_arch", name)
    values = table_values(path, table, TargetArch, made, elsewhere=("device", "load", "cores"))
    device = _device(path, required_value(path, table, "device", made), made)
    load = _load((*path, "load"), table.get("load", LINKED), made)
    cores = _cores((*path, "cores"), table.get("cores"), made)
    return TargetArch(name=name, device=device, load=load, cores=cores, **({"backend": "unknown"} | values))


def _cores(path: Path, table: object, made: SocDraft) -> Cores | None:
    """The cores of a target_arch; none where what they need is missing or wrong."""
    if table is None:
        return None
    values = one_table(path, table, DeclaredCores, made)
    values.pop("shares", None)
    return Cores(**values) if "stack" in values else None


def _shares(document: Mapping[str, Any], made: SocDraft) -> dict[str, tuple[str, ...]]:
    """By target_arch the memories of the host that its cores share, as far as that can be read."""
    tables = document.get("target_arch")
    found: dict[str, tuple[str, ...]] = {}
    for name, table in tables.items() if isinstance(tables, dict) else ():
        cores = table.get("cores") if isinstance(table, dict) else None
        names = cores.get("shares") if isinstance(cores, dict) else None
        path = ("target_arch", name, "cores", "shares")
        if names is not None and not any(fault.path[: len(path)] == path for fault in made.faults):
            found[name] = tuple(names)
    return found


def _device(path: Path, table: object, made: SocDraft) -> DLDevice:
    if table is None:
        return _PLACEHOLDER
    values = one_table((*path, "device"), table, DLDevice, made)
    return DLDevice(**values) if len(values) == 2 else _PLACEHOLDER


def _load(path: Path, value: object, made: SocDraft) -> LoadProcess:
    if isinstance(value, str):
        process = record_key(LoadProcess, "process").kind.read(path, value, made.faults)
        return LoadProcess(process=process or LINKED)
    values = one_table(path, value, LoadProcess, made, expected="the name of a load process or a table")
    return LoadProcess(**values)


def _mode(
    name: str, table: Mapping[str, Any], replicas: Mapping[str, tuple[str, ...]], made: SocDraft
) -> MemoryMode:
    values = table_values(("memory_mode", name), table, MemoryMode, made)
    pools = {key.name: _expanded(values.get(key.name, ()), replicas) for key in record_keys(MemoryMode)}
    return MemoryMode(name=name, **pools)


def _ports(document: Mapping[str, Any], made: SocDraft) -> tuple[Port, ...]:
    """The ports of a file; one that lacks something is none, its name still judged."""
    ports = []
    for name, table in named_tables(document, "port", made):
        values = table_values(("port", name), table, Port, made)
        if len(values) == len(record_keys(Port)):
            ports.append(Port(name=name, **values))
    return tuple(ports)


def _cost_file(document: Mapping[str, Any], made: SocDraft) -> str:
    if "cost" not in document:
        return ""
    return str(one_table(("cost",), document["cost"], CostTable, made).get("file", ""))


def _chip(document: Mapping[str, Any], made: SocDraft) -> Chip | None:
    if "chip" not in document:
        return None
    table = one_table(("chip",), document["chip"], Chip, made)
    return Chip(**{"part": "", **table})


def _partitioning(document: Mapping[str, Any], made: SocDraft) -> dict[str, Any]:
    """The partitioning order, the required, preferred and forbidden targets, and those of slices."""
    table = required_value((), document, "partitioning", made)
    return {} if table is None else one_table(("partitioning",), table, PartitioningRules, made)


def _lowering(document: Mapping[str, Any], made: SocDraft) -> dict[str, Any]:
    """The order of lowering, and those of single phases; the first may be left out where one of these is
    there.
    """
    path: Path = ("lowering",)
    table = document.get("lowering", {})
    orders = one_table(path, table, LoweringOrders, made)
    if isinstance(table, dict) and "lowering" in document and not table.keys() & set(PHASES):
        required_value(path, table, "order", made)
    return {
        "lowering": orders.pop("order", None) or "c-first",
        "lowering_phases": {
            key.name: orders[key.field.name]
            for key in record_keys(LoweringOrders)
            if orders.get(key.field.name)
        },
    }
