"""The default: everything that is fast, in turn, until the bound is reached."""

from collections.abc import Sequence

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.local import local_search
from target_arch.stages.memory.packing.measure import Offsets, least, peak
from target_arch.stages.memory.packing.search import improve, lowest

_WORK = 500_000
"""Nodes times buffers of the exact search: too few to load the compiled core."""

_FEW = 1_000
"""Buffers for which a local search gets anywhere."""

FEWEST_NODES = 2
"""Nodes per buffer without which the exact search is pointless."""


def best(buffers: Sequence[Buffer]) -> Offsets:
    """The lowest of the fast plans, of a local search and of a short exact one. The same on every machine."""
    goal = least(buffers)
    found = lowest(buffers, goal)
    if peak(buffers, found) <= goal:
        return found
    if len(buffers) <= _FEW:
        found = min(found, local_search(buffers), key=lambda offsets: peak(buffers, offsets))
    nodes = _WORK // max(1, len(buffers))
    if peak(buffers, found) > goal and nodes >= FEWEST_NODES * len(buffers):
        found = improve(buffers, found, Effort(nodes=nodes))
    return found
