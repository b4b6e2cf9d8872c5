"""Bytes of constants in every memory: those that kernels packed, and the model's own for partitions without a
kernel.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from target_arch.plan.kernels import Kernel
from target_arch.plan.partitions import Partition
from target_arch.soc.rounding import round_up
from target_arch.stages.overlay import Overlay
from target_arch.stages.program.homes import Demand, MemoryDemands, TensorHomes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting


def constant_bytes(setting: Setting, memory: str, bytes: int) -> int:
    """The bytes that a constant takes of a memory."""
    return round_up(bytes, setting.alignments[memory])


@frozen(kw_only=True, slots=False)
class ConstantUse:
    """How many partitions read each constant, and the memories of the model's own."""

    _work: PartialLowering = field(repr=False)
    _demands: MemoryDemands = field(repr=False)
    _memories: Mapping[str, str] = field(repr=False)
    _changed: Overlay[str, int] | None = field(default=None, repr=False)
    """The readers of each constant, None where they are those of `work`."""

    @classmethod
    def of(cls, work: PartialLowering, demands: MemoryDemands, homes: TensorHomes) -> "ConstantUse":
        """The use of constants by the kernels so far; other partitions read the model's own."""
        return cls(work=work, demands=demands, memories=homes.constants)

    def with_kernel(self, partition: Partition, kernel: Kernel) -> tuple["ConstantUse", Mapping[str, int]]:
        """The use of constants with this kernel for the partition, and the bytes by which they grow in each
        memory.
        """
        if not (kernel.constants or self._has_constants(partition)):
            return self, {}
        before, after = self._read(partition, None), self._read(partition, kernel)
        fewer, more = before.keys() - after.keys(), after.keys() - before.keys()
        if not (fewer or more):
            return self, {}
        readers = {name: self._readers[name] - 1 for name in fewer}
        readers |= {name: self._readers.get(name, 0) + 1 for name in more}
        packed = {tensor.name: tensor.bytes for tensor in kernel.constants}
        growth: dict[str, int] = {}
        for name in fewer:
            if not readers[name]:
                memory, size = self._memories[name], self._work.tensors[name].bytes
                growth[memory] = growth.get(memory, 0) - constant_bytes(self._work.setting, memory, size)
        for name in more:
            if readers[name] == 1:
                memory = self._preferred(after[name])
                size = packed.get(name) or self._work.tensors[name].bytes
                growth[memory] = growth.get(memory, 0) + constant_bytes(self._work.setting, memory, size)
        changed = evolve(self, changed=self._readers.changed(readers))
        return changed, {memory: growth[memory] for memory in sorted(growth) if growth[memory]}

    @cached_property
    def _readers(self) -> Overlay[str, int]:
        """How many partitions read each constant: counted at the first kernel that changes it."""
        if self._changed is not None:
            return self._changed
        kernels = self._work.kernels
        return Overlay(
            dict(
                Counter(
                    name
                    for partition in self._work.graph.partitions
                    for name in self._read(partition, kernels.get(partition.id))
                )
            )
        )

    def _has_constants(self, partition: Partition) -> bool:
        """True if an operator of the partition reads a constant of the model."""
        tensors = self._work.graph.model.tensors
        return any(
            tensors[name].data is not None
            for operator in partition.operators
            for name in (*operator.constants, *operator.inputs)
        )

    def _read(self, partition: Partition, kernel: Kernel | None) -> dict[str, Demand]:
        """The constants a partition reads, with how it needs them."""
        packed = frozenset(tensor.name for tensor in kernel.constants) if kernel is not None else frozenset()
        tensors = self._work.tensors
        return {
            demand.tensor: demand
            for demand in self._demands.of(partition, kernel)
            if demand.tensor in packed
            or (demand.tensor in tensors and tensors[demand.tensor].data is not None)
        }

    def _preferred(self, demand: Demand) -> str:
        fixed = self._work.mode.constants
        return next((memory for memory in fixed if memory in demand.memories), fixed[0])
