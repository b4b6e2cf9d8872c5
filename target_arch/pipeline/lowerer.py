"""The backends as the lowering stages call them."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from attrs import define, field

from target_arch.backend.contract import Backend, Hooks, LoweringRequest
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.tuning import Tuning
from target_arch.registry.lookup.guard import Guard
from target_arch.relax.lower.hook_stages import lower_by_hooks, reach
from target_arch.relax.operators.program import RelaxProgram
from target_arch.soc.model import SoC


@define(eq=False)
class Lowerer:
    """Hands partitions to the backends of their instances.

    It keeps the results of earlier phases, and the stores of backends, as long as a model is compiled; what
    backends `shared` outlives it.
    """

    soc: SoC
    backends: Mapping[str, Backend]
    program: RelaxProgram
    tuning: Tuning
    goal: Goal
    shared: MutableMapping[object, Any] = field(factory=dict)
    earlier: dict[tuple[str, tuple[str, ...]], Mapping[str, Any]] = field(factory=dict)
    kept: dict[object, Any] = field(factory=dict)

    def lower(self, graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
        """The kernel of a partition."""
        request = self._request(graph, partition, budget)
        backend = self.backends[request.instance.arch.name]
        if backend.lower is not None:
            return backend.lower(request)
        kernel: Kernel = Guard(lower_by_hooks, "hooks", backend.name)(backend.hooks or Hooks(), request)
        return kernel

    def advance(self, graph: PartitionGraph, partition: Partition, phase: str) -> None:
        """Take a partition up to this phase; one whose backend has no stages waits for its kernel."""
        request = self._request(graph, partition, Budget(partition=partition.id, sites={}))
        backend = self.backends[request.instance.arch.name]
        if backend.hooks is not None:
            stages = Guard(reach, "hooks", backend.name)(backend.hooks, request, phase)
            self.earlier[partition.instance, _ids(partition)] = stages

    def _request(self, graph: PartitionGraph, partition: Partition, budget: Budget) -> LoweringRequest:
        return LoweringRequest(
            partition=partition,
            model=graph.model,
            soc=self.soc,
            instance=self.soc.instance(partition.instance),
            budget=budget,
            program=self.program,
            tuning=self.tuning,
            goal=self.goal,
            earlier=self.earlier.get((partition.instance, _ids(partition)), {}),
            kept=self.kept,
            shared=self.shared,
        )


def _ids(partition: Partition) -> tuple[str, ...]:
    return tuple(operator.id for operator in partition.operators)
