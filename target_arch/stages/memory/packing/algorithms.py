"""The built-in planners, by name; they are found by entry point, as a plug-in's are."""

from collections.abc import Mapping
from types import MappingProxyType

from target_arch.backend.planner import Algorithm
from target_arch.stages.memory.packing import fast
from target_arch.stages.memory.packing.best import best as pack_best
from target_arch.stages.memory.packing.cp_sat import cp_sat as pack_cp_sat
from target_arch.stages.memory.packing.search import greedy as pack_greedy
from target_arch.stages.memory.packing.search import search as pack_search

by_size = Algorithm(name="by-size", description="first fit, the largest first", pack=fast.by_size)
by_area = Algorithm(name="by-area", description="first fit, most bytes times steps first", pack=fast.by_area)
by_conflicts = Algorithm(
    name="by-conflicts", description="first fit, the most overlaps first", pack=fast.by_conflicts
)
by_time = Algorithm(name="by-time", description="first fit, in the order of time", pack=fast.by_time)
skyline = Algorithm(name="skyline", description="always the lowest place there is", pack=fast.skyline)
greedy = Algorithm(name="greedy", description="the lowest of the fast ones", pack=pack_greedy)
best = Algorithm(
    name="best",
    description="greedy, a local search, a short exact search; the default",
    pack=pack_best,
)
search = Algorithm(
    name="search",
    description="greedy, then the exact search until the effort is spent",
    pack=pack_search,
    takes_effort=True,
)
cp_sat = Algorithm(
    name="cp-sat",
    description="greedy, then OR-tools CP-SAT; needs the extra `search`",
    pack=pack_cp_sat,
    takes_effort=True,
)

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        each.name: each
        for each in (best, by_size, by_area, by_conflicts, by_time, skyline, greedy, search, cp_sat)
    }
)
