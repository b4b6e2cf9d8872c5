"""Text in lines, with indentation, to which every generator in `target_arch.emit` writes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from target_arch.emit.text.listing import Listing

INDENT = "    "
LINE = 110


class Emitter:
    """Collects lines. `text()` is everything so far; equal calls give equal text."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        """Add one line at the current depth; an empty one carries no blanks."""
        self._lines.append(f"{INDENT * self._depth}{text}" if text else "")

    def lines(self, texts: Iterable[str]) -> None:
        """Add several lines."""
        for text in texts:
            self.line(text)

    def block(self, text: str) -> None:
        """Add text that already has its own lines and indentation, such as a function from a backend."""
        self._lines.extend(text.rstrip("\n").split("\n"))

    def wrapped(self, items: Listing) -> None:
        """Add items separated by commas, as many to a line as fit, with a comma after the last."""
        if items:
            indent = INDENT * self._depth
            self._lines.append(indent + items.lines(LINE - len(indent)).replace("\n", f"\n{indent}"))

    def table(self, declaration: str, rows: Sequence[str]) -> None:
        """One const array; C99 has no empty ones, so none where there are no rows."""
        if not rows:
            return
        self.line()
        self.line(f"{declaration}[] = {{")
        with self.indent():
            self.lines(rows)
        self.line("};")

    @contextmanager
    def indent(self) -> Iterator[None]:
        """One level deeper inside the `with`."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"
