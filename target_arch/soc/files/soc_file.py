"""Read SoC files.

The text is parsed by `tomllib`, its values by `build.py`, relations between them are judged by
`rules/check.py`; here the faults of all three get their places. Tests: `tests/soc`; one broken file per rule:
`tests/soc/bad`.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path as File

from attrs import evolve

from target_arch.diagnostics import Diagnostic, DiagnosticError, Note, Span, in_order, name_hint
from target_arch.resources import soc_configs
from target_arch.soc.faults import Fault
from target_arch.soc.files.build import SocDraft, draft, schema_fault
from target_arch.soc.files.cost_file import read_costs
from target_arch.soc.files.key_depth import longest_key
from target_arch.soc.files.positions import Positions, declared_twice, span
from target_arch.soc.host_copies import with_host_copies
from target_arch.soc.model import SoC
from target_arch.soc.rules.check import relations

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_DEEPEST = 32
"""Parts of one dotted key; ours have at most 4. `tomllib` takes seconds and gigabytes for 20,000."""
_MOST_BYTES = 2**22
_TWICE = ("Cannot overwrite a value", "Cannot declare ", "Duplicate inline table key")


def shipped_socs() -> tuple[str, ...]:
    """The names of the SoC files that come with the package."""
    return tuple(sorted(file.stem for file in soc_configs().glob("*.toml")))


def read_soc(path_or_name: str | File) -> SoC:
    """The SoC of a file, or of a shipped description by its name.

    Raises DiagnosticError with every mistake in it.
    """
    path, shown = _located(path_or_name)
    text = _read(path, shown)
    soc = parse_soc(text, shown)
    return _with_costs(soc, path, shown, text) if soc.cost_file else soc


def parse_soc(text: str, path: str) -> SoC:
    """The SoC a TOML text describes; `path` is its name in messages. Raises DiagnosticError."""
    text = text.replace("\r\n", "\n")
    document = _document(text, path)
    unsupported = schema_fault(document)
    made = SocDraft(faults=[unsupported]) if unsupported else draft(document)
    if made.soc is not None:
        made.faults += relations(made.soc, made.wrong, made.origins)
    if made.faults or made.soc is None:
        raise DiagnosticError(_diagnostics(made.faults, path, text))
    return with_host_copies(made.soc)


def _with_costs(soc: SoC, path: File, shown: str, text: str) -> SoC:
    """The SoC with the path of its cost file as seen from here; raises for the mistakes in that file."""
    file = path.parent / soc.cost_file
    if not file.is_file():
        said = f"there is no cost file `{soc.cost_file}`"
        hint = "its path is relative to the folder of this file"
        fault = Fault(rule="no-cost-file", path=("cost", "file"), message=said, hint=hint)
        raise DiagnosticError(_diagnostics([fault], shown, text.replace("\r\n", "\n")))
    read_costs(file, soc)
    return evolve(soc, cost_file=str(file))


def place_faults(faults: Iterable[Fault], path_or_name: str | File) -> tuple[Diagnostic, ...]:
    """The faults that others found in a SoC at their places in the file it was read from a moment ago.

    Copy paths are counted as in the file. Raises DiagnosticError where the file cannot be read any more.
    """
    path, shown = _located(path_or_name)
    return _diagnostics(faults, shown, _read(path, shown).replace("\r\n", "\n"))


def _located(path_or_name: str | File) -> tuple[File, str]:
    """The file, and how to call it: for a shipped one not by the folder of this installation."""
    path = File(path_or_name)
    if str(path_or_name) in shipped_socs() and not path.is_file():
        return soc_configs() / f"{path_or_name}.toml", f"soc_configs/{path_or_name}.toml"
    return path, str(path_or_name)


_MODELS = (".onnx", ".pt2", ".tflite")


def _read(path: File, shown: str) -> str:
    if shown.lower().endswith(_MODELS):
        message = "this is a model, and a SoC file is wanted here"
        hint = "name the model first, and the SoC after it"
        raise DiagnosticError([Diagnostic(rule="cannot-read", place=shown, message=message, hint=hint)])
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DiagnosticError([_unreadable(shown, error)]) from error
    if len(data) > _MOST_BYTES:
        said = f"a SoC file has at most {_MOST_BYTES:,} B, this has more"
        raise DiagnosticError([Diagnostic(rule="cannot-read", place=shown, message=said)])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        lines = data[: error.start].split(b"\n")
        place = Span(path=shown, line=len(lines), column=len(lines[-1].decode(errors="replace")) + 1)
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        hint = "save the file as UTF-8"
        raise DiagnosticError(
            [Diagnostic(rule="not-utf-8", place=place, message=message, hint=hint)]
        ) from error


def _unreadable(shown: str, error: OSError | ValueError) -> Diagnostic:
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    hint = None
    if isinstance(error, FileNotFoundError):
        hint = name_hint(File(shown).stem, shipped_socs(), "give the path of a file or one of the shipped")
    return Diagnostic(rule="cannot-read", place=shown, message=f"cannot read a SoC file: {reason}", hint=hint)


def _document(text: str, path: str) -> dict[str, object]:
    deep = longest_key(text, _DEEPEST)
    if deep is not None:
        raise DiagnosticError([_too_deep(span(path, text, deep))])
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DiagnosticError([_too_deep(Span(path=path, line=1, column=1))]) from None
    except ValueError as error:
        raise DiagnosticError([_syntax(text, path, str(error))]) from error


def _too_deep(place: Span) -> Diagnostic:
    message = "the file nests deeper than any SoC file does"
    return Diagnostic(rule="too-deep", place=place, message=message)


def _syntax(text: str, path: str, said: str) -> Diagnostic:
    """The mistake that `tomllib` found. It stops at the first one and names the place in its message."""
    found = _AT.search(said)
    message = said[: found.start()] if found else said
    offset = _offset(text, found)
    if message.startswith(_TWICE) and (places := declared_twice(text[: offset + 1])):
        first, second = (span(path, text, place) for place in places)
        name = text[places[1][0] : places[1][1]]
        note = Note(place=first, message="it is declared here")
        said_twice = f"`{name}` is declared twice"
        return Diagnostic(rule="duplicate-key", place=second, message=said_twice, notes=(note,))
    message = f"not TOML: {message[:1].lower()}{message[1:]}"
    place = span(path, text, (offset, offset + 1))
    return Diagnostic(rule="toml-syntax", place=place, message=message)


def _offset(text: str, found: re.Match[str] | None) -> int:
    """The offset of a `tomllib` error; that of the last character for one at the end of the text."""
    if found is None:
        return 0
    if found.group(1) is None:
        return max(0, len(text.rstrip()) - 1)
    before = text.split("\n")[: int(found.group(1)) - 1]
    return sum(len(line) + 1 for line in before) + int(found.group(2)) - 1


def _diagnostics(faults: Iterable[Fault], path: str, text: str) -> tuple[Diagnostic, ...]:
    try:
        positions = Positions(path, text)
    except RecursionError:
        return (_too_deep(Span(path=path, line=1, column=1)),)
    return in_order(_placed(fault, positions) for fault in faults)


def _placed(fault: Fault, positions: Positions) -> Diagnostic:
    place = positions.key(fault.path) if fault.at_key else positions.value(fault.path)
    notes = tuple(Note(place=positions.value(each.path), message=each.message) for each in fault.related)
    return Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint, notes=notes)
