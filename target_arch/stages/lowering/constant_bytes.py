"""Bytes of constants in every memory, as kernels replace what partitions without one are to read."""

from collections import Counter
from collections.abc import Callable, Mapping

from target_arch.plan.kernels import Kernel
from target_arch.plan.partitions import Partition
from target_arch.stages.program.homes import Demand, MemoryDemands, TensorHomes
from target_arch.stages.program.partial import PartialLowering


class ConstantUse:
    """Which constants somebody reads, and where they lie. `whole` tells the bytes that one takes there."""

    def __init__(
        self, work: PartialLowering, residence: TensorHomes, whole: Callable[[str, int], int]
    ) -> None:
        self._work, self._needs, self._whole = work, MemoryDemands(work), whole
        self._where = dict(residence.constants)
        self._users: Counter[str] = Counter()
        self._asked: tuple[Kernel, tuple[dict[str, Demand], dict[str, Demand]]] | None = None
        for partition in work.graph.partitions:
            kernel = work.kernels.get(partition.id)
            self._users.update(self._read(partition, kernel).keys())

    def change(self, partition: Partition, kernel: Kernel) -> Mapping[str, int]:
        """By how many bytes of each memory constants grow when the partition gets that kernel."""
        before, after = self._reads(partition, kernel)
        packed = {tensor.name: tensor.bytes for tensor in kernel.constants}
        found: dict[str, int] = {}
        for name in before.keys() - after.keys():
            if self._users[name] == 1:
                memory = self._where[name]
                size = self._whole(memory, self._work.tensors[name].bytes)
                found[memory] = found.get(memory, 0) - size
        for name in after.keys() - before.keys():
            if not self._users[name]:
                memory = self._lies(after[name])
                size = packed.get(name) or self._work.tensors[name].bytes
                found[memory] = found.get(memory, 0) + self._whole(memory, size)
        return {memory: found[memory] for memory in sorted(found) if found[memory]}

    def replace(self, partition: Partition, kernel: Kernel) -> None:
        """The partition has that kernel now."""
        before, after = self._reads(partition, kernel)
        self._users.subtract(before.keys())
        self._users.update(after.keys())
        for name in after:
            self._where.setdefault(name, self._lies(after[name]))

    def _reads(self, partition: Partition, kernel: Kernel) -> tuple[dict[str, Demand], dict[str, Demand]]:
        """The constants a partition reads without that kernel and with it: first asked for, then taken."""
        if self._asked is None or self._asked[0] is not kernel:
            self._asked = kernel, (self._read(partition, None), self._read(partition, kernel))
        return self._asked[1]

    def _read(self, partition: Partition, kernel: Kernel | None) -> dict[str, Demand]:
        """The constants a partition reads, with how it needs them."""
        packed = frozenset(tensor.name for tensor in kernel.constants) if kernel is not None else frozenset()
        tensors = self._work.tensors
        return {
            touch.tensor: touch
            for touch in self._needs.of(partition, kernel)
            if touch.tensor in packed or (touch.tensor in tensors and tensors[touch.tensor].data is not None)
        }

    def _lies(self, touch: Demand) -> str:
        fixed = self._work.mode.constants
        return next((memory for memory in fixed if memory in touch.memories), fixed[0])
