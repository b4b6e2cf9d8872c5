"""The cheapest changes that make a refused model fit: more bytes, or an operator on the host.

Each is tried, with everything lowered and planned again, before it is named.
"""

from collections.abc import Callable

from attrs import evolve

from target_arch.soc.model import SoC
from target_arch.soc.rounding import ceil_div
from target_arch.stages.errors import NO_CHANGE, DoesNotFitError
from target_arch.stages.placement.rules import Rules

TRIES = 6
"""Sizes of a memory that are tried, at most."""

_KIB = 1024


def remedy(
    refusal: DoesNotFitError, soc: SoC, rules: Rules, fits: Callable[[SoC, Rules], bool]
) -> DoesNotFitError:
    """The refusal with a hint. `rules` are those the user gave, `fits` lowers and plans everything again."""
    known = [
        _larger(refusal, soc, lambda changed: fits(changed, rules)),
        _elsewhere(refusal, soc, rules, fits),
    ]
    found = [hint for hint in known if hint is not None]
    return refusal.advised(", or ".join(found) if found else _nothing(refusal))


def _larger(refusal: DoesNotFitError, soc: SoC, fits: Callable[[SoC], bool]) -> str | None:
    """The KiB by which the memory must grow: the missing bytes if they are enough, else found by doubling and
    halving.
    """
    least = ceil_div(refusal.missing, _KIB)
    most, tries = least, TRIES
    while not fits(_grown(soc, refusal.memory, most)):
        tries -= 1
        if not tries:
            return None
        least, most = most + 1, 2 * most
    while least < most and tries:
        middle, tries = (least + most) // 2, tries - 1
        least, most = (least, middle) if fits(_grown(soc, refusal.memory, middle)) else (middle + 1, most)
    return f"`{refusal.memory}` {most} KiB larger"


def _grown(soc: SoC, name: str, kib: int) -> SoC:
    memories = (evolve(m, size=m.size + kib * _KIB) if m.name == name else m for m in soc.memories)
    return evolve(soc, memories=tuple(memories))


def _elsewhere(
    refusal: DoesNotFitError, soc: SoC, rules: Rules, fits: Callable[[SoC, Rules], bool]
) -> str | None:
    """The operator on the host, unless the user's rules forbid that."""
    operator, host = refusal.operator, soc.host.name
    if operator is None or not fits(soc, evolve(rules, require={**rules.require, operator: host})):
        return None
    return f"`{operator}` on `{host}`"


def _nothing(refusal: DoesNotFitError) -> str:
    most = ceil_div(refusal.missing, _KIB) * 2 ** (TRIES - 1)
    return f"{NO_CHANGE} was found that makes it fit: not even `{refusal.memory}` {most:,} KiB larger"
