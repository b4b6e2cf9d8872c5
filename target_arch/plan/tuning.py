"""Records of what was measured to be better than the choice of the rules, and the file they are kept in.

A record belongs to a task: one function in S-TIR before any schedule, named by its kind and a hash of its
printed form, which is the same in every process. Equal operators are one task. The file is JSON, written
sorted; `docs/tuning.md` describes it. Tests: `tests/tune/test_tune.py`.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from attrs import evolve, field, frozen

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.soc.files.json_text import parsed, placed
from target_arch.soc.schema.kinds import Faults
from target_arch.soc.schema.records import ClosedRecord, read_record, to_json

FORMAT = "target_arch tuning"
SCHEMA = 2
DEFINITION = "definition"
"""The choice of C from the definition of an operator; every other choice is a kernel of a backend."""
_HINT = "`target-arch tune` writes such files"
_SHOWN = 80
"""Characters of a wrong value in a message."""


@frozen(kw_only=True)
class TuningRecord(ClosedRecord):
    """The best code of a task."""

    task: Annotated[str, "the kind of the operator, and a hash of its printed S-TIR"]
    what: Annotated[str, "the operator, for a person"]
    measured: Annotated[str, "the machine that measured: its compiler and flags"]
    rule: Annotated[str, "what the rules choose: the name of a kernel, or `definition`"]
    choice: Annotated[str, "what is better"]
    baseline: Annotated[float, "seconds of one call of the rules' code"]
    tuned: Annotated[float, "seconds of one call of this one, measured in the same run"]
    scratch: Annotated[int, "bytes that this one wants"]
    trace: Annotated[
        str, "for a definition, the steps of an `s_tir.Schedule` as JSON; empty for the default schedule"
    ] = field(repr=False)


@frozen(kw_only=True)
class TuningFile(ClosedRecord):
    """A file of records."""

    format: Annotated[str, "`target_arch tuning`"]
    schema: Annotated[int, "the version of this format, `2`"]
    tvm: Annotated[str, "the version of TVM, since a schedule may not apply in another one"]
    records: tuple[TuningRecord, ...]


@frozen(kw_only=True)
class Tuning:
    """Records by task."""

    records: Mapping[str, TuningRecord] = field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.records)


NOTHING_TUNED = Tuning()


@cache
def _tvm() -> str:
    """The version of TVM, without its import."""
    return version("apache-tvm")


def tuning_of(records: Iterable[TuningRecord]) -> Tuning:
    """Records as a value, sorted by task."""
    return Tuning(records={each.task: each for each in sorted(records, key=lambda each: each.task)})


def tuning_text(tuning: Tuning) -> str:
    """The file's text. Same records, same bytes."""
    records = tuple(tuning.records.values())
    file = TuningFile(format=FORMAT, schema=SCHEMA, tvm=_tvm(), records=records)
    return json.dumps(to_json(file), indent=1, sort_keys=True) + "\n"


def read_tuning(path: Path) -> Tuning:
    """The records of a file. DiagnosticError where it cannot be read, is no such file, or is foreign."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise refusal("bad-tuning", path, f"cannot be read: {error.strerror}", _HINT) from error
    except ValueError as error:
        raise refusal("bad-tuning", path, "is not UTF-8", _HINT) from error
    table = parsed(text, str(path))
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise refusal("bad-tuning", path, "is no tuning file", _HINT)
    for name, known in {"schema": SCHEMA, "tvm": _tvm()}.items():
        if table.get(name) != known:
            said = f"is foreign: {name} {_short(table.get(name))} wrote it, this is {name} {known}"
            hint = "tune again; what another version found need not apply"
            raise refusal("foreign-tuning", path, said, hint)
    faults: Faults = []
    file = read_record(TuningFile, table, faults)
    if file is None:
        told = placed(faults, str(path), text)
        raise DiagnosticError(evolve(each, rule="bad-tuning", hint=_HINT) for each in told)
    return tuning_of(file.records)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
