"""Liveness of the buffers of a program: first and last use, lives, and live bytes per item and memory.

Time is counted in items. One more moment follows the last item, in which the caller reads the outputs.

All stages after joining use this liveness: the ledger of budgets, aliasing, the step order, and the headroom
of items that go early. They count differently:

| asked by | bytes | an operand's place that a result may take | local buffers |
|---|---|---|---|
| aliasing | as they are, as it compares sums with sums | counts twice (`lives`) | count |
| headroom | whole units, as a capacity is packed in units | counts once (`unshared`) | count |
| ledger | as they are; budgets are cut to units later | counts once (`reuses`) | come with each kernel |

Aliasing and headroom leave out states, whose bytes are never free. The step order needs uses alone, and gives
every buffer its life in steps (`Buffer.first`, `Buffer.last`), by which allocation and spilling count. The
checker (`stages.check`) does not use this file: it computes lives from the steps, so that it cannot repeat a
mistake made here.

Tests: `tests/stages/program/test_liveness.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from target_arch.plan.memory import BufferKind
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.packing.live_sums import Interval, live_sums
from target_arch.stages.program.in_place import reusable_operands
from target_arch.stages.program.items import Item, Slot


@frozen(kw_only=True, slots=False)
class Liveness:
    """The lives of the buffers (`slots`) of a program's items; `kept` are the buffers that the caller reads
    at the end.
    """

    items: tuple[Item, ...] = field(repr=False)
    slots: Mapping[str, Slot] = field(repr=False)
    kept: frozenset[str] = field(repr=False)

    @property
    def end(self) -> int:
        """The moment after the last item."""
        return len(self.items)

    @cached_property
    def uses(self) -> Mapping[str, Interval]:
        """First and last item that names each buffer, constants included."""
        uses: dict[str, Interval] = {}
        for number, item in enumerate(self.items):
            for name in item.names():
                uses[name] = (uses[name][0] if name in uses else number, number)
        return uses

    @cached_property
    def lives(self) -> Mapping[str, Interval]:
        """First and last moment in which each buffer is live: inputs and states from the start, outputs and
        next values of states to the end.

        Constants and residents, which are always live, and unused buffers are left out.
        """
        lives: dict[str, Interval] = {}
        given = (BufferKind.INPUT, BufferKind.STATE)
        for name, slot in self.slots.items():
            used = name in self.uses or slot.kind in given or name in self.kept
            if slot.kind not in (BufferKind.CONSTANT, BufferKind.RESIDENT) and used:
                first, last = self.uses.get(name, (self.end, 0))
                first = 0 if slot.kind in given else first
                lives[name] = first, self.end if name in self.kept else last
        return lives

    @cached_property
    def reusable(self) -> tuple[Mapping[str, list[str]], ...]:
        """Per item, by result, the operands whose place it could reuse if nothing reads them afterwards."""
        return tuple(reusable_operands(self.slots, self.kept, item) for item in self.items)

    @cached_property
    def reuses(self) -> Mapping[str, tuple[str, ...]]:
        """By result, the operands whose place it can reuse."""
        return {
            result: operands for places in self.reusable for result, operands in self.dying(places).items()
        }

    def dying(self, places: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
        """By result, the places whose life ends with the item in which its own begins."""
        dying = {
            result: tuple(name for name in names if self.lives[name][1] == self.lives[result][0])
            for result, names in places.items()
        }
        return {result: names for result, names in dying.items() if names}

    @cached_property
    def unshared(self) -> Mapping[str, Interval]:
        """The lives of buffers that need bytes of an arena for a time, so not of states. A result that can
        reuse the place of an operand begins one item later: in between, both are the same bytes.
        """
        return {
            name: (life[0] + (name in self.reuses), life[1])
            for name, life in self.lives.items()
            if not self.slots[name].settled
        }


def live_bytes(
    slots: Mapping[str, Slot], lives: Mapping[str, Interval], size: Callable[[Slot], int], end: int
) -> dict[str, NDArray[np.int64]]:
    """The bytes live at every moment up to `end`, by memory. The arrays are the caller's."""
    sizes: dict[str, list[tuple[Interval, int]]] = {}
    for name, life in lives.items():
        sizes.setdefault(slots[name].memory, []).append((life, size(slots[name])))
    return {memory: live_sums(known, end) for memory, known in sizes.items()}


def whole_units(slot: Slot) -> int:
    """The bytes of a buffer in units of its alignment, as packing counts them."""
    return round_up(slot.bytes, slot.alignment)
