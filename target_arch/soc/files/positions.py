"""Where every key and value of a TOML text stands, which `tomllib` does not tell.

The scanner runs after `tomllib.loads` succeeded and assumes well-formed text; on other text it stops where it
is lost (`ValueError`). Newlines are `\\n`.
"""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress

from attrs import frozen

from target_arch.diagnostics import Span
from target_arch.soc.faults import Path

_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})', re.DOTALL),
    re.compile(r"'''.*?'''(?:'{0,2})", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_SCALAR = re.compile(r"[^,\]}#\n]+")

Range = tuple[int, int]


@frozen(kw_only=True)
class Where:
    """The offsets of a key and of its value; both those of the header for a table with one."""

    key: Range
    value: Range


class Positions:
    """Places in one text, asked for by path."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        scanner = _Scanner(text)
        scanner.scan()
        self._found: Mapping[Path, Where] = scanner.found

    def key(self, path: Path) -> Span:
        """The key at `path`, or that of the nearest table around it where there is none."""
        where = self._nearest(path)
        return span(self._path, self._text, where.key)

    def value(self, path: Path) -> Span:
        """The value at `path`, or the header of the nearest table around it where there is none."""
        where = self._nearest(path)
        return span(self._path, self._text, where.value if path in self._found else where.key)

    def where(self, path: Path) -> Where | None:
        """The offsets of the key and of the value at `path`; None where there is none."""
        return self._found.get(path)

    def _nearest(self, path: Path) -> Where:
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, Where(key=(0, 1), value=(0, 1)))


def declared_twice(text: str) -> tuple[Range, Range] | None:
    """The first key of a text that is declared again, with both places; also for text that ends early."""
    scanner = _Scanner(text)
    with suppress(ValueError, RecursionError):
        scanner.scan()
    return scanner.twice


def span(path: str, text: str, at: Range) -> Span:
    """The place of some characters of a text."""
    start, end = at
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)]
    return Span(
        path=path,
        line=text.count("\n", 0, start) + 1,
        column=start - first + 1,
        length=max(1, end - start),
        text=line,
    )


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, Where] = {}
        self.twice: tuple[Range, Range] | None = None
        self._explicit: dict[Path, Range] = {}
        self._elements: dict[Path, int] = {}

    def scan(self) -> None:
        table: Path = ()
        while self._blank():
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        array = self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        keys = self._keys()
        self.at += 2 if array else 1
        table: Path = ()
        for index, (key, place) in enumerate(keys):
            table = (*table, key)
            last = index == len(keys) - 1
            if last and array:
                self._elements[table] = self._elements.get(table, -1) + 1
            self._note(table, place, place, explicit=last and not array)
            if table in self._elements:
                table = (*table, self._elements[table])
                self._note(table, place, place, explicit=False)
        return table

    def _pair(self, table: Path) -> None:
        keys = self._keys()
        self._expect("=")
        self.at = _end(_SPACE, self.text, self.at)
        for key, place in keys[:-1]:
            table = (*table, key)
            self._note(table, place, place, explicit=False)
        key, place = keys[-1]
        start = self.at
        self._note((*table, key), place, place, explicit=True)
        self._value((*table, key))
        self.found[(*table, key)] = Where(key=place, value=(start, self.at))

    def _value(self, path: Path) -> None:
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline_table(path)
        elif opening in ('"', "'"):
            self.at = self._string_end()
        else:
            end = _end(_SCALAR, self.text, self.at)
            self.at += len(self.text[self.at : end].rstrip())

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self._blank() and self.text[self.at] != "]":
            start = self.at
            self._value((*path, index))
            self.found[(*path, index)] = Where(key=(start, self.at), value=(start, self.at))
            index += 1
            self._blank()
            self._skip(",")
        self._expect("]")

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        while self._blank() and self.text[self.at] != "}":
            self._pair(path)
            self._blank()
            self._skip(",")
        self._expect("}")

    def _keys(self) -> list[tuple[str, Range]]:
        keys: list[tuple[str, Range]] = []
        while not keys or self.text.startswith(".", self.at):
            self.at = _end(_SPACE, self.text, self.at + len(keys[:1]))
            start = self.at
            quoted = self.text[start : start + 1] in ('"', "'")
            self.at = self._string_end() if quoted else _end(_BARE_KEY, self.text, start)
            raw = self.text[start : self.at]
            keys.append((str(tomllib.loads(f"key = {raw}")["key"]) if quoted else raw, (start, self.at)))
            self.at = _end(_SPACE, self.text, self.at)
        return keys

    def _note(self, path: Path, key: Range, value: Range, *, explicit: bool) -> None:
        if explicit and path in self._explicit and self.twice is None:
            self.twice = (self._explicit[path], key)
        if explicit:
            self._explicit[path] = key
        if explicit or path not in self.found:
            self.found[path] = Where(key=key, value=value)

    def _string_end(self) -> int:
        for pattern in _STRINGS:
            end = _end(pattern, self.text, self.at)
            if end > self.at:
                return end
        raise ValueError(f"no string at {self.at}")

    def _blank(self) -> bool:
        self.at = _end(_BLANK, self.text, self.at)
        return self.at < len(self.text)

    def _expect(self, character: str) -> None:
        if not self.text.startswith(character, self.at):
            raise ValueError(f"no `{character}` at {self.at}")
        self.at += 1

    def _skip(self, character: str) -> None:
        if self.text.startswith(character, self.at):
            self.at += 1


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
