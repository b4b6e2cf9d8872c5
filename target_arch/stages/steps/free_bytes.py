"""The free bytes of all memories while steps are ordered: where a new buffer finds no room, it begins after a
wait for what is in flight on dead ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from target_arch.plan.memory import BufferKind
from target_arch.soc.model import SoC
from target_arch.stages.program.hazards import InFlight
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.liveness import whole_units
from target_arch.stages.program.program import Program
from target_arch.stages.steps.clock import Clock
from target_arch.stages.steps.headroom import capacities

Wait = Callable[[Mapping[str, int]], None]
"""Waits until each timeline has reached a value."""


class FreeBytes:
    """Counts whole units, as packing does. The inputs are there from the start."""

    def __init__(self, soc: SoC, program: Program, flight: InFlight, clock: Clock, wait: Wait) -> None:
        self._buffers, self._liveness = program.buffers, program.liveness
        self._flight, self._clock, self._wait = flight, clock, wait
        self._free = capacities(soc, program)
        self._dying: dict[str, list[str]] = {}
        self._in_place: set[str] = set()
        """The operands whose place a result took."""
        for _, name in program.inputs:
            self._occupy(name)

    def begin(self, number: int, item: Item, new: Iterable[str]) -> None:
        """Wait until the new buffers of an item find room, first for the dead ones that are let go first. One
        that can take the place of an operand needs none.
        """
        for name in new:
            slot = self._buffers[name]
            if slot.kind == BufferKind.INPUT:
                continue
            able = self._liveness.reusable[number].get(name, ())
            if self._reuses(item, [place for place in able if self._liveness.uses[place][1] == number]):
                continue
            self._occupy(name)
            while self._free[slot.memory] < 0 and self._dying.get(slot.memory):
                self._clear(slot.memory)

    def end(self, names: Iterable[str]) -> None:
        """No later item names these buffers."""
        for name in names:
            slot = self._buffers[name]
            fixed = slot.kind == BufferKind.CONSTANT or name in self._liveness.kept
            if not fixed and name not in self._in_place:
                self._dying.setdefault(slot.memory, []).append(name)

    def _reuses(self, item: Item, operands: Sequence[str]) -> bool:
        """True where a result can take the place of one of the operands, as nothing else in flight touches
        that any more.
        """
        own = item.instance if isinstance(item, Run) else ""
        for name in operands:
            flying = {t: value for t, value in self._flight.touching(name).items() if t != own}
            over = (self._clock.done(t, flying[t]) <= self._clock.now for t in flying)
            if name not in self._in_place and all(over):
                self._wait(flying)
                self._in_place.add(name)
                return True
        return False

    def _clear(self, memory: str) -> None:
        """Take back the bytes of all buffers that nothing touches any more, else of the one let go first."""
        dying = self._dying[memory]
        gone = [name for name in dying if not self._flight.touching(name)]
        gone = gone or [min(dying, key=self._let_go)]
        for name in gone:
            self._wait(self._flight.touching(name))
            self._free[memory] += whole_units(self._buffers[name])
        self._dying[memory] = [name for name in dying if name not in set(gone)]

    def _occupy(self, name: str) -> None:
        slot = self._buffers[name]
        if slot.kind != BufferKind.CONSTANT:
            self._free[slot.memory] -= whole_units(slot)

    def _let_go(self, name: str) -> int:
        """When nothing in flight touches a buffer any more."""
        return max((self._clock.done(*event) for event in self._flight.touching(name).items()), default=0)
