"""A placed model with the kernels so far: the input of all stages after placement."""

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from target_arch.plan.kernels import Kernel
from target_arch.plan.model import Tensor
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages.paths.routes import Routes
from target_arch.stages.setting import Setting


@frozen(kw_only=True, slots=False)
class PartialLowering:
    """The partitions with the kernels there are so far (by partition id).

    The setting says how partitions without a kernel will touch their tensors: C touches whole tensors; a
    chain touches whole tensors too, but only the ones across its border; others touch tiles.
    """

    setting: Setting
    graph: PartitionGraph = field(repr=False)
    kernels: Mapping[str, Kernel] = field(repr=False)

    @property
    def soc(self) -> SoC:
        """The chip with the memory that this compilation may take."""
        return self.setting.soc

    @property
    def mode(self) -> MemoryMode:
        """How the memories are used."""
        return self.setting.mode

    @property
    def routes(self) -> Routes:
        """The copy paths, with bytes resting only where the mode lets tensors live."""
        return self.setting.routes

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the model and the constants that backends packed, by name."""
        packed = {tensor.name: tensor for kernel in self.kernels.values() for tensor in kernel.constants}
        return {**self.graph.model.tensors, **packed}

    def instance(self, partition: Partition) -> Instance:
        """The instance a partition runs on."""
        return self._instances[partition.instance]

    @cached_property
    def _instances(self) -> dict[str, Instance]:
        return {instance.name: instance for instance in self.soc.instances}
