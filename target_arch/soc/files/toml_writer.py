"""A SoC as the text of a SoC file, which `soc_file.py` reads back.

Reading the text gives the same SoC again, byte for byte; comments of a file it once came from are gone.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from target_arch.soc.document import partitioning
from target_arch.soc.model import LoadProcess, Memory, MemoryMode, SoC, TargetArch
from target_arch.soc.schema.kinds import Integer, Quantity, Table
from target_arch.soc.schema.records import Key, record_keys
from target_arch.soc.units import SIZE

_ADDRESS_FROM = 2**32
"""Integers that may be this large are addresses, and written in hexadecimal."""


def toml(soc: SoC) -> str:
    """The SoC file, with a final newline."""
    parts = [
        _table("", {"schema": str(soc.schema), "name": _text(soc.name)}),
        *(_table(f"[memory.{name}]", memory) for name, memory in _memories(soc)),
        *(_table(f"[dma.{dma.name}]", _keys(dma)) for dma in soc.dmas),
        *(_table("[[copy]]", copy) for copy in _copies(soc)),
        *(_table(f"[target_arch.{arch.name}]", _arch(arch)) for arch in soc.archs),
        *(_table(f"[memory_mode.{name}]", mode) for name, mode in _modes(soc)),
        *(_table(f"[port.{port.name}]", _keys(port)) for port in soc.ports),
        *(() if soc.chip is None else (_table("[chip]", _keys(soc.chip)),)),
        _table("[partitioning]", _keys(partitioning(soc))),
        _table("[lowering]", {"order": _value(soc.lowering), **_phases(soc)}),
    ]
    return "\n".join(parts)


def quantity(value: float, kind: Quantity) -> str:
    """A number with the largest unit that leaves at least one of it; exact."""
    exact = Fraction(str(value))
    if kind.units is SIZE:
        units = [name for name, factor in kind.units.items() if exact % factor == 0]
    else:
        units = [name for name, factor in kind.units.items() if exact >= factor and "iB/" not in name]
    unit = units[-1] if units else next(iter(kind.units))
    number = exact / kind.units[unit]
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{decimal.normalize():f} {unit}"


def _table(head: str, values: Mapping[str, str]) -> str:
    lines = [head, *(f"{key} = {text}" for key, text in values.items())]
    return "".join(f"{line}\n" for line in lines if line)


def _keys(value: attrs.AttrsInstance) -> dict[str, str]:
    """The values of a record that are not their default, as text, by key."""
    held = ((key, getattr(value, key.field.name)) for key in record_keys(type(value)))
    return {key.name: _of_kind(value, key) for key, value in held if value != key.default}


def _of_kind(value: Any, key: Key) -> str:
    if attrs.has(type(value)):
        return _inline(_keys(value))
    if isinstance(key.kind, Quantity):
        return _text(quantity(value, key.kind))
    if isinstance(key.kind, Table) and isinstance(key.kind.of, Quantity):
        amounts = {name: quantity(each, key.kind.of) for name, each in value.items()}
        return _value(amounts)
    if isinstance(key.kind, Integer) and key.kind.most > _ADDRESS_FROM:
        return f"{value:#x}"
    return _value(value)


def _phases(soc: SoC) -> dict[str, str]:
    return {phase: _value(wish) for phase, wish in soc.lowering_phases.items()}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _memories(soc: SoC) -> Iterator[tuple[str, dict[str, str]]]:
    """Each declared memory; one that was multiplied for the instances of its observer is one again."""
    seen: set[str] = set()
    for memory in soc.memories:
        name = memory.replica_of or memory.name
        if name not in seen:
            seen.add(name)
            own = {"per_instance": "true"} if memory.replica_of else {}
            yield name, {**_memory(memory), **own}


def _memory(memory: Memory) -> dict[str, str]:
    observers = {name: f"{address:#x}" for name, address in memory.observers.items()}
    inside = ", ".join(f"{name} = {address}" for name, address in observers.items())
    written = _keys(memory)
    return {**written, "observers": f"{{ {inside} }}"} if observers else written


def _copies(soc: SoC) -> tuple[dict[str, str], ...]:
    declared = {memory.name: memory.replica_of or memory.name for memory in soc.memories}
    paths = dict.fromkeys(
        attrs.evolve(copy, source=declared[copy.source], target=declared[copy.target]) for copy in soc.copies
    )
    return tuple(_keys(path) for path in paths)


def _arch(arch: TargetArch) -> dict[str, str]:
    """Its keys; how it is loaded is always said."""
    written = _keys(arch)
    cores = {"cores": text} if (text := written.pop("cores", "")) else {}
    return {**written, "load": _load(arch.load), **cores}


def _load(load: LoadProcess) -> str:
    held = _keys(load)
    return held["process"] if len(held) == 1 else _inline(held)


def _inline(keys: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {text}' for key, text in keys.items())} }}"


def _modes(soc: SoC) -> Iterator[tuple[str, dict[str, str]]]:
    declared = {memory.name: memory.replica_of or memory.name for memory in soc.memories}
    for mode in soc.modes:
        pools = ((key.name, getattr(mode, key.name)) for key in record_keys(MemoryMode))
        yield (
            mode.name,
            {name: _value(tuple(dict.fromkeys(declared[memory] for memory in pool))) for name, pool in pools},
        )
