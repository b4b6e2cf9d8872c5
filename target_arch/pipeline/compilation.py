"""Every value on the way of models through the program, kept."""

from collections.abc import Mapping

from attrs import field, frozen

from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.plan.bundle import Bundle
from target_arch.plan.execution import Execution
from target_arch.plan.kernels import Kernel
from target_arch.plan.lowered import Attempt
from target_arch.plan.memory import Budget, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPools
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import StepOrder


@frozen(kw_only=True, repr=False)
class Compilation:
    """Everything that came to be of one model on the way from a request to a bundle."""

    request: CompileRequest
    model: Model
    graph: PartitionGraph
    lowering: LoweringOrder
    kernels: Mapping[str, Kernel]
    budgets: tuple[Budget, ...]
    steps: StepOrder
    plan: MemoryPlan
    execution: Execution | None
    attempts: tuple[Attempt, ...]
    manifest: Mapping[str, object]
    bundle: Bundle

    def __repr__(self) -> str:
        return f"<compilation of {self.model.name}: {len(self.graph.partitions)} partitions>"


@frozen(kw_only=True)
class ModelsCompilation:
    """The compilation of every model (the bundle of each is that of all), and their memory together."""

    request: ModelsRequest = field(repr=False)
    models: tuple[Compilation, ...]
    pools: ModelPools = field(repr=False)
    manifest: Mapping[str, object] = field(repr=False)
    bundle: Bundle = field(repr=False)
