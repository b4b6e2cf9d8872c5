"""A place in a text file."""

from attrs import field, frozen

from target_arch.diagnostics.printable import in_place, printable


@frozen(kw_only=True)
class Span:
    """`length` characters from `line`:`column` (both counted from 1) of the file `path`.

    `text` is the whole line without its end, so that a message can be printed when the file is gone.
    """

    path: str = field(converter=printable)
    line: int
    column: int
    length: int = 1
    text: str = field(default="", converter=in_place)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
