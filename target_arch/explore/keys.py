"""Keys of a SoC file by their dotted paths: `memory.sram.size`, `copy[2].bandwidth`.

Tests: `tests/explore/test_keys.py`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from target_arch.explore.formula import Number
from target_arch.soc.faults import Fault, Path, dotted
from target_arch.soc.model import CopyPath, Dma, LoadProcess, Memory, TargetArch
from target_arch.soc.schema import fields
from target_arch.soc.schema.fields import Key
from target_arch.soc.schema.kinds import Kind, Table, Text

_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,4})\]")
_SECTIONS: Mapping[str, tuple[Key, ...]] = {
    "memory": fields.MEMORY,
    "dma": fields.DMA,
    "copy": fields.COPY,
    "target_arch": fields.TARGET_ARCH,
    "memory_mode": fields.MEMORY_MODE,
    "port": fields.PORT,
}
"""The sections of tables with a name or a number."""
_INNER: Mapping[str, tuple[Key, ...]] = {
    "device": fields.DEVICE,
    "load": fields.LOAD,
    "cores": fields.CORES,
}
_MODELS: Mapping[str, type[attrs.AttrsInstance]] = {
    "memory": Memory,
    "dma": Dma,
    "copy": CopyPath,
    "target_arch": TargetArch,
    "load": LoadProcess,
}
"""Whose defaults count where a key is absent."""


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
        case ("partitioning", key):
            return _kind(fields.PARTITIONING, key)
        case ("target_arch", _, "device" | "load" | "cores" as inner, key):
            return _kind(_INNER[str(inner)], key)
        case (str(section), _, key) if section in _SECTIONS:
            return _kind(_SECTIONS[section], key)
        case (str(section), _, key, _) if section in _SECTIONS:
            table = _kind(_SECTIONS[section], key)
            return table.of if isinstance(table, Table) else None
    return None


def known_keys(document: Mapping[str, Any]) -> Iterator[str]:
    """Every key that a SoC file has or could have in the tables that it has."""
    for section, keys in _SECTIONS.items():
        tables: Any = document.get(section, {})
        names: Any = range(len(tables)) if section == "copy" else tables
        for name in names:
            for key in keys:
                yield from _spread((section, name), key, tables[name])
            for inner, inner_keys in _INNER.items() if section == "target_arch" else ():
                yield from (dotted((section, name, inner, key.name)) for key in inner_keys)


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
    section, name = (path[2], path[3]) if len(path) == 4 else (path[0], path[-1])
    model = _MODELS.get(str(section))
    default = None if model is None else getattr(attrs.fields_dict(model).get(str(name)), "default", None)
    return default if isinstance(default, int | float | str) else None


def _kind(keys: tuple[Key, ...], name: str | int) -> Kind | None:
    return next((key.kind for key in keys if key.name == name), None)
