"""`--target` as a user writes it, taken apart, with the place of every word.

    my_npu,sram=64KiB,label="a, b"           a name, then what is set for it
    c,my_npu,sram=64KiB                      several names
    {"name": "my_npu", "sram": "64 KiB"}     the same as JSON; a list of such objects, too

A word with commas or blanks at its ends stands in double quotes (as in JSON) or single quotes (as it is).
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Span
from target_arch.soc.faults import Path
from target_arch.soc.files.json_positions import JsonPositions
from target_arch.soc.files.json_text import parsed as json_value

OPTION = "--target"

_PLAIN = re.compile(r"[^,=\"']*")
_VALUE = re.compile(r"[^,]*")
_BLANK = re.compile(r"\s*")
_JSON = json.JSONDecoder()


@frozen(kw_only=True)
class Word:
    """A name or a value, its position, and the number of its `--target` (from 1)."""

    text: str
    number: int
    source: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Its place: the number of the `--target` is the line."""
        length = max(1, self.end - self.start)
        return Span(path=OPTION, line=self.number, column=self.start + 1, length=length, text=self.source)


@frozen(kw_only=True)
class TargetArgument:
    """A name and its settings: pairs of key and value."""

    name: Word
    settings: tuple[tuple[Word, Word], ...] = ()


def parsed(given: Sequence[str]) -> tuple[TargetArgument, ...]:
    """The targets of all `--target` in order; settings of one name in several places are one target.

    Raises DiagnosticError with the first mistake in each of them.
    """
    found: dict[str, TargetArgument] = {}
    wrong: list[Diagnostic] = []
    for number, source in enumerate(given, 1):
        try:
            for target in _Reader(source, number).targets():
                earlier = found.get(target.name.text, target)
                settings = () if earlier is target else earlier.settings
                found[target.name.text] = TargetArgument(
                    name=earlier.name, settings=(*settings, *target.settings)
                )
        except DiagnosticError as error:
            wrong += error.diagnostics
    if wrong:
        raise DiagnosticError(wrong)
    return tuple(found.values())


def refused(word: Word, message: str, rule: str = "bad-target", hint: str | None = None) -> Diagnostic:
    """A mistake at a word."""
    return Diagnostic(rule=rule, place=word.span, message=message, hint=hint)


class _Reader:
    """Reads one argument from left to right. `at` is where it stands."""

    def __init__(self, source: str, number: int) -> None:
        self._source, self._number, self._at = source, number, 0

    def targets(self) -> Iterable[TargetArgument]:
        self._skip()
        if self._next() in ("{", "["):
            return self._objects()
        return self._words()

    def _words(self) -> Iterable[TargetArgument]:
        found: list[TargetArgument] = []
        while True:
            word = self._word(_PLAIN)
            if self._next() == "=":
                self._at += 1
                pair = (word, self._set(word))
                if not found:
                    raise self._error(word, f"`{word.text}` is set for no target_arch", "name one before it")
                last = found[-1]
                found[-1] = TargetArgument(name=last.name, settings=(*last.settings, pair))
            else:
                found.append(TargetArgument(name=self._named(word)))
            self._skip()
            if self._at == len(self._source):
                return found
            if self._next() != ",":
                raise self._error(self._here(self._at, self._at + 1), "`,` is missing here")
            self._at += 1

    def _set(self, key: Word) -> Word:
        self._named(key)
        value = self._word(_VALUE)
        if value.start == value.end:
            raise self._error(value, f"`{key.text}` is set to nothing", f'empty text is {key.text}=""')
        return value

    def _named(self, word: Word) -> Word:
        if not word.text:
            raise self._error(word, "a name is missing here")
        return word

    def _word(self, plain: re.Pattern[str]) -> Word:
        """A quoted word, or one that ends where `plain` does."""
        self._skip()
        start = self._at
        if self._next() == '"':
            return self._json_text()
        if self._next() == "'":
            end = self._source.find("'", start + 1)
            if end < 0:
                raise self._error(self._here(start, start + 1), "this quote is never closed")
            self._at = end + 1
            return self._here(start, end + 1, self._source[start + 1 : end])
        found = plain.match(self._source, start)
        assert found is not None
        self._at = found.end()
        text = found[0].rstrip()
        return self._here(start, start + len(text), text)

    def _objects(self) -> Iterator[TargetArgument]:
        """One object, or a list of them."""
        try:
            value = json_value(self._source, OPTION)
        except DiagnosticError as error:
            raise DiagnosticError(map(self._numbered, error.diagnostics)) from None
        positions = JsonPositions(OPTION, self._source)
        if not isinstance(value, list):
            yield self._object((), value, positions)
            return
        for number, table in enumerate(value):
            yield self._object((number,), table, positions)

    def _object(self, path: Path, table: object, positions: JsonPositions) -> TargetArgument:
        place = self._here(*positions.where(path).value)
        if not isinstance(table, dict):
            raise self._error(place, "a target is an object, `{` to `}`")
        if "name" not in table:
            raise self._error(place, '"name" is missing')
        settings = []
        for key, value in table.items():
            where = positions.where((*path, key))
            word = self._here(*where.value)
            if not isinstance(value, str | int | float):
                raise self._error(word, "a value is text, a number, true or false")
            settings.append(
                (self._here(*where.key, key), evolve(word, text=value) if isinstance(value, str) else word)
            )
        name = next(value for key, value in settings if key.text == "name")
        return TargetArgument(name=name, settings=tuple(pair for pair in settings if pair[0].text != "name"))

    def _numbered(self, mistake: Diagnostic) -> Diagnostic:
        """A mistake in JSON as one of this `--target`, whose number is the line."""
        place = mistake.place
        if isinstance(place, Span):
            place = evolve(place, line=self._number, text=self._source)
        return evolve(mistake, rule="bad-target", place=place)

    def _json_text(self) -> Word:
        start = self._at
        try:
            text, self._at = _JSON.raw_decode(self._source, start)
        except json.JSONDecodeError as error:
            if error.pos == start:
                raise self._error(self._here(start, start + 1), "this quote is never closed") from None
            raise self._not_json(error) from None
        return self._here(start, self._at, text)

    def _skip(self) -> None:
        found = _BLANK.match(self._source, self._at)
        assert found is not None
        self._at = found.end()

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]

    def _here(self, start: int, end: int, text: str | None = None) -> Word:
        text = self._source[start:end] if text is None else text
        return Word(text=text, number=self._number, source=self._source, start=start, end=end)

    def _not_json(self, error: json.JSONDecodeError) -> DiagnosticError:
        said = error.msg.rstrip(": ")
        return self._error(self._here(error.pos, error.pos + 1), f"not JSON: {said[0].lower()}{said[1:]}")

    def _error(self, word: Word, message: str, hint: str | None = None) -> DiagnosticError:
        return DiagnosticError([refused(word, message, hint=hint)])
