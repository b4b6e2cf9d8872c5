"""One pass over all slots of a lowering order, with the ledger in the loop.

For each slot: compute the budget, lower the partition, and take the bytes of its kernel from the ledger. A
partition that does not fit is recorded and skipped, so one pass reports every misfit.
"""

from collections.abc import Callable, Mapping
from functools import partial

from attrs import define, evolve, field, frozen

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget
from target_arch.plan.orders import PHASES, LoweringOrder
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.regions.region import Region
from target_arch.stages.check.meaning.check import Judged
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.garbage_collector import gc_paused, gc_seldom
from target_arch.stages.lowering.budgets.budget import limited, on_demand, with_used, without_promises
from target_arch.stages.lowering.budgets.current_ledger import CurrentLedger
from target_arch.stages.lowering.equal_constants import EqualConstants
from target_arch.stages.lowering.refusals import Blame, Refused, refused
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.fit import Fitted, fit_memory
from target_arch.stages.steps.residents import settled_run

Lower = Callable[[PartitionGraph, Partition, Budget], Kernel]
"""The lowerer: raises `target_arch.backend.contract.DoesNotFit` where no tiling fits the budget."""

Advance = Callable[[PartitionGraph, Partition, str], None]
"""Takes a partition to a phase before the last. The lowerer keeps the result."""

Key = tuple[str, tuple[str, ...], tuple[Region, ...]]
"""The instance, the operators and the regions of a partition: partitions of one key are lowered alike."""


Known = dict[Key, tuple[Budget | None, Kernel]]
"""Kernels so far, with the budget that an accelerator was given. Passes may share them."""


def key_of(partition: Partition) -> Key:
    """The key of a partition."""
    return partition.instance, tuple(operator.id for operator in partition.operators), partition.regions


@frozen(kw_only=True)
class Passed:
    """The result of a pass. `settled` is None if a partition was refused."""

    kernels: Mapping[str, Kernel] = field(repr=False)
    budgets: tuple[Budget, ...]
    settled: Fitted | None
    refused: tuple[Refused, ...] = ()


@define(kw_only=True, eq=False)
class Kept:
    """The facts of a model that backends and rules keep beyond one pass: phases that partitions reach, by
    `advance`, and the kernels that were `judged`, here or in other compilations of the model.
    """

    advance: Advance | None = None
    judged: Judged = field(factory=dict, repr=False)


