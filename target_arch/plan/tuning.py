"""Records of what was measured to be better than the choice of the rules, and the file they are kept in.

A record belongs to a task: one function in S-TIR before any schedule, named by its kind and a hash of its
printed form, which is the same in every process. Equal operators are one task. The file is JSON, written
sorted; `docs/tuning.md` describes it. Tests: `tests/tune/test_tune.py`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attrs import asdict, field, fields, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.soc.files.json_text import parsed

FORMAT = "target_arch tuning"
SCHEMA = 2
DEFINITION = "definition"
"""The choice of C from the definition of an operator; every other choice is a kernel of a backend."""
_HINT = "`target-arch tune` writes such files"
_SHOWN = 80
"""Characters of a wrong value in a message."""


@frozen(kw_only=True)
class TuningRecord:
    """The best code of a task: `choice` where the rules choose `rule`, and for a definition `trace`, the
    steps of an `s_tir.Schedule` as JSON text; empty for the default schedule.

    `what` describes the task to a person, `measured` names the machine that measured it. `baseline` and
    `tuned` are seconds of one call of the rules' code and of this one, measured in the same run; `scratch`
    are bytes that this one wants.
    """

    task: str
    what: str
    measured: str
    rule: str
    choice: str
    baseline: float
    tuned: float
    scratch: int
    trace: str = field(repr=False)


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
    entries = [asdict(each) for each in tuning.records.values()]
    about = {"format": FORMAT, "schema": SCHEMA, "tvm": _tvm(), "records": entries}
    return json.dumps(about, indent=1, sort_keys=True) + "\n"


def read_tuning(path: Path) -> Tuning:
    """The records of a file. DiagnosticError where it cannot be read, is no such file, or is foreign."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _refused(path, "is not UTF-8") from error
    read = parsed(text, str(path))
    if (
        not isinstance(read, dict)
        or read.get("format") != FORMAT
        or not isinstance(read.get("records"), list)
    ):
        raise _refused(path, "is no tuning file")
    ours = {"schema": SCHEMA, "tvm": _tvm()}
    for name, known in ours.items():
        if read.get(name) != known:
            said = f"is foreign: {name} {_short(read.get(name))} wrote it, this is {name} {known}"
            raise _refused(
                path, said, "foreign-tuning", "tune again; what another version found need not apply"
            )
    faults = [fault for number, entry in enumerate(read["records"]) for fault in _faults(number, entry)]
    if faults:
        raise DiagnosticError([_diagnostic(path, fault, "bad-tuning", _HINT) for fault in faults])
    return tuning_of(TuningRecord(**entry) for entry in read["records"])


_TYPES: Mapping[str, tuple[type, ...]] = {
    "task": (str,),
    "what": (str,),
    "measured": (str,),
    "rule": (str,),
    "choice": (str,),
    "baseline": (int, float),
    "tuned": (int, float),
    "scratch": (int,),
    "trace": (str,),
}


def _faults(number: int, entry: Any) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"record {number} is no table"
        return
    name = f"record {number} (`{_short(entry.get('task'))}`)"
    keys = {each.name for each in fields(TuningRecord)}
    if entry.keys() != keys:
        wrong = ", ".join(f"`{key}`" for key in sorted(map(str, entry.keys() ^ keys)))
        yield f"{name}: {wrong} missing or unknown"
        return
    for key, kinds in _TYPES.items():
        if not isinstance(entry[key], kinds) or isinstance(entry[key], bool):
            yield f"{name}: `{key}` is `{_short(entry[key])}`"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _refused(path: Path, said: str, rule: str = "bad-tuning", hint: str = _HINT) -> DiagnosticError:
    return DiagnosticError([_diagnostic(path, said, rule, hint)])


def _diagnostic(path: Path, said: str, rule: str, hint: str) -> Diagnostic:
    return Diagnostic(rule=rule, place=str(path), message=said, hint=hint)
