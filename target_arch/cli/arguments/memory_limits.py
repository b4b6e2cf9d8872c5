"""`--memory sram=40KiB` as a value."""

from collections.abc import Sequence

from target_arch.diagnostics import refusal
from target_arch.soc.units import SIZE, split


def memory_limits(given: Sequence[str]) -> dict[str, int]:
    """Bytes by memory. DiagnosticError for one that is no size, or is given twice."""
    found: dict[str, int] = {}
    for each in given:
        name, equals, text = each.partition("=")
        size = _bytes(text)
        if not (name and equals) or size is None or size <= 0 or name in found:
            said = f"`--memory {each}` names " + ("a memory twice" if name in found else "no memory and size")
            raise refusal("bad-memory", "command line", said, "write `--memory sram=40KiB`, once per memory")
        found[name] = size
    return found


def _bytes(text: str) -> int | None:
    """A size in whole bytes; a number alone is bytes."""
    parts = split(text)
    if parts is None or (parts[1] or "B") not in SIZE:
        return None
    size = parts[0] * SIZE[parts[1] or "B"]
    return int(size) if size.denominator == 1 else None
