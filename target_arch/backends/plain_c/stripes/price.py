"""The instructions that stripes add to a run, as estimated before there is any C.

The numbers are those of the kernels for Cortex-M7, counted on an emulated board.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import frozen

from target_arch.backends.plain_c.stripes.rowwise import Rowwise
from target_arch.backends.plain_c.stripes.schedule import moved_rows
from target_arch.plan.regions.stripes import Stripes

_MOVE = 0.5
"""Instructions for each byte that is moved."""


@frozen(kw_only=True)
class RowTurns:
    """By tensor, how often so many rows of it are made in a turn, and how many rows are moved."""

    made: Mapping[str, Mapping[int, int]]
    moved: Mapping[str, int]

    @classmethod
    def of(cls, plan: Stripes) -> "RowTurns":
        made = {producer.image.name: Counter[int]() for producer in plan.producers}
        for turn in plan.turns:
            made[turn.producer.image.name][turn.end - turn.start] += turn.end > turn.start
        return cls(made={name: +turns for name, turns in made.items()}, moved=moved_rows(plan))

    def price(self, units: Sequence[Rowwise]) -> int:
        """The instructions that computing rows in turn adds."""
        bytes_moved = sum(self.moved[unit.unit.image.name] * unit.unit.image.row_bytes for unit in units)
        return int(_MOVE * bytes_moved + sum(unit.more(self.made[unit.unit.image.name]) for unit in units))
