"""TOML files that people write: their text, their values, and the places of their mistakes.

A file is a SoC file or another one with the same manners; `what` is its kind in messages. Tests: `tests/soc`.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path as File

from target_arch.diagnostics import Diagnostic, DiagnosticError, Note, Span, in_order
from target_arch.diagnostics.advice import Hint
from target_arch.soc.faults import Fault
from target_arch.soc.files.key_depth import longest_key
from target_arch.soc.files.positions import Positions, declared_twice, span

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_DEEPEST = 32
"""Parts of one dotted key; ours have at most 4. `tomllib` takes seconds and gigabytes for 20,000."""
_MOST_BYTES = 2**22
_TWICE = ("Cannot overwrite a value", "Cannot declare ", "Duplicate inline table key")
_MODELS = (".onnx", ".pt2", ".relax", ".tflite")


def read_text(
    path: File, shown: str, what: str, missing: Hint | None = None, model: Hint | None = None
) -> str:
    """The text of a file, which messages call `shown`, with newlines `\\n`. `missing` and `model`
    are the hints where there is no such file, and where it is a model. Raises DiagnosticError.
    """
    if shown.lower().endswith(_MODELS):
        message = f"this is a model, and a {what} is wanted here"
        raise DiagnosticError([Diagnostic(rule="cannot-read", place=shown, message=message, hint=model)])
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DiagnosticError([_unreadable(shown, error, what, missing)]) from error
    if len(data) > _MOST_BYTES:
        said = f"a {what} has at most {_MOST_BYTES:,} B, this has more"
        raise DiagnosticError([Diagnostic(rule="cannot-read", place=shown, message=said)])
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        lines = data[: error.start].split(b"\n")
        place = Span(path=shown, line=len(lines), column=len(lines[-1].decode(errors="replace")) + 1)
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        hint = "save the file as UTF-8"
        raise DiagnosticError(
            [Diagnostic(rule="not-utf-8", place=place, message=message, hint=hint)]
        ) from error


def _unreadable(shown: str, error: OSError | ValueError, what: str, missing: Hint | None) -> Diagnostic:
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    hint = missing if isinstance(error, FileNotFoundError) else None
    return Diagnostic(rule="cannot-read", place=shown, message=f"cannot read a {what}: {reason}", hint=hint)


def document(text: str, path: str, what: str) -> dict[str, object]:
    """The values of a text; `path` is its name in messages. Raises DiagnosticError."""
    deep = longest_key(text, _DEEPEST)
    if deep is not None:
        raise DiagnosticError([_too_deep(span(path, text, deep), what)])
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DiagnosticError([_too_deep(Span(path=path, line=1, column=1), what)]) from None
    except ValueError as error:
        raise DiagnosticError([_syntax(text, path, str(error))]) from error


def _too_deep(place: Span, what: str) -> Diagnostic:
    message = f"the file nests deeper than any {what} does"
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


def placed(faults: Iterable[Fault], path: str, text: str, what: str) -> tuple[Diagnostic, ...]:
    """The faults at their places in the text, in order."""
    try:
        positions = Positions(path, text)
    except RecursionError:
        return (_too_deep(Span(path=path, line=1, column=1), what),)
    return in_order(_diagnostic(fault, positions) for fault in faults)


def _diagnostic(fault: Fault, positions: Positions) -> Diagnostic:
    place = positions.key(fault.path) if fault.at_key else positions.value(fault.path)
    notes = tuple(Note(place=positions.value(each.path), message=each.message) for each in fault.related)
    return Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint, notes=notes)
