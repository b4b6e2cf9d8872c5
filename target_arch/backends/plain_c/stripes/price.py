"""The instructions that stripes add to a run, as estimated before there is any C.

The numbers are those of the kernels for Cortex-M7, counted on an emulated board.
"""

from collections import Counter
from collections.abc import Sequence

from target_arch.backends.plain_c.stripes.rowwise import Rowwise
from target_arch.backends.plain_c.stripes.schedule import moved
from target_arch.plan.regions.stripes import Stripes

_MOVE = 0.5
"""Instructions for each byte that is moved."""


def price_of_rows(plan: Stripes, units: Sequence[Rowwise]) -> int:
    """The instructions that computing rows in turn adds."""
    turns = {producer.image.name: Counter[int]() for producer in plan.producers}
    for turn in plan.turns:
        turns[turn.producer.image.name][turn.end - turn.start] += turn.end > turn.start
    return int(_MOVE * moved(plan) + sum(unit.more(+turns[unit.unit.image.name]) for unit in units))
