"""A TOML text with other values: comments, order and everything else stay.

Tests: `tests/soc/files/test_edited.py`.
"""

from collections.abc import Mapping

from target_arch.soc.faults import Path
from target_arch.soc.files.positions import Positions


class EditableToml:
    """A well-formed text whose places are known, from which texts with other values are made."""

    def __init__(self, text: str) -> None:
        self.text, self._places = text, Positions("", text)

    def edited(self, values: Mapping[Path, str]) -> str:
        """The text with these literals at their paths. A key that is not there yet follows the header of its
        table. KeyError where there is no such table.
        """
        text = self.text
        changes = [self._change(path, literal) for path, literal in values.items()]
        for start, end, literal in sorted(changes, reverse=True):
            text = text[:start] + literal + text[end:]
        return text

    def _change(self, path: Path, literal: str) -> tuple[int, int, str]:
        """Where the text changes, and what is there then."""
        there = self._places.where(path)
        if there is not None:
            return *there.value, literal
        table, keys = path[:-1], str(path[-1])
        while table and (there := self._places.where(table)) is None:
            table, keys = table[:-1], f"{table[-1]}.{keys}"
        if there is None:
            raise KeyError(path)
        start, end = there.value
        if self.text[start] == "{":
            return start + 1, start + 1, f" {keys} = {literal},"
        line = self.text.find("\n", end)
        line = len(self.text) if line < 0 else line
        return line, line, f"\n{keys} = {literal}"
