"""A message to the user, and its text form."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from attrs import field, frozen

from target_arch.diagnostics.advice import Hint
from target_arch.diagnostics.printable import printable
from target_arch.diagnostics.span import Span

Place = Span | str
"""Where a message belongs: in a file, or in words (`step 12 (dispatch conv3 on npu)`)."""

_LONGEST = 160


def _shown_place(place: Place) -> Place:
    return printable(place) if isinstance(place, str) else place


def _shown_hint(hint: Hint | None) -> Hint | None:
    return printable(hint) if isinstance(hint, str) else hint


@frozen(kw_only=True)
class Note:
    """The second place of a conflict."""

    place: Place = field(converter=_shown_place)
    message: str = field(converter=printable)


@frozen(kw_only=True)
class Diagnostic:
    """One mistake.

    `message` states the fault, lower case, without a full stop, names in backticks; only `hint` proposes a
    remedy. As text, it has the options of a request as keywords of Python. `rule` is its name in
    documentation and tests. All text is printable, whatever name or file it quotes, see `printable`.
    """

    rule: str
    place: Place = field(converter=_shown_place)
    message: str = field(converter=printable)
    hint: Hint | None = field(default=None, converter=_shown_hint)
    notes: tuple[Note, ...] = ()
    level: str = "error"

    def __str__(self) -> str:
        return render(self)


class DiagnosticError(Exception):
    """Carries every mistake found; `str` is the text of all of them."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        super().__init__(tuple(diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every mistake, in the order in which they are printed."""
        found: tuple[Diagnostic, ...] = self.args[0]
        return found

    def __str__(self) -> str:
        return render_all(self.diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process makes it of: its kinds are made of other values than they hold."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[DiagnosticError], held: tuple[Any, ...], facts: Mapping[str, Any]
) -> DiagnosticError:
    error = kind.__new__(kind, *held)
    error.__dict__.update(facts)
    return error


def refusal(rule: str, place: Place | PurePath, message: str, hint: Hint | None = None) -> DiagnosticError:
    """One mistake as an error to raise; a file or folder as a whole may be its place."""
    where = str(place) if isinstance(place, PurePath) else place
    return DiagnosticError([Diagnostic(rule=rule, place=where, message=message, hint=hint)])


def render(diagnostic: Diagnostic) -> str:
    """The message, source line and caret, notes and hint as lines without a final newline."""
    lines = _placed(diagnostic.place, diagnostic.level, f"{diagnostic.message} [{diagnostic.rule}]")
    for note in diagnostic.notes:
        lines += _placed(note.place, "note", note.message)
    if diagnostic.hint is not None:
        lines.append(f"hint: {diagnostic.hint}")
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    """All messages, each separated from the next by an empty line."""
    return "\n\n".join(render(diagnostic) for diagnostic in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics in the order of their places, each once; those without a file come last."""
    found = dict.fromkeys(diagnostics)
    return tuple(sorted(found, key=lambda diagnostic: _position(diagnostic.place)))


def _position(place: Place) -> tuple[int, str, int, int]:
    if isinstance(place, Span):
        return (0, place.path, place.line, place.column)
    return (1, "", 0, 0)


def _placed(place: Place, level: str, message: str) -> list[str]:
    lines = [f"{place}: {level}: {message}"]
    if isinstance(place, Span) and place.text:
        lines += _source(place)
    return lines


def _source(span: Span) -> list[str]:
    """The source line, or the part around the place of a very long one, and carets below; tabs stay tabs."""
    first = max(0, span.column - 1 - _LONGEST // 2) if len(span.text) > _LONGEST else 0
    text = span.text[first : first + _LONGEST]
    at = span.column - 1 - first
    padding = "".join("\t" if character == "\t" else " " for character in text[:at])
    carets = "^" * max(1, min(span.length, len(text) - at))
    return [f"{span.line:5} | {text}", f"      | {padding}{carets}"]
