"""The program that the ledger expects: the kernels so far, stand-ins for all other partitions, and the facts
about call sites, tensors and kernels that follow.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from attrs import evolve, field, frozen

from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Buffer, BufferKind
from target_arch.plan.partitions import Partition
from target_arch.stages.lowering.budgets.call_sites import CallSites
from target_arch.stages.lowering.budgets.constant_bytes import constant_bytes
from target_arch.stages.memory.packing.live_sums import Interval
from target_arch.stages.memory.pool_ledger import PoolLedger
from target_arch.stages.memory.residents import Residents
from target_arch.stages.program.alias import alias_whole
from target_arch.stages.program.homes import MemoryDemands, TensorHomes
from target_arch.stages.program.in_place import in_place_calls, reusable_operands
from target_arch.stages.program.items import Run, Slot, local_slot
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program

_HELD = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.ACTIVATION)
"""Buffers of tensors, which need bytes whatever kernels use for themselves."""


@frozen(kw_only=True, slots=False)
class Foreseen:
    """A program of kernels and stand-ins, with tensors in these `homes`."""

    work: PartialLowering = field(repr=False)
    homes: TensorHomes = field(repr=False)
    demands: MemoryDemands = field(repr=False)
    _program: Program = field(repr=False)
    _call_sites: CallSites = field(repr=False)
    _places: Mapping[str, Mapping[str, str]] = field(repr=False)
    """By partition the buffer in which it finds or leaves each tensor."""

    @classmethod
    def of(cls, work: PartialLowering, homes: TensorHomes) -> "Foreseen":
        """The program of the lowering so far, with tensors aliased where a kernel only copies."""
        joined = join(work, homes)
        program, gone = alias_whole(joined, frozenset(work.kernels))
        return cls(
            work=work,
            homes=homes,
            demands=MemoryDemands(work),
            program=program,
            call_sites=CallSites.of(work.graph.partitions, program.items),
            places=_places(work, joined, gone),
        )

    @property
    def known(self) -> frozenset[str]:
        """The partitions that had a kernel when this was made."""
        return frozenset(self.work.kernels)

    @property
    def reuses(self) -> dict[str, tuple[str, ...]]:
        """By result the operands whose place it can take."""
        return self._of_tensors(self._program.liveness.reuses)

    def number(self, partition: Partition) -> int:
        """The number of a partition in the order in which they run."""
        return self._call_sites.numbers[partition.id]

    def partition(self, number: int) -> Partition:
        """The id of the partition with that number."""
        return self.work.graph.partitions[number]

    def turn(self, partition: Partition) -> Interval:
        """The items of a partition."""
        return self._call_sites.turn(partition)

    def sites(self, partition: Partition) -> Mapping[str, Interval]:
        """The first and last item of each operator of a partition."""
        return self._call_sites.spans[partition.id]

    def site(self, partition: Partition, site: str) -> Interval:
        """The first and last item of one operator of a partition."""
        return self._call_sites.spans[partition.id][site]

    def memory(self, name: str) -> str:
        """The memory of a buffer."""
        return self._program.buffers[name].memory

    def own(self, partition: Partition, kernel: Kernel) -> dict[str, list[Buffer]]:
        """The kernel's buffers by memory, each live while its call sites run."""
        lives = self._call_sites.lives(partition, kernel)
        found: dict[str, list[Buffer]] = {}
        for buffer in kernel.buffers:
            if buffer.name in lives:
                slot = local_slot(partition.id, buffer, self.work.setting.alignments[buffer.memory])
                found.setdefault(buffer.memory, []).append(_buffer(slot, lives[buffer.name]))
        return found

    def conforms(self, partition: Partition, kernel: Kernel) -> bool:
        """True if the kernel finds all its tensors in the memories that the stand-in assumed."""
        places, buffers = self._places[partition.id], self._program.buffers
        for demand in self.demands.of(partition, kernel):
            memory = buffers[places[demand.tensor]].memory if demand.tensor in places else None
            if memory is None and not demand.write:
                passing = (m for m in demand.memories if (demand.tensor, m) in self.homes.streamed)
                resting = (m for m in self.work.mode.constants if m in demand.memories)
                memory = next(chain(passing, resting), None)
            if memory not in demand.memories:
                return False
        return True

    def dying(self, partition: Partition, kernel: Kernel) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The results of a kernel that conforms, with the operands whose place it lets them take."""
        for run in in_place_calls(partition, kernel, self._places[partition.id]):
            able = reusable_operands(self._program.buffers, self._program.kept, run)
            yield from self._of_tensors(self._program.liveness.dying(able)).items()

    def pool(
        self,
        memory: str,
        growth: int,
        reuses: Mapping[str, tuple[str, ...]],
        taken: Mapping[int, Sequence[Buffer]],
    ) -> PoolLedger:
        """The ledger of one memory, whose constants have grown by `growth` bytes."""
        setting, lives = self.work.setting, self._program.liveness.lives
        there = [slot for slot in self._program.buffers.values() if slot.memory == memory]
        lasting = (BufferKind.CONSTANT, BufferKind.STATE)
        fixed = sum(constant_bytes(setting, memory, slot.bytes) for slot in there if slot.kind in lasting)
        held = [
            evolve(_buffer(slot, lives[slot.name]), over=reuses.get(slot.name, ()))
            for slot in there
            if (slot.kind in _HELD or slot.name in self._rings) and not slot.caller and slot.name in lives
        ]
        return PoolLedger.of(
            Residents(buffers=held, turns=self._call_sites.turns, end=len(self._program.items)),
            setting.soc.memory(memory).size - fixed - growth,
            setting.alignments[memory],
            taken,
        )

    @cached_property
    def _rings(self) -> frozenset[str]:
        """The pieces of constants on their way: local buffers that no kernel has for itself."""
        kernels = self.work.kernels
        own = {f"{id}.{buffer.name}" for id, kernel in kernels.items() for buffer in kernel.buffers}
        local = (slot.name for slot in self._program.buffers.values() if slot.kind is BufferKind.LOCAL)
        return frozenset(name for name in local if name not in own)

    def _of_tensors(self, places: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """The results with the operands that are tensors: a kernel's own buffers are counted separately."""
        buffers = self._program.buffers
        held = {name: tuple(p for p in found if buffers[p].kind in _HELD) for name, found in places.items()}
        return {name: found for name, found in held.items() if found}


def _places(work: PartialLowering, joined: Program, gone: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By partition, the buffer of each tensor it touches; buffers that are `gone` are part of others."""
    found: dict[str, dict[str, str]] = {partition.id: {} for partition in work.graph.partitions}
    for item in joined.items:
        if isinstance(item, Run):
            for operand in item.operands:
                tensor = joined.buffers[operand.of].tensor
                if tensor is not None:
                    found[item.partition][tensor] = gone.get(operand.of, operand.of)
    return found


def _buffer(slot: Slot, life: Interval) -> Buffer:
    return Buffer(
        name=slot.name,
        kind=slot.kind,
        memory=slot.memory,
        bytes=slot.bytes,
        alignment=slot.alignment,
        first=life[0],
        last=life[1],
        tensor=slot.tensor,
    )
