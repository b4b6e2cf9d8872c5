"""The cheapest changes that make a refused model fit: more bytes, or an operator elsewhere.

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
    """The refusal with a hint. `rules` are those under which it was made: the user's, or these on fewer
    target_archs. `fits` lowers and plans everything again.
    """
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
    """The operator that the refusal blames before all on another target_arch, first on the host, even where
    the user's rules require it elsewhere.
    """
    archs = sorted(soc.archs, key=lambda arch: not arch.host)
    for operator in refusal.operators[:1]:
        for arch in (each for each in archs if each.name not in rules.left_out):
            required = {**rules.require, operator: arch.name}
            if rules.require.get(operator) != arch.name and fits(soc, evolve(rules, require=required)):
                return f"`{operator}` on `{arch.name}`"
    return None


def _nothing(refusal: DoesNotFitError) -> str:
    most = ceil_div(refusal.missing, _KIB) * 2 ** (TRIES - 1)
    return f"{NO_CHANGE} was found that makes it fit: not even `{refusal.memory}` {most:,} KiB larger"
