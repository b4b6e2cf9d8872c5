"""Everything a bundle is made from."""

from collections.abc import Mapping

from attrs import field, frozen

from target_arch.backend.contract import Backend
from target_arch.backend.load_process import LoadProcessKind
from target_arch.backend.port import PortKind
from target_arch.emit.text.names import identifier
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model import Model, Tensor
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import StepOrder
from target_arch.soc.model import MemoryMode, SoC


@frozen(kw_only=True)
class SelfTest:
    """One input of the model, and what the reference makes of it.

    `inputs` and `outputs` are the bytes of each model input and output, in the model's order. `tolerances`
    has one number per output: the largest difference of one element that still passes, in the output's own
    units; 0 means that every bit must agree.
    """

    reference: str
    inputs: tuple[bytes, ...] = field(repr=False)
    outputs: tuple[bytes, ...] = field(repr=False)
    tolerances: tuple[float, ...]


@frozen(kw_only=True)
class EmitInputs:
    """The finished plan.

    `kernels` are by partition id, `backends` by the name of the target_arch they serve, `processes` are the
    load processes of the SoC by name. `whole` is what all models of a bundle are together, where there are
    several.
    """

    soc: SoC
    mode: MemoryMode
    model: Model
    graph: PartitionGraph
    kernels: Mapping[str, Kernel]
    steps: StepOrder
    plan: MemoryPlan
    backends: Mapping[str, Backend]
    port: PortKind
    processes: Mapping[str, LoadProcessKind]
    manifest: Mapping[str, object] = field(factory=dict, repr=False)
    self_test: SelfTest | None = None
    whole: "EmitInputs | None" = None

    @property
    def common(self) -> "EmitInputs":
        """What kernels and programs of instances are emitted from: all models together, or this one."""
        return self.whole or self

    @property
    def stem(self) -> str:
        """How the C names of the bundle begin."""
        return identifier(self.common.model.name)

    def constant(self, name: str) -> Tensor:
        """The constant tensor of that name, the model's own or one a backend packed.

        KeyError where there is none.
        """
        packed = {tensor.name: tensor for kernel in self.kernels.values() for tensor in kernel.constants}
        return packed[name] if name in packed else self.model.tensors[name]
