"""The goal of a compilation: the quality of the code that matters most."""

from enum import StrEnum

from target_arch.soc.words import member_or_text


class Goal(StrEnum):
    """The property of generated code that matters most: few bytes, or few cycles whatever constants take.
    `flag` is the compiler's, in the build files of the bundle.
    """

    flag: str

    SIZE = "size", "-Os"
    BALANCED = "balanced", "-O2"
    SPEED = "speed", "-O2"

    def __new__(cls, text: str, flag: str) -> "Goal":
        member = str.__new__(cls, text)
        member._value_, member.flag = text, flag
        return member


def goal(text: str) -> Goal:
    """Converter: the goal of that text."""
    return member_or_text(Goal, text)
