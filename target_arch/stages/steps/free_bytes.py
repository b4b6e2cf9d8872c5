"""The free bytes of all memories while steps are ordered. If there is no room for a new buffer, it begins
after a wait for steps in flight on dead buffers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from target_arch.plan.memory import BufferKind
from target_arch.soc.model import SoC
from target_arch.stages.program.hazards import InFlight
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.liveness import whole_units
from target_arch.stages.program.program import Program
from target_arch.stages.steps.headroom import capacities
from target_arch.stages.steps.simulation.clock import Clock

Wait = Callable[[Mapping[str, int]], None]
"""Waits until each timeline has reached a value."""


class FreeBytes:
    """Counts whole units, as packing does. Inputs are live from the start."""

    def __init__(self, soc: SoC, program: Program, flight: InFlight, clock: Clock) -> None:
        self._buffers, self._liveness = program.buffers, program.liveness
        self._flight, self._clock = flight, clock
        self._free = capacities(soc, program)
        self._dying: dict[str, list[str]] = {}
        self._in_place: set[str] = set()
        """The operands whose place a result reuses."""
        for _, name in program.inputs:
            self._occupy(name)

    def begin(self, number: int, item: Item, new: Iterable[str], wait: Wait) -> None:
        """Wait until there is room for the new buffers of an item, first for the dead buffers that are free
        soonest. A buffer that can reuse the place of an operand needs no room.
        """
        for name in new:
            slot = self._buffers[name]
            if slot.kind == BufferKind.INPUT or slot.settled:
                continue
            able = self._liveness.reusable[number].get(name, ())
            if self._reuses(item, [place for place in able if self._liveness.uses[place][1] == number], wait):
                continue
            self._occupy(name)
            while self._free[slot.memory] < 0 and self._dying.get(slot.memory):
                self._clear(slot.memory, wait)

    def end(self, names: Iterable[str]) -> None:
        """Note that no later item names these buffers."""
        for name in names:
            slot = self._buffers[name]
            fixed = slot.settled or name in self._liveness.kept
            if not fixed and name not in self._in_place:
                self._dying.setdefault(slot.memory, []).append(name)

    def _reuses(self, item: Item, operands: Sequence[str], wait: Wait) -> bool:
        """True if a result can reuse the place of an operand, as no other step in flight touches it."""
        own = item.instance if isinstance(item, Run) else ""
        for name in operands:
            flying = {t: value for t, value in self._flight.touching(name).items() if t != own}
            over = (self._clock.done(t, flying[t]) <= self._clock.now for t in flying)
            if name not in self._in_place and all(over):
                wait(flying)
                self._in_place.add(name)
                return True
        return False

    def _clear(self, memory: str, wait: Wait) -> None:
        """Free the bytes of all dead buffers that no step in flight touches, else of the one that is free
        soonest.
        """
        dying = self._dying[memory]
        gone = dict.fromkeys(name for name in dying if not self._flight.touching(name))
        gone = gone or {min(dying, key=self._let_go): None}
        for name in gone:
            wait(self._flight.touching(name))
            self._free[memory] += whole_units(self._buffers[name])
        self._dying[memory] = [name for name in dying if name not in gone]

    def _occupy(self, name: str) -> None:
        slot = self._buffers[name]
        if not slot.settled:
            self._free[slot.memory] -= whole_units(slot)

    def _let_go(self, name: str) -> int:
        """The time from which no step in flight touches a buffer."""
        return max((self._clock.done(*event) for event in self._flight.touching(name).items()), default=0)
