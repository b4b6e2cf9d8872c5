"""Dead bytes in scarce memories: a new buffer begins there only when no step in flight touches a dead one."""

from collections.abc import Collection, Iterable, Mapping

from target_arch.plan.memory import BufferKind
from target_arch.stages.program.hazards import InFlight
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.program import Program


class DeadBytes:
    """The buffers that no later item names, by memory and the partition whose local buffers they are."""

    def __init__(self, program: Program, homes: TensorHomes, flight: InFlight) -> None:
        self._buffers, self._uses, self._flight = program.buffers, program.liveness.uses, flight
        self._drained, self._strict = frozenset(homes.drained), homes.strict
        self._dead: dict[str, dict[str | None, list[str]]] = {name: {} for name in self._drained}

    def before(self, item: Item, new: Iterable[str]) -> Mapping[str, int]:
        """The values of each timeline to wait for before the new buffers of an item begin."""
        memories = {self._buffers[name].memory for name in new}
        if isinstance(item, Run) and item.reserved:
            memories.update(item.reserved)
        needed: dict[str, int] = {}
        for memory in memories & self._drained if memories else ():
            dead = self._dead[memory]
            for partition in [p for p in dead if p is None or p != item.partition or self._strict]:
                for name in dead.pop(partition):
                    for timeline, value in self._flight.touching(name).items():
                        needed[timeline] = max(value, needed.get(timeline, 0))
        return needed

    def reused(self, number: int, item: Item, new: Collection[str]) -> list[str]:
        """The operands whose place a new result could reuse, where the ledger counted both once: steps in
        flight on them are waited for.
        """
        if not self._strict or not isinstance(item, Run):
            return []
        over = (name for operand in item.operands if operand.of in new for name in operand.over)
        return [name for name in over if self._uses[name][1] == number]

    def end(self, names: Iterable[str]) -> None:
        """Note that no later item names these buffers."""
        for name in names:
            slot = self._buffers[name]
            if slot.memory in self._dead and slot.kind is not BufferKind.RESIDENT:
                self._dead[slot.memory].setdefault(slot.partition, []).append(name)
