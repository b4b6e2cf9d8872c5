"""The schedules that tuning chooses from, for sums of windows and rows printed as C.

A C compiler makes vectors and keeps registers by itself, where loops are short, their count is known, and the
accumulators of a tile are close together. So: the two innermost axes of the output are cut into tiles, the
tile's sums are accumulated in one of several loop orders, and the stages after a sum run output by output.
The sizes of tiles are sampled; each loop order is a space of its own.
"""

from collections.abc import Callable
from typing import Any

from tvm import s_tir, tirx

from target_arch.relax.te.definition import blocks

SUM, OUT = "acc", "out"
WIDEST, LONGEST = 32, 8
"""The most neighbours of a tile in the last axis, and in the one before."""

_Order = Callable[[Any, Any, list[Any]], list[Any]]
_ORDERS: tuple[_Order, ...] = (
    lambda row, lane, summed: [*summed, row, lane],
    lambda row, lane, summed: [row, *summed, lane],
    lambda row, lane, summed: [row, lane, *summed],
    lambda row, lane, summed: [*summed[:-1], row, lane, summed[-1]],
    lambda row, lane, summed: [row, *summed[:-1], lane, summed[-1]],
)


def is_tunable(function: Any) -> bool:
    """True for a function with one reduction, of at least two axes: windows and rows.

    Reductions of floats must not come here: their order is part of the result.
    """
    schedule = s_tir.Schedule(function)
    names = blocks(schedule)
    if SUM not in names or names[-1] != OUT:
        return False
    sums = [name for name in names if _summed(schedule.get(schedule.get_sblock(name)))]
    return sums == [SUM] and len(schedule.get_loops(schedule.get_sblock(OUT))) >= 2


def spaces(function: Any) -> list[Any]:
    """One schedule per space, with sampled tile sizes in its trace."""
    return [_schedule(function, order, last) for last in (False, True) for order in _ORDERS]


def _schedule(function: Any, order: _Order, lanes_last: bool) -> Any:
    """`lanes_last`: the tiles of the last axis are the outermost loop, so its weights stay in a cache."""
    sch = s_tir.Schedule(function)
    stages = [name for name in blocks(sch) if name not in (SUM, OUT)]
    *outer, row, lane = sch.get_loops(sch.get_sblock(OUT))
    lanes, lane = sch.split(lane, sch.sample_perfect_tile(lane, n=2, max_innermost_factor=WIDEST))
    rows, row = sch.split(row, sch.sample_perfect_tile(row, n=2, max_innermost_factor=LONGEST))
    tiles = [lanes, *outer, rows] if lanes_last else [*outer, rows, lanes]
    sch.reorder(*tiles, row, lane)
    for name in reversed(stages):
        sch.compute_at(sch.get_sblock(name), lane)
    block = sch.get_sblock(SUM)
    sch.compute_at(block, tiles[-1], preserve_unit_loops=True)
    count = _summed(sch.get(block))
    own = sch.get_loops(block)[len(tiles) :]
    *unit, row, lane = own[:-count]
    summed = list(own[-count:])
    ordered = order(row, lane, summed)
    sch.reorder(*unit, *ordered)
    sch.decompose_reduction(block, next(loop for loop in ordered if loop in summed))
    return sch


def _summed(block: Any) -> int:
    """How many axes of a block are summed over."""
    return sum(1 for axis in block.iter_vars if axis.iter_type == tirx.IterVar.CommReduce)
