"""The first line about a compiled model: that it fits, how long a run takes and because of what, and how many
bytes it needs.

Tests: `tests/plan/test_verdict.py`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

from attrs import asdict

from target_arch.plan.costs_used import CostsUsed
from target_arch.plan.execution import ActivityKind
from target_arch.plan.manifest.model import ExecutionEntry, ModelEntry, PoolEntry, SpanEntry
from target_arch.plan.memory import Arena
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import interval

K = TypeVar("K", bound=Hashable)


def verdict(model: ModelEntry) -> str:
    """`fits: …` in one line, without an end of line; no time where no run was simulated."""
    within = "" if model.costs is None else interval(CostsUsed(**asdict(model.costs)))
    run = "" if model.execution is None else f"{_time(model.execution, within)}; "
    return f"fits: {run}{_memory(model.pools)}"


def _time(run: ExecutionEntry, within: str) -> str:
    """The time of a run, the busiest instance or channel, and how much the slowest operator is worth."""
    said = f"{duration(run.makespan)}{within} a run"
    orders = (span for span in run.waits if span.kind in (ActivityKind.ORDER, ActivityKind.SETTLE))
    busiest = _largest(_sums((*run.entries, *orders), lambda span: span.where))
    if busiest is not None and run.makespan:
        said += f", {busiest[0]} busy for {busiest[1] / run.makespan:.0%} of it"
    slowest = _largest(
        _sums((span for span in run.entries if span.kind == ActivityKind.RUN), lambda s: (s.what, s.where))
    )
    if slowest is None:
        return said
    (operator, instance), seconds = slowest
    return f"{said}, at most {duration(seconds)} less without {operator} on {instance}"


def _memory(pools: Mapping[str, PoolEntry]) -> str:
    """The bytes of constants and of everything else, and the pool with the least room left."""
    own = {Arena.named(name, pool.memory): pool for name, pool in sorted(pools.items())}
    own = {arena: pool for arena, pool in own.items() if not arena.caller}
    constants = sum(pool.peak for arena, pool in own.items() if arena.constant)
    rest = sum(pool.peak for arena, pool in own.items() if not arena.constant)
    fullest = _largest(
        {str(arena): pool.peak / pool.capacity for arena, pool in own.items() if pool.capacity}
    )
    said = f"{constants:,} B of constants, {rest:,} B of RAM"
    return said if fullest is None else f"{said}, {fullest[0]} {fullest[1]:.0%} full"


def _sums(spans: Iterable[SpanEntry], key: Callable[[SpanEntry], K]) -> dict[K, float]:
    """The seconds of all spans with the same key."""
    sums: dict[K, float] = {}
    for span in spans:
        sums[key(span)] = sums.get(key(span), 0.0) + span.end - span.start
    return sums


def _largest(values: Mapping[K, float]) -> tuple[K, float] | None:
    """The first of the largest; None of nothing."""
    return max(values.items(), key=lambda item: item[1], default=None)
