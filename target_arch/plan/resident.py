"""Resident constants: those that are copied to a memory once, at `init`, and stay there from run to run."""

from enum import StrEnum

from target_arch.soc.words import member_or_text


class Resident(StrEnum):
    """Whether constants that every run would copy may stay where they are copied to: where memories have room
    beside all else, or never.
    """

    AUTO = "auto"
    NEVER = "never"


def resident(text: str) -> Resident | str:
    """Converter: the choice of that text; another text as it is."""
    return member_or_text(Resident, text)
