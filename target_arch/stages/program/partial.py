"""A placed model, lowered in part: what the stages after placement look at."""

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from target_arch.plan.kernels import FUNCTION_CODEGENS, Kernel
from target_arch.plan.model import Tensor
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages.memory.planner import BEST, Planner
from target_arch.stages.paths import reach as access
from target_arch.stages.paths.routes import Routes


@frozen(kw_only=True)
class PartialLowering:
    """The partitions with the kernels there are so far (by partition id).

    `codegens` (by instance name) and `chains` (the instances whose backend lowers whole chains) tell how
    partitions without a kernel will touch their tensors: C whole; chains whole, and only what crosses their
    border; others in tiles.
    """

    soc: SoC = field(repr=False)
    mode: MemoryMode
    graph: PartitionGraph = field(repr=False)
    kernels: Mapping[str, Kernel] = field(repr=False)
    codegens: Mapping[str, str]
    chains: frozenset[str] = frozenset()
    measured: SoC | None = field(default=None, repr=False)
    """The SoC with measured copy paths, for the times of steps; None where nothing was measured."""
    planner: Planner = field(default=BEST, repr=False)

    @cached_property
    def routes(self) -> Routes:
        """The copy paths, with bytes resting only where the mode lets tensors live."""
        return Routes(self.soc, access.resting(self.mode))

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

    def whole(self, instance: Instance) -> bool:
        """True where kernels touch whole tensors where they lie."""
        return self.codegens[instance.name] in FUNCTION_CODEGENS or instance.name in self.chains
