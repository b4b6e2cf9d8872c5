"""Algorithms that give offsets to the buffers of one arena, and the bound that tells how good an answer is.

All have one signature, `Algorithm`: buffers in, offsets out, nothing else. Those of `ANYTIME` also take an
`effort`. From fast to exact:

| name | what it does |
|---|---|
| `by-size`, `by-area`, `by-conflicts`, `by-time` | first fit in that order |
| `skyline` | always what could lie lowest |
| `greedy` | the lowest of all these and a few more orders |
| `best` | `greedy`, a local search, a short exact search; the default |
| `search` | `greedy`, then the exact search restarted until the effort is spent |
| `cp-sat` | `greedy`, then OR-tools CP-SAT; needs the extra `search` |

Each stops where its peak is the bound, or what alignment makes of it (`least`). Everything is deterministic
for a seed, unless seconds are asked for.
Tests: `tests/stages/packing`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from target_arch.stages.memory.packing.best import best
from target_arch.stages.memory.packing.cp_sat import cp_sat
from target_arch.stages.memory.packing.fast import by_area, by_conflicts, by_size, by_time, skyline
from target_arch.stages.memory.packing.measure import (
    Algorithm,
    Effort,
    Offsets,
    bound,
    least,
    live_bytes,
    peak,
)
from target_arch.stages.memory.packing.search import greedy, improve, search

__all__ = [
    "ALGORITHMS",
    "ANYTIME",
    "Algorithm",
    "Effort",
    "Offsets",
    "bound",
    "improve",
    "least",
    "live_bytes",
    "peak",
]

ANYTIME: Mapping[str, Callable[..., Offsets]] = MappingProxyType({"search": search, "cp-sat": cp_sat})
"""Algorithms that take the keyword `effort`."""

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "best": best,
        "by-size": by_size,
        "by-area": by_area,
        "by-conflicts": by_conflicts,
        "by-time": by_time,
        "skyline": skyline,
        "greedy": greedy,
        **ANYTIME,
    }
)
