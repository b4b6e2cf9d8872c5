"""The most time that a run may take, as text."""

from target_arch.diagnostics import DiagnosticError, listed, refusal
from target_arch.soc.units import TIME, split


def time_limit(text: str) -> float:
    """Seconds of a text such as `20ms`. DiagnosticError for one that is no time above 0."""
    parts = split(text)
    if parts is None or parts[1] not in TIME or parts[0] <= 0:
        raise bad_limit(text)
    return float(parts[0] * TIME[parts[1]])


def time_text(seconds: float) -> str:
    """The text of a limit of time, to a femtosecond."""
    whole, _, rest = f"{seconds * 1e9:.6f}".partition(".")
    rest = rest.rstrip("0")
    return f"{whole}.{rest} ns" if rest else f"{whole} ns"


def bad_limit(text: str) -> DiagnosticError:
    """The refusal of a limit of time."""
    said = f"`{text}` is no limit of time: a number above 0 with {listed(TIME)}"
    return refusal("bad-within", "within", said, "such as `20ms`")
