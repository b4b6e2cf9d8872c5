"""Names in messages."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 200


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when none is like it."""
    choices = sorted(known)
    exact = [choice for choice in choices if choice.lower() == name.lower()]
    if exact:
        return exact[0]
    close = get_close_matches(name, choices, n=1)
    return close[0] if close else None


def listed(names: Iterable[str]) -> str:
    """The names in backticks, sorted, separated by commas."""
    return ", ".join(f"`{_short(name)}`" for name in sorted(names))


def name_hint(name: str, known: Iterable[str], lead: str) -> str:
    """`did you mean …?` where a known name is near, else `<lead>: <all known names>`."""
    choices = sorted(known)
    near = nearest(name, choices)
    if near is not None:
        return f"did you mean `{near}`?"
    return f"{lead}: {listed(choices)}" if choices else f"{lead}: nothing"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
