"""Text of others in messages: what a terminal would obey, or a reader not see, is written out."""

from unicodedata import category


def printable(text: str) -> str:
    """The text with control characters, those that change the direction of text, and others without a glyph
    as Python writes them: `\\x1b`, `\\u202e`. Line ends and tabs stay.
    """
    return text if text.isprintable() else "".join(map(_written, text))


def in_place(text: str) -> str:
    """A line of the same length, in which each such character is a replacement character."""
    return text if text.isprintable() else "".join("\ufffd" if _is_hidden(each) else each for each in text)


def _written(character: str) -> str:
    return ascii(character)[1:-1] if _is_hidden(character) else character


def _is_hidden(character: str) -> bool:
    return not (character.isprintable() or character in "\n\t" or category(character) == _SPACE)


_SPACE = "Zs"
"""Unicode's category of spaces, wide ones too, which Python does not call printable."""
