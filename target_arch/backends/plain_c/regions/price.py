"""The instructions that a region adds to a run, as estimated before there is any C.

The numbers are those of the kernels for Cortex-M7, counted on an emulated board.
"""

from collections.abc import Sequence

from target_arch.backends.plain_c.regions.linewise import Linewise
from target_arch.backends.plain_c.regions.schedule import moved_bytes, turns_of
from target_arch.plan.regions.lines import Pass

_MOVE = 0.5
"""Instructions for each byte that is moved."""
_GATHER = 1.5
"""Instructions for each byte whose channels are copied."""


def price(one: Pass, units: Sequence[Linewise]) -> int:
    """The instructions that computing lines in turn adds; less than 0 where it saves some."""
    turns = turns_of(one)
    copied = sum(producer.image.bytes for producer in one.producers if not producer.operators)
    added = sum(unit.more(turns[unit.unit.image.name]) for unit in units)
    return int(_MOVE * moved_bytes(one) + _GATHER * copied + added)
