"""Lowering with the ledger in the loop.

All C partitions are lowered against one plan in which every partition is a stand-in; what they really take is
then a fact. Each accelerator partition gets the budget that the plan of everything lowered so far leaves it,
and what it really takes counts for the next. Where a backend finds no tiling that fits, or the memory plan
overflows at a step of an instance other than the host, the operator is placed anew without that instance, and
only what changed is lowered again.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, field, frozen

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget, MemoryPlan
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.steps import StepOrder
from target_arch.soc.model import MemoryMode, SoC
from target_arch.stages.budget import budget, with_used
from target_arch.stages.check import check
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.place import NO_RULES
from target_arch.stages.rules import Rules
from target_arch.stages.settle import Settled, settle
from target_arch.stages.work import Work

Lower = Callable[[PartitionGraph, Partition, Budget], Kernel]
"""The lowerer: raises `target_arch.backend.contract.DoesNotFit` where no tiling fits the budget."""


@frozen(kw_only=True)
class Attempt:
    """A placement that was given up, and why."""

    operator: str
    instance: str
    reason: str

    def __str__(self) -> str:
        return f"{self.operator} does not fit on `{self.instance}`: {self.reason}"


@frozen(kw_only=True)
class Lowered:
    """Everything about a model on a SoC, up to the memory plan. `budgets` are in the order of lowering."""

    graph: PartitionGraph
    order: LoweringOrder
    kernels: Mapping[str, Kernel] = field(repr=False)
    budgets: tuple[Budget, ...]
    steps: StepOrder = field(repr=False)
    plan: MemoryPlan = field(repr=False)
    attempts: tuple[Attempt, ...] = ()


def lower_in_order(
    *,
    soc: SoC,
    mode: MemoryMode,
    codegens: Mapping[str, str],
    place: Callable[[Rules], PartitionGraph],
    order: Callable[[PartitionGraph], LoweringOrder],
    lower: Lower,
    rules: Rules = NO_RULES,
) -> Lowered:
    """Place, order, lower, plan and check.

    `codegens` are by instance name. `place` and `order` are called again with further `forbid` rules whenever
    a partition does not fit. Raises PlacementError, OrderError, StepError; DoesNotFitError where no placement
    helps; and CheckError where the plan is wrong.
    """
    attempts: list[Attempt] = []
    refusal: Exception | None = None
    loop = _Loop(soc, mode, codegens, lower)
    while True:
        try:
            graph = place(rules)
        except PlacementError:
            if refusal is None:
                raise
            raise refusal from None
        slots = order(graph)
        try:
            kernels, budgets, settled = loop.run(graph, slots)
        except _GiveUp as gave_up:
            refusal = gave_up.refusal
            attempts.append(gave_up.attempt)
            rules = rules.giving_up(gave_up.attempt.operator, gave_up.target, gave_up.attempt.reason)
            continue
        check(soc, settled.steps, settled.plan)
        return Lowered(
            graph=graph,
            order=slots,
            kernels=kernels,
            budgets=budgets,
            steps=settled.steps,
            plan=settled.plan,
            attempts=tuple(attempts),
        )


class _GiveUp(Exception):
    """An operator must leave an instance. `target` is that, or its target_arch where no other instance would
    help.
    """

    def __init__(self, attempt: Attempt, target: str, refusal: Exception) -> None:
        self.attempt, self.target, self.refusal = attempt, target, refusal
        super().__init__(str(attempt))


_Key = tuple[str, tuple[str, ...]]
"""What makes two partitions the same to a backend: the instance and the operators."""


class _Loop:
    def __init__(self, soc: SoC, mode: MemoryMode, codegens: Mapping[str, str], lower: Lower) -> None:
        self._soc, self._mode, self._codegens, self._lower = soc, mode, codegens, lower
        self._known: dict[_Key, tuple[Budget | None, Kernel]] = {}

    def run(
        self, graph: PartitionGraph, order: LoweringOrder
    ) -> tuple[dict[str, Kernel], tuple[Budget, ...], Settled]:
        """One pass over all slots. Raises _GiveUp where a partition does not fit."""
        kernels: dict[str, Kernel] = {}
        budgets: list[Budget] = []
        settled: Settled | None = None
        for slot in order.slots:
            partition = graph.partition(slot.partition)
            settled = settled or self._settle(graph, kernels)
            given = budget(partition, settled.steps, settled.plan, self._soc)
            kernel = self._kernel(graph, partition, given)
            kernels[partition.id] = kernel
            if not self._is_c(partition):
                settled = None
                budgets.append(with_used(given, kernel))
        return kernels, tuple(budgets), self._settle(graph, kernels)

    def _is_c(self, partition: Partition) -> bool:
        return self._codegens[partition.instance] == "c"

    def _kernel(self, graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        """Lower a partition, unless the same one was lowered before (an accelerator's: with the same
        budget).
        """
        key = (partition.instance, tuple(operator.id for operator in partition.operators))
        facts = None if self._is_c(partition) else evolve(given, partition="")
        if key in self._known and self._known[key][0] == facts:
            return evolve(self._known[key][1], partition=partition.id)
        try:
            kernel = self._lower(graph, partition, given)
        except DoesNotFit as refusal:
            operator = next(
                (op.id for op in partition.operators if op.id == refusal.site), partition.operators[0].id
            )
            attempt = Attempt(operator=operator, instance=partition.instance, reason=str(refusal))
            target = self._hopeless(refusal, partition, given)
            raise _GiveUp(attempt, target, self._too_large(refusal, partition)) from refusal
        self._known[key] = (facts, kernel)
        return kernel

    def _settle(self, graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> Settled:
        try:
            return settle(self._work(graph, kernels))
        except DoesNotFitError as refusal:
            if refusal.culprit is None:
                raise
            operator, instance = refusal.culprit
            attempt = Attempt(operator=operator, instance=instance, reason=refusal.diagnostics[0].message)
            raise _GiveUp(attempt, instance, refusal) from refusal

    def _work(self, graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> Work:
        return Work(soc=self._soc, mode=self._mode, graph=graph, kernels=kernels, codegens=self._codegens)

    def _hopeless(self, refusal: DoesNotFit, partition: Partition, given: Budget) -> str:
        """The target to give up: all identical instances where nothing but the memory's size was in the
        way.
        """
        pools = given.sites.get(refusal.site, ())
        crowded = any(pool.memory == refusal.memory and pool.live for pool in pools)
        return partition.instance if crowded else self._soc.instance(partition.instance).arch.name

    def _too_large(self, refusal: DoesNotFit, partition: Partition) -> DoesNotFitError:
        error = DoesNotFitError(
            pool=refusal.memory,
            step=0,
            needed=refusal.needed,
            available=refusal.available,
            bound=refusal.needed,
            alive=((refusal.site, refusal.needed),),
        )
        return error.at(f"partition {partition.id} ({refusal.site} on {partition.instance})")
