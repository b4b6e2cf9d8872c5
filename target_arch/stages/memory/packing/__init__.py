"""Algorithms that give offsets to the buffers of one arena, and a lower bound on the peak.

From fast to exact:

| name | method |
|---|---|
| `by-size`, `by-area`, `by-conflicts`, `by-time` | first fit in that order |
| `skyline` | always the buffer with the lowest possible offset |
| `greedy` | the lowest of all these and a few more orders |
| `best` | `greedy`, a local search, a short exact search; the default |
| `search` | `greedy`, then the exact search restarted until the effort is spent |
| `cp-sat` | `greedy`, then OR-tools CP-SAT; needs the extra `search` |

Each stops where its peak is the bound, or the bound with alignment (`least`). Everything is deterministic
for a seed, unless seconds are asked for.
Tests: `tests/stages/memory/packing`.
"""

from target_arch.stages.memory.packing.algorithms import ALGORITHMS
from target_arch.stages.memory.packing.measure import Offsets, bound, least, live_bytes, peak
from target_arch.stages.memory.packing.search import improve

__all__ = ["ALGORITHMS", "Offsets", "bound", "improve", "least", "live_bytes", "peak"]
