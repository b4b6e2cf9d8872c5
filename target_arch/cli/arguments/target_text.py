"""`--target` as a user writes it, taken apart, with the place of every word.

    my_npu,sram=64KiB,label="a, b"           a name, then what is set for it
    c,my_npu,sram=64KiB                      several names
    {"name": "my_npu", "sram": "64 KiB"}     the same as JSON; a list of such objects, too

A word with commas or blanks at its ends stands in double quotes (as in JSON) or single quotes (as it is).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Span

OPTION = "--target"

_PLAIN = re.compile(r"[^,=\"']*")
_VALUE = re.compile(r"[^,]*")
_BLANK = re.compile(r"\s*")
_T = TypeVar("_T")
_JSON = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


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
            self._take(",")

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

    def _objects(self) -> list[TargetArgument]:
        """One object, or a list of them."""
        if self._next() == "{":
            found = [self._object()]
        else:
            self._at += 1
            found = list(self._repeated("]", self._object))
        self._skip()
        if self._at < len(self._source):
            raise self._error(self._here(self._at, len(self._source)), "this stands behind the end")
        return found

    def _object(self) -> TargetArgument:
        self._skip()
        start = self._at
        self._take("{")
        pairs = list(self._repeated("}", self._pair))
        names = [value for key, value in pairs if key.text == "name"]
        if len(names) != 1:
            said = '"name" is missing' if not names else '"name" is there twice'
            raise self._error(self._here(start, self._at), said)
        return TargetArgument(name=names[0], settings=tuple(pair for pair in pairs if pair[0].text != "name"))

    def _pair(self) -> tuple[Word, Word]:
        self._skip()
        if self._next() != '"':
            raise self._error(self._here(self._at, self._at + 1), "a name in double quotes is missing here")
        key = self._json_text()
        self._skip()
        self._take(":")
        self._skip()
        return key, self._json_value()

    def _json_value(self) -> Word:
        start = self._at
        try:
            value, self._at = _JSON.raw_decode(self._source, start)
        except json.JSONDecodeError as error:
            raise self._not_json(error) from None
        except RecursionError:
            value = None
        if not isinstance(value, str | bool):
            raise self._error(self._here(start, self._at), "a value is text, a number, true or false")
        return self._here(start, self._at, value if isinstance(value, str) else str(value).lower())

    def _json_text(self) -> Word:
        start = self._at
        try:
            text, self._at = _JSON.raw_decode(self._source, start)
        except json.JSONDecodeError as error:
            if error.pos == start:
                raise self._error(self._here(start, start + 1), "this quote is never closed") from None
            raise self._not_json(error) from None
        return self._here(start, self._at, text)

    def _repeated(self, end: str, read: Callable[[], _T]) -> Iterator[_T]:
        """The items between commas, up to and including `end`."""
        while True:
            yield read()
            self._skip()
            if self._next() == end:
                self._at += 1
                return
            self._take(",", end)

    def _take(self, *expected: str) -> None:
        if self._next() not in expected[:1]:
            wanted = " or ".join(f"`{each}`" for each in expected)
            raise self._error(self._here(self._at, self._at + 1), f"{wanted} is missing here")
        self._at += 1

    def _skip(self) -> None:
        found = _BLANK.match(self._source, self._at)
        assert found is not None
        self._at = found.end()

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]

    def _here(self, start: int, end: int, text: str = "") -> Word:
        return Word(text=text, number=self._number, source=self._source, start=start, end=end)

    def _not_json(self, error: json.JSONDecodeError) -> DiagnosticError:
        said = error.msg.rstrip(": ")
        return self._error(self._here(error.pos, error.pos + 1), f"not JSON: {said[0].lower()}{said[1:]}")

    def _error(self, word: Word, message: str, hint: str | None = None) -> DiagnosticError:
        return DiagnosticError([refused(word, message, hint=hint)])