class Passes:
    """Passes over one model. A partition is not lowered twice with the same budget."""

    def __init__(
        self,
        setting: Setting,
        lower: Lower,
        advance: Advance | None = None,
        known: "Known | None" = None,
    ) -> None:
        self.setting, self._lower, self._advance = setting, lower, advance
        self._reached: set[tuple[Key, str]] = set()
        self._known: Known = {} if known is None else known
        self.limits: dict[Key, dict[str, int]] = {}
        """Limits of the budgets of partitions, by memory."""

    def run(self, graph: PartitionGraph, order: LoweringOrder) -> Passed:
        """Lower every partition in order, then fit the memory.

        Raises DoesNotFitError if the memory overflows and no accelerator is the cause.
        """
        return _Pass(self, graph).run(order)

    def kernel(self, graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        """Lower a partition, unless the same one was lowered before (an accelerator's: with the same
        budget).
        """
        key = key_of(partition)
        facts = None if self.is_function(partition) else evolve(given, partition="")
        if key in self._known and self._known[key][0] == facts:
            return evolve(self._known[key][1], partition=partition.id)
        kernel = self._lower(graph, partition, given)
        self._known[key] = (facts, kernel)
        return kernel

    def advance(self, graph: PartitionGraph, partition: Partition, phase: str) -> None:
        """Take a partition to a phase before the last, unless the same one was taken there before."""
        key = (key_of(partition), phase)
        if self._advance is not None and key not in self._reached:
            self._advance(graph, partition, phase)
        self._reached.add(key)

    def is_function(self, partition: Partition) -> bool:
        """True where the kernels of a partition are C functions."""
        return self.setting.is_function(partition.instance)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The memories of constants."""
        return self.setting.mode.constants

    def limited(self, partition: Partition, given: Budget) -> Budget:
        """The budget, reduced to the partition's limits."""
        return limited(given, self.limits.get(key_of(partition), {}))

    def work(self, graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> PartialLowering:
        """The lowering so far."""
        return PartialLowering(setting=self.setting, graph=graph, kernels=dict(kernels))


class _Pass:
    def __init__(self, passes: Passes, graph: PartitionGraph) -> None:
        self._passes, self._graph = passes, graph
        self._kernels: dict[str, Kernel] = {}
        self._refused: list[Refused] = []
        self._constants = EqualConstants()
        self._ledger = CurrentLedger(partial(passes.work, graph, self._kernels))
        self._offered: dict[tuple[str, str], int] = {}
        """The promised bytes, by partition and memory."""
        self._unforeseen: set[str] = set()
        """Partitions with regions that do not fit without: before it is lowered, the ledger counts whole
        tensors of one, so nothing is promised to it.
        """

    @gc_seldom()
    def run(self, order: LoweringOrder) -> Passed:
        budgets: list[Budget] = []
        try:
            for slot in order.slots:
                partition = self._graph.partition(slot.partition)
                if slot.phase != PHASES[-1]:
                    self._passes.advance(self._graph, partition, slot.phase)
                    continue
                given = self._budget(partition)
                kernel = self._lowered(partition, given)
                if (
                    kernel is not None
                    and self._taken(partition, kernel)
                    and not self._passes.is_function(partition)
                ):
                    budgets.append(with_used(given, kernel))
            self._refuse_over_budget()
            settled = None if self._refused else self._fitted()
        except DoesNotFitError as refusal:
            blamed = self._blame().of_plan(refusal)
            if not blamed:
                raise
            self._refused += blamed
            settled = None
        return Passed(
            kernels=self._kernels, budgets=tuple(budgets), settled=settled, refused=tuple(self._refused)
        )

    def _budget(self, partition: Partition) -> Budget:
        """The budget of a partition. For C it is computed only when the backend reads it, as most C needs no
        scratch.
        """
        is_function = self._passes.is_function(partition)

        def ask() -> Budget:
            if partition.id in self._unforeseen:
                return without_promises(partition)
            try:
                given = self._ledger.budget(partition, is_function=is_function)
            except DoesNotFitError:
                if not partition.regions:
                    raise
                self._unforeseen.add(partition.id)
                return without_promises(partition)
            return self._passes.limited(partition, given)

        return on_demand(partition, ask) if is_function else ask()

    def _lowered(self, partition: Partition, given: Budget) -> Kernel | None:
        """The kernel of a partition; None if it does not fit. The misfit is not recorded if other partitions
        are over budget, as they may be its cause.
        """
        try:
            kernel = self._passes.kernel(self._graph, partition, given)
        except DoesNotFit as refusal:
            if not self._over_budget():
                sites = [operator.id for operator in partition.operators]
                self._refuse(partition, refusal.site if refusal.site in sites else sites[0], refusal)
            return None
        if self._graph.model.slices:
            kernel = self._constants.renamed(kernel)
        for memory in (
            () if self._passes.is_function(partition) else {buffer.memory for buffer in kernel.buffers}
        ):
            self._offered[partition.id, memory] = given.guaranteed(partition.operators[0].id, memory)
        return kernel

    def _taken(self, partition: Partition, kernel: Kernel) -> bool:
        """Take the bytes of the kernel from the ledger; False (and a refusal) if too few are free."""
        over = self._ledger.take(partition, kernel)
        if over is None:
            self._kernels[partition.id] = kernel
            return True
        refusal = DoesNotFit(over.site, over.memory, over.needed, over.available)
        self._refuse(partition, over.site, refusal, self._blame().overdrawn(partition, kernel, over))
        return False

    def _refuse(
        self, partition: Partition, site: str, refusal: DoesNotFit, limit: tuple[str, int] | None = None
    ) -> None:
        is_function = self._passes.is_function(partition)
        alive = self._ledger.alive(partition, site, refusal.memory, is_function=is_function)
        self._refused.append(refused(partition, site, refusal, alive, limit))

    def _refuse_over_budget(self) -> None:
        """Refuse accelerators whose buffers leave too little for constants of later kernels."""
        found = self._over_budget()
        for partition, refusal, limit in self._blame().over_budget(found) if found else ():
            self._refuse(partition, refusal.site, refusal, limit)

    def _over_budget(self) -> dict[str, dict[str, int]]:
        """By memory, the partitions of accelerators that took more than later constants leave, and the excess
        in bytes.
        """
        found: dict[str, dict[str, int]] = {}
        for memory, over in self._ledger.over_budget(self._passes.fixed).items():
            mine = {
                id: n for id, n in over.items() if not self._passes.is_function(self._graph.partition(id))
            }
            found |= {memory: mine} if mine else {}
        return found

    @gc_paused()
    def _fitted(self) -> Fitted:
        work, known = self._work(), self._ledger.close()
        return settled_run(work, fit_memory(work, known))

    def _blame(self) -> Blame:
        return Blame(work=self._work(), offered=self._offered)

    def _work(self) -> PartialLowering:
        return self._passes.work(self._graph, self._kernels)
