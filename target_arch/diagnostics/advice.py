"""Hints that name options of a request.

Python writes an option as a keyword, a command line in its own way. So a hint holds the option itself, and
the command line words it when it prints the hint.
"""

from collections.abc import Callable

from attrs import frozen

from target_arch.diagnostics.printable import printable


@frozen
class Blank:
    """A word that the reader replaces, such as NUMBER."""

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


@frozen
class Entries:
    """Keys and values of a mapping, in order."""

    pairs: tuple[tuple[object, object], ...]

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self.pairs) + "}"


@frozen
class Keyword:
    """An option of a request, with the value to give it: `batch=1`. Without a value, the option as such."""

    name: str
    value: object = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


@frozen
class Advice:
    """A hint whose parts are text and options. `str` has these as keywords of Python."""

    parts: tuple[str | Keyword, ...]

    def __str__(self) -> str:
        return printable(self.worded(str))

    def worded(self, words: Callable[[Keyword], str]) -> str:
        """The text with every option in these words."""
        return "".join(part if isinstance(part, str) else f"`{words(part)}`" for part in self.parts)


def advice(*parts: str | Keyword) -> Advice:
    """The hint of these parts, one after the other."""
    return Advice(parts)


Hint = str | Advice
