"""The rules between the parts of a description.

Each rule has a name, an entry in `diagnostics/rules.toml`, a broken file in `tests/soc/bad`, and a line in
`docs/soc-file.md`. Rules come in stages: a value that a rule of one stage finds wrong is not looked at by the
stages after it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import attrs
from attrs import AttrsInstance

from target_arch.diagnostics import Diagnostic, Note
from target_arch.soc.document import CostTable, partitioning
from target_arch.soc.faults import CopyDeclaration, Fault, Path, dotted, independent, relocated
from target_arch.soc.model import SCHEMA, SoC
from target_arch.soc.rules.copies import COPIES
from target_arch.soc.rules.cores import CORES
from target_arch.soc.rules.identity import IDENTITY
from target_arch.soc.rules.memory import MEMORY
from target_arch.soc.rules.ports import PORTS
from target_arch.soc.rules.references import REFERENCES
from target_arch.soc.rules.wishes import WISHES
from target_arch.soc.schema.kinds import Kind, Text, check_identifier
from target_arch.soc.schema.records import record_keys

STAGES = (REFERENCES, IDENTITY, MEMORY, CORES, COPIES, PORTS, WISHES)


def relations(
    soc: SoC, wrong: Iterable[Path] = (), origins: Sequence[CopyDeclaration] = ()
) -> tuple[Fault, ...]:
    """The faults between the parts of a SoC of which `wrong` is known to be wrong already.

    `origins` tells where in a file each copy path of the SoC was declared; empty where there is no file.
    """
    known = list(wrong)
    places = origins or [CopyDeclaration(table=index) for index in range(len(soc.copies))]
    found: list[Fault] = []
    for stage in STAGES:
        faults = independent((relocated(fault, places) for rule in stage for fault in rule(soc)), known)
        found += faults
        known += [fault.path for fault in faults]
    return tuple(found)


def check_soc(soc: SoC) -> tuple[Diagnostic, ...]:
    """The errors of a SoC that was built in Python: the rules of a file, with places in words.

    Relations between values are judged when each of them is right.
    """
    faults = _values(soc) or relations(soc)
    return tuple(dict.fromkeys(_in_words(fault) for fault in faults))


def _in_words(fault: Fault) -> Diagnostic:
    notes = tuple(Note(place=dotted(related.path), message=related.message) for related in fault.related)
    place = dotted(fault.path)
    return Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint, notes=notes)


def _values(soc: SoC) -> list[Fault]:
    """The faults of single values; the reader finds them while it reads."""
    faults: list[Fault] = []
    Text(identifier=True).check(("name",), soc.name, faults)
    if soc.schema != SCHEMA:
        message = f"`schema` must be {SCHEMA}"
        faults.append(Fault(rule="schema-version", path=("schema",), message=message))
    sections: tuple[tuple[str, Iterable[Any]], ...] = (
        ("memory", soc.memories),
        ("dma", soc.dmas),
        ("target_arch", soc.archs),
        ("memory_mode", soc.modes),
        ("port", soc.ports),
    )
    for section, values in sections:
        for value in values:
            check_identifier((section, value.name), value.name, faults)
            _check((section, value.name), value, faults)
    for index, copy in enumerate(soc.copies):
        _check(("copy", index), copy, faults)
    if soc.chip is not None:
        _check(("chip",), soc.chip, faults)
    if soc.cost_file:
        _check(("cost",), CostTable(file=soc.cost_file), faults)
    _check(("partitioning",), partitioning(soc), faults)
    return faults


def _check(path: Path, value: AttrsInstance, faults: list[Fault]) -> None:
    """Check the keys of a record and of those in it, but not what is left at its default or empty: that means
    absent.
    """
    for key in record_keys(type(value)):
        held: Any = getattr(value, key.field.name)
        if attrs.has(type(held)):
            _check((*path, key.name), held, faults)
        elif held != key.default and (key.required or held):
            cast(Kind, key.kind).check((*path, key.name), held, faults)
