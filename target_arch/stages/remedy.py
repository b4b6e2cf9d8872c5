"""The cheapest change that would make a refused model fit: more bytes, or an operator on the host."""

from collections.abc import Callable

from attrs import evolve

from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.rules import Rules

_KIB = 1024


def remedy(
    refusal: DoesNotFitError,
    soc: SoC,
    place: Callable[[Rules], PartitionGraph],
    rules: Rules,
) -> DoesNotFitError:
    """The refusal with a hint. `rules` are those the user gave."""
    memory = refusal.pool.removesuffix(".constants")
    larger = f"`{memory}` {-(-(refusal.needed - refusal.available) // _KIB)} KiB larger"
    operator, host = refusal.operator, soc.host.name
    if operator is None or not _could_go(operator, host, place, rules):
        return refusal.advised(larger)
    return refusal.advised(f"{larger}, or `{operator}` on `{host}`")


def _could_go(operator: str, host: str, place: Callable[[Rules], PartitionGraph], rules: Rules) -> bool:
    """True where the host can take the operator, and no more than the user's rules keeps it away."""
    try:
        place(evolve(rules, require={**rules.require, operator: host}))
    except PlacementError:
        return False
    return True
