"""Where text goes: data to stdout, messages to stderr, colour only on a terminal."""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from attrs import define

from target_arch.api.shown import Shown
from target_arch.cli.text.advice import in_options
from target_arch.diagnostics import Diagnostic, DiagnosticError, Note, Place, Span, refusal, render_all

QUIET = "TARGET_ARCH_QUIET"
"""The variable of the environment that silences progress and notes."""

_LEVELS = {"error": "31", "warning": "33", "note": "36", "hint": "32"}
_LEVEL = re.compile(r"(?m)(?<=: )(error|warning|note)(?=: )|^(hint)(?=: )")
_CARETS = re.compile(r"(?m)^( {6}\| \s*)(\^+)$")


class PrintedPlace(TypedDict):
    """A place in words; one in a file also has its path, line and column."""

    place: str
    path: NotRequired[str]
    line: NotRequired[Annotated[int, "counted from 1"]]
    column: NotRequired[Annotated[int, "counted from 1"]]


class PrintedNote(PrintedPlace):
    """A further place that belongs to a message."""

    message: str


class PrintedDiagnostic(PrintedPlace):
    """A message: what is wrong where, by which rule, and a remedy."""

    rule: Annotated[str, "its name, for `target-arch explain RULE`"]
    level: str
    message: str
    hint: Annotated[str | None, "a remedy; null where there is none to propose"]
    notes: list[PrintedNote]


class PrintedFailure(TypedDict):
    """The output of a command that ends with messages."""

    diagnostics: list[PrintedDiagnostic]


def data(text: str) -> None:
    """Print to stdout, with exactly one newline at the end. DiagnosticError where it cannot be written."""
    with _written():
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def flush() -> None:
    """Flush the output. DiagnosticError where it cannot be written."""
    with _written():
        sys.stdout.flush()


def discard_stdout() -> None:
    """Discard the rest of the output: Python would complain about it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise refusal("output-unwritable", "stdout", f"cannot be written: {error.strerror}") from error


def json_data(value: object) -> None:
    """Print as JSON to stdout; keys sorted, so that the same value has the same bytes."""
    data(json.dumps(value, indent=2, sort_keys=True))


def shown(value: Shown[Any], form: str) -> None:
    """Print a value that shows itself: as JSON, or as text."""
    if form == "json":
        json_data(value.json)
    else:
        data(value.text)


def message(text: str) -> None:
    """Print to stderr."""
    sys.stderr.write(f"{text}\n")


def note(text: str) -> None:
    """Print to stderr something that is no error; nothing where quiet was asked for."""
    if not os.environ.get(QUIET):
        message(text)


@define
class ProgressLines:
    """Prints what is done at the moment to stderr, unless quiet output was requested: at once to a terminal;
    else, as to a log, a line after `every` seconds in which there was none.
    """

    every: float
    last: float = 0.0

    def begin(self) -> None:
        """A command begins: a short one prints nothing to a file."""
        self.last = time.monotonic()

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if os.environ.get(QUIET) or not (sys.stderr.isatty() or now - self.last >= self.every):
            return
        self.last = now
        message(f"target-arch: {text} …")


progress = ProgressLines(every=10.0)
"""Of the command that runs."""


def rendered(error: DiagnosticError) -> str:
    """The text of all diagnostics, coloured where stderr is a terminal and NO_COLOR is not set."""
    text = render_all(map(in_options, error.diagnostics))
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        return text
    coloured = _LEVEL.sub(lambda found: f"\x1b[1;{_LEVELS[found[0]]}m{found[0]}\x1b[0m", text)
    return _CARETS.sub(lambda found: f"{found[1]}\x1b[1;31m{found[2]}\x1b[0m", coloured)


def as_json(diagnostics: Iterable[Diagnostic]) -> list[PrintedDiagnostic]:
    """Diagnostics as JSON values."""
    return [
        {
            "rule": each.rule,
            "level": each.level,
            "message": each.message,
            "hint": None if each.hint is None else str(each.hint),
            **_place(each.place),
            "notes": [_note(note) for note in each.notes],
        }
        for each in map(in_options, diagnostics)
    ]


def write_text(path: Path, text: str) -> None:
    """Write a file, as `write_file` does."""
    write_file(path, text.encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file in one step: its place has the old content or the new one at every moment, also after the
    death of this process. A device or pipe is written to. DiagnosticError where that cannot be done.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _exchange(path.resolve(), content)
    except OSError as error:
        raise unwritable(path, error) from error


def _exchange(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def unwritable(path: Path, error: OSError) -> DiagnosticError:
    """The refusal of a place that cannot be written."""
    found = f"cannot be written: {error.strerror}"
    return refusal("output-unwritable", str(path), found, "name a place that you may write to")


def _note(note: Note) -> PrintedNote:
    return {"message": note.message, **_place(note.place)}


def _place(place: Place) -> PrintedPlace:
    if isinstance(place, Span):
        return {"place": str(place), "path": place.path, "line": place.line, "column": place.column}
    return {"place": place}
