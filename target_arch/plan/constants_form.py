"""The form that the constants of a bundle have: numbers in C, bytes that are linked, or a file."""

from enum import StrEnum

from target_arch.soc.words import member_or_text

LARGE = 1 << 20
"""Bytes of constants above which they are no text, where nobody asks for a form."""


class ConstantsForm(StrEnum):
    """The form of constants. `AUTO` is `TEXT` up to LARGE bytes, else `SECTION`.

    `TEXT` are numbers in C, four to six characters for each byte. `SECTION` are files that the assembler puts
    into the program, `FILE` files of their own, which the program finds at run time. Where there are no
    constants, every form is `TEXT`.
    """

    AUTO = "auto"
    TEXT = "text"
    SECTION = "section"
    FILE = "file"

    def of_bytes(self, constants: int) -> "ConstantsForm":
        """The form of so many bytes of constants; never `AUTO`."""
        if constants and self is not ConstantsForm.AUTO:
            return self
        return ConstantsForm.SECTION if constants > LARGE else ConstantsForm.TEXT


def constants_form(text: str) -> ConstantsForm | str:
    """Converter: the form of that name; another text as it is."""
    return member_or_text(ConstantsForm, text)
