"""Headroom: the bytes of every memory that are left for items that go before their turn.

The program's own order needs known bytes at each of its items. An item that goes early extends the lives of
its buffers: they begin at the first item not taken yet, instead of at its own turn. It may go early only if
every memory has room throughout. So all other items still fit in the program's own order. A buffer dies when
all its items are over, not when they begin.

A result that may reuse the place of an operand needs no bytes of its own, if no other item needs the operand.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
from attrs import frozen

from target_arch.plan.memory import BufferKind
from target_arch.soc.model import SoC
from target_arch.stages.program.liveness import live_bytes, whole_units
from target_arch.stages.program.program import Program


def capacities(soc: SoC, program: Program) -> dict[str, int]:
    """The bytes that constants, states and residents leave of every memory with buffers of the program."""
    slots = program.buffers.values()
    left = {name: soc.memory(name).size for name in sorted({slot.memory for slot in slots})}
    for slot in slots:
        if slot.kind in (BufferKind.CONSTANT, BufferKind.STATE, BufferKind.RESIDENT):
            left[slot.memory] -= whole_units(slot)
    return left


@frozen(kw_only=True)
class NotYet:
    """An item cannot be taken now: `until` is the item whose turn must have come, `time` is when enough bytes
    are free.
    """

    until: int = 0
    time: int = 0


class Headroom:
    """The bytes of all memories while items go out of turn. In `held` memories no buffer begins early."""

    def __init__(self, soc: SoC, program: Program, held: Collection[str]) -> None:
        self._held = frozenset(held)
        self._capacity = capacities(soc, program)
        self._names = [tuple(dict.fromkeys(item.names())) for item in program.items]
        self._left = Counter(name for names in self._names for name in names)
        self._kept, self._reusable = program.kept, program.liveness.reusable
        self._begun = {name for _, name in program.inputs}
        self._units = {
            slot.name: (slot.memory, whole_units(slot))
            for slot in program.buffers.values()
            if not slot.settled
        }
        """Memory and bytes of every buffer whose bytes are free again."""
        self._ends: dict[str, int] = {}
        lives = program.liveness.unshared
        self._needed = live_bytes(program.buffers, lives, whole_units, len(program.items))
        """By memory, the bytes live at each item of the program's own order, with the buffers of early items.
        """
        self._used = dict.fromkeys(self._capacity, 0)
        self._dead: dict[str, list[tuple[int, int]]] = {name: [] for name in self._capacity}
        for name in sorted(self._begun & self._units.keys()):
            memory, size = self._units[name]
            self._used[memory] += size

    def refused(self, number: int, turn: int, now: int) -> NotYet | None:
        """The reason why an item cannot be taken now, while `turn` is the first item not taken; None if it
        can.
        """
        for memory, size in self._new(number, self._places(number, now)).items():
            if number > turn:
                if memory in self._held:
                    return NotYet(until=number)
                there, most = self._needed[memory][turn:number], self._capacity[memory] - size
                if there.max() > most:
                    return NotYet(until=turn + int(np.flatnonzero(there > most)[-1]) + 1)
            time = self._free_at(memory, size, now)
            if time > now:
                return NotYet(until=turn, time=time)
        return None

    def take(self, number: int, turn: int, start: int, end: int) -> None:
        """Take the item; it runs from `start` to `end`."""
        places = self._places(number, start)
        gone = set(places.values())
        for memory, size in self._new(number, places).items():
            self._used[memory] += size
            self._needed[memory][turn:number] += size
        for name in self._names[number]:
            self._begun.add(name)
            self._left[name] -= 1
            self._ends[name] = max(end, self._ends.get(name, 0))
            dies = not self._left[name] and name not in self._kept and name not in gone
            if dies and name in self._units:
                memory, size = self._units[name]
                heapq.heappush(self._dead[memory], (self._ends[name], size))

    def _new(self, number: int, places: Mapping[str, str]) -> Mapping[str, int]:
        """By memory, the bytes of the buffers that begin with an item, except those that reuse a place."""
        sizes: dict[str, int] = {}
        for name in self._names[number]:
            if name not in self._begun and name not in places and name in self._units:
                memory, size = self._units[name]
                sizes[memory] = sizes.get(memory, 0) + size
        return sizes

    def _places(self, number: int, now: int) -> dict[str, str]:
        """The results of an item that reuse the place of an operand if it begins now, with these operands."""
        places: dict[str, str] = {}
        for result, operands in self._reusable[number].items():
            free = (
                name
                for name in operands
                if self._left[name] == 1 and self._ends.get(name, 0) <= now and name not in places.values()
            )
            place = next(free, None) if result not in self._begun else None
            if place is not None:
                places[result] = place
        return places

    def _free_at(self, memory: str, size: int, now: int) -> int:
        """The time at which these bytes are free; now, if waiting does not help."""
        dead, missing = self._dead[memory], self._used[memory] + size - self._capacity[memory]
        while dead and dead[0][0] <= now:
            freed = heapq.heappop(dead)[1]
            self._used[memory] -= freed
            missing -= freed
        for time, freed in sorted(dead) if missing > 0 else ():
            missing -= freed
            if missing <= 0:
                return time
        return now
