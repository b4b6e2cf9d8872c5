"""Limits in words: `flash=512KiB,latency=20ms`.

Tests: `tests/quantize/test_budget.py`.
"""

import math
from collections.abc import Iterable, Sequence

from target_arch.diagnostics import name_hint, refusal
from target_arch.explore.measures import BYTES, ENERGY, LATENCY
from target_arch.explore.space import Limit
from target_arch.explore.wishes import limits
from target_arch.quantize.price import NAME, ModelPrice


def budget(texts: Iterable[str], memories: Sequence[str]) -> tuple[Limit, ...]:
    """The limits of texts `NAME=VALUE,...`, where a name is that of a memory, `latency` or `energy`. Of
    several for one the least counts.

    DiagnosticError for a name that the chip does not have, and a value of another unit.
    """
    known = (*memories, LATENCY, ENERGY)
    wishes = []
    for text in (part.strip() for whole in texts for part in whole.split(",") if part.strip()):
        name = text.partition("=")[0].strip().removeprefix(f"{BYTES}.")
        if name not in known:
            said = f"`{name}` is no memory of this chip, and nothing else that is limited"
            raise refusal("unknown-measure", "limits", said, name_hint(name, known, "there are"))
        value = text.partition("=")[2]
        measure = f"{BYTES}.{name}" if name in memories else name
        wishes.append(f"{measure}={value}" if "=" in text else measure)
    least: dict[str, Limit] = {}
    for limit in limits(wishes, [NAME], memories):
        known_limit = least.setdefault(limit.measure, limit)
        least[limit.measure] = min(known_limit, limit, key=lambda one: one.most)
    return tuple(least.values())


def limits_of(price: ModelPrice) -> tuple[Limit, ...]:
    """The bytes and the time of a model as limits."""
    sizes = {f"{BYTES}.{memory}": float(size) for memory, size in price.outcome.bytes.items()}
    values = {**sizes, LATENCY: price.of(LATENCY)}
    return tuple(Limit(measure=name, most=most, shown=shown(name, most)) for name, most in values.items())


def written(limit: Limit) -> str:
    """A limit as it is asked for."""
    return f"{option(limit.measure)}={limit.shown}"


def option(measure: str) -> str:
    """A measure as it is asked for: bytes by the name of the memory."""
    return measure.removeprefix(f"{BYTES}.")


def held(limit: Limit, price: ModelPrice) -> str:
    """A limit that a model keeps: as it is, or as much more as the model needs."""
    value = price.of(limit.measure)
    text = limit.shown if value <= limit.most else shown(limit.measure, value)
    return written(Limit(measure=limit.measure, most=value, shown=text))


def shown(measure: str, value: float) -> str:
    """A value as a limit may be written that it just keeps."""
    if measure.startswith(BYTES):
        return f"{value:.0f}B"
    if measure == LATENCY:
        return f"{math.ceil(value * 1e9) / 1e3:.3f}us"
    return f"{math.ceil(value * 1e12) / 1e3:.3f}nJ"
