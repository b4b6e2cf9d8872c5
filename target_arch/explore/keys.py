"""Keys of a SoC file by their dotted paths: `memory.sram.size`, `copy[2].bandwidth`.

Tests: `tests/explore/test_keys.py`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from target_arch.explore.formula import Number
from target_arch.soc.faults import Fault, Path, dotted
from target_arch.soc.model import (
    CopyPath,
    DeclaredCores,
    DeclaredMemory,
    DLDevice,
    Dma,
    LoadProcess,
    MemoryMode,
    PartitioningRules,
    Port,
    TargetArch,
)
from target_arch.soc.schema.kinds import Kind, Table, Text
from target_arch.soc.schema.records import Key, record_keys

_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,4})\]")
_SECTIONS: Mapping[str, type] = {
    "memory": DeclaredMemory,
    "dma": Dma,
    "copy": CopyPath,
    "target_arch": TargetArch,
    "memory_mode": MemoryMode,
    "port": Port,
}
"""The records of tables with a name or a number."""
_INNER: Mapping[str, type] = {"device": DLDevice, "load": LoadProcess, "cores": DeclaredCores}
"""The records of tables in that of a target_arch."""


def key_path(text: str) -> Path | None:
    """The path of a text; None where it is no path."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return None
        parts.append(found.group(1) if found.group(2) is None else int(found.group(2)))
        at = found.end()
    return tuple(parts) or None


def key_kind(path: Path) -> Kind | None:
    """The kind of the values of a key; None where SoC files have no such key."""
    match path:
        case ("lowering", "order"):
            return Text()
        case (str(section), _, key, _) if section in _SECTIONS and key not in _INNER:
            table = _key(_SECTIONS[section], key)
            return table.kind.of if table is not None and isinstance(table.kind, Table) else None
    single = _single_key(path)
    return None if single is None else cast(Kind, single.kind)


def _single_key(path: Path) -> Key | None:
    """The key of a value that is no part of a table of values."""
    match path:
        case ("partitioning", name):
            return _key(PartitioningRules, name)
        case ("target_arch", _, "device" | "load" | "cores" as inner, name):
            return _key(_INNER[str(inner)], name)
        case (str(section), _, name) if section in _SECTIONS and name not in _INNER:
            return _key(_SECTIONS[section], name)
    return None


def known_keys(document: Mapping[str, Any]) -> Iterator[str]:
    """Every key that a SoC file has or could have in the tables that it has."""
    for section, record in _SECTIONS.items():
        keys = [key for key in record_keys(record) if key.name not in _INNER]
        tables: Any = document.get(section, {})
        names: Any = range(len(tables)) if section == "copy" else tables
        for name in names:
            for key in keys:
                yield from _spread((section, name), key, tables[name])
            for inner, below in _INNER.items() if section == "target_arch" else ():
                yield from (dotted((section, name, inner, key.name)) for key in record_keys(below))


def _spread(table: Path, key: Key, values: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(key.kind, Table):
        yield dotted((*table, key.name))
    elif isinstance(held := values.get(key.name), dict):
        yield from (dotted((*table, key.name, each)) for each in held)


def has_table(document: Mapping[str, Any], path: Path) -> bool:
    """Whether the SoC file has the table that the key is in, such as the memory of that name."""
    if path[0] in ("partitioning", "lowering"):
        return str(path[0]) in document
    tables: Any = document.get(str(path[0]), {})
    if isinstance(path[1], int):
        return path[0] == "copy" and path[1] < len(tables)
    if path[1] not in tables:
        return False
    return len(path) < 4 or path[2] not in _INNER or isinstance(tables[path[1]].get(path[2]), dict)


def value_in(document: Mapping[str, Any], path: Path) -> Number | None:
    """The value of a key in base units: that of the file, else the default; None where there is neither, or
    where it is no number and no word.
    """
    kind = key_kind(path)
    if kind is None or not has_table(document, path):
        return None
    held: Any = document
    for part in path:
        if isinstance(held, dict) and part not in held:
            return _default(path)
        try:
            held = held[part]
        except (LookupError, TypeError):
            return None
    faults: list[Fault] = []
    value = kind.read(path, held, faults)
    return value if isinstance(value, int | float | str) and not faults else None


def _default(path: Path) -> Number | None:
    key = _single_key(path)
    default = None if key is None else key.field.default
    return default if isinstance(default, int | float | str) else None


def _key(record: type, name: str | int) -> Key | None:
    return next((key for key in record_keys(record) if key.name == name), None)
