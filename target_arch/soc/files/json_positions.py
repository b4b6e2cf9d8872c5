"""Where every key and value of a JSON text stands, which `json` does not tell.

The scanner runs after `json.loads` succeeded and assumes well-formed text. It also finds what `json` lets
pass: keys that stand twice in one table, and values that are no numbers. Tests:
`tests/soc/files/test_cost_file.py`.
"""

import json
import re
from collections.abc import Iterator

from target_arch.diagnostics import Span
from target_arch.soc.faults import Path
from target_arch.soc.files.positions import Range, Where, span

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r"[^\s,\]}]+")
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


class JsonPositions:
    """Places in one text, asked for by path. Of tables and lists the value is their opening bracket."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text, self._at = path, text, 0
        self._found: dict[Path, Where] = {}
        self._odd: dict[Range, str] = {}
        self._scan((), None)

    def key(self, path: Path) -> Span:
        """The key at `path`, or that of the nearest table around it where there is none."""
        return span(self._path, self._text, self._nearest(path).key)

    def value(self, path: Path) -> Span:
        """The value at `path`; where there is none, that around it, or its key where that is a table."""
        where = self._nearest(path)
        plain = path in self._found or self._text[where.value[0]] not in "[{"
        return span(self._path, self._text, where.value if plain else where.key)

    def where(self, path: Path) -> Where:
        """The offsets of the key and of the value at `path`, which is there."""
        return self._found[path]

    def faults(self) -> Iterator[tuple[Span, str]]:
        """The places where the text is no valid JSON although `json` accepts it, each with the reason."""
        for place in sorted(self._odd):
            yield span(self._path, self._text, place), self._odd[place]

    def _nearest(self, path: Path) -> Where:
        while path not in self._found:
            path = path[:-1]
        return self._found[path]

    def _scan(self, path: Path, key: Range | None) -> None:
        """A value, from the blanks before it to its end."""
        start = self._blank()
        opening = self._text[start]
        if opening == "{":
            self._table(path)
        elif opening == "[":
            self._list(path)
        else:
            self._at = self._end(start)
            if self._text[start : self._at] in _NO_NUMBERS:
                self._odd[start, self._at] = f"`{self._text[start : self._at]}` is no number"
        value = (start, start + 1 if opening in "[{" else self._at)
        self._found[path] = Where(key=key or value, value=value)

    def _table(self, path: Path) -> None:
        self._at += 1
        while self._text[self._blank()] != "}":
            start = self._at
            self._at = self._end(start)
            name = str(json.loads(self._text[start : self._at]))
            place, here = (start, self._at), (*path, name)
            if here in self._found:
                self._odd[place] = f"`{name}` stands twice in one table"
            self._blank()
            self._at += 1  # the colon
            self._scan(here, place)
            self._skip_comma()
        self._at += 1

    def _list(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._text[self._blank()] != "]":
            self._scan((*path, index), None)
            self._skip_comma()
            index += 1
        self._at += 1

    def _end(self, start: int) -> int:
        found = (_STRING if self._text[start] == '"' else _SCALAR).match(self._text, start)
        return start if found is None else found.end()

    def _blank(self) -> int:
        found = _BLANK.match(self._text, self._at)
        self._at = self._at if found is None else found.end()
        return self._at

    def _skip_comma(self) -> None:
        if self._text[self._blank()] == ",":
            self._at += 1
