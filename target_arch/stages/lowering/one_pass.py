"""One pass over all slots of a lowering order, with the ledger in the loop.

A partition that does not fit is left out and told of; the pass goes on with the others, so that one pass
finds all of them.
"""

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve, field, frozen

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.orders import PHASES, LoweringOrder
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.gc_paused import gc_paused
from target_arch.stages.lowering.budget import limited, with_used
from target_arch.stages.lowering.ledger import Ledger, Overdrawn
from target_arch.stages.program.homes import NOWHERE
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.fit import Fitted, KnownPlan, fit_memory, foreseen
from target_arch.stages.steps.overlap import overlapped

EAGER = 16
"""For so many kernels that touch tensors unexpectedly, the ledger is made anew after each."""

Lower = Callable[[PartitionGraph, Partition, Budget], Kernel]
"""The lowerer: raises `target_arch.backend.contract.DoesNotFit` where no tiling fits the budget."""

Advance = Callable[[PartitionGraph, Partition, str], None]
"""Takes a partition to a phase before the last; what comes of it is the lowerer's business."""

Key = tuple[str, tuple[str, ...]]
"""What makes two partitions the same to a backend: the instance and the operators."""


Known = dict[Key, tuple[Budget | None, Kernel]]
"""Kernels that were made, with the budget an accelerator was given. Passes may share them."""


def key_of(partition: Partition) -> Key:
    """The key of a partition."""
    return partition.instance, tuple(operator.id for operator in partition.operators)


@frozen(kw_only=True)
class Refused:
    """A partition that does not fit. `limit` is a smaller budget (memory, bytes) that would; None where a
    smaller one does not help. `crowded` tells that others hold bytes of that memory at the time.
    """

    partition: Partition
    operator: str
    reason: str
    error: DoesNotFitError
    crowded: bool
    limit: tuple[str, int] | None = None


@frozen(kw_only=True)
class Passed:
    """What a pass yields. `settled` is None where something was refused."""

    kernels: Mapping[str, Kernel] = field(repr=False)
    budgets: tuple[Budget, ...]
    settled: Fitted | None
    refused: tuple[Refused, ...] = ()


class Passes:
    """Passes over one model: what was lowered once with the same budget is not lowered again."""

    def __init__(
        self,
        setting: Setting,
        lower: Lower,
        advance: Advance | None = None,
        known: "Known | None" = None,
    ) -> None:
        self._setting, self._lower, self._advance = setting, lower, advance
        self._reached: set[tuple[Key, str]] = set()
        self._known: Known = {} if known is None else known
        self.limits: dict[Key, dict[str, int]] = {}
        """Smaller budgets that partitions must do with, by memory."""

    def run(self, graph: PartitionGraph, order: LoweringOrder) -> Passed:
        """Lower every partition in its turn, then fit the memory.

        Raises DoesNotFitError where no instance but the host is to blame.
        """
        return _Pass(self, graph).run(order)

    def kernel(self, graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        """Lower a partition, unless the same one was lowered before (an accelerator's: with the same
        budget).
        """
        key = key_of(partition)
        facts = None if self.is_c(partition) else evolve(given, partition="")
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

    def is_c(self, partition: Partition) -> bool:
        """True where the kernels of a partition are C functions."""
        return self._setting.is_function(partition.instance)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The memories in which constants may lie."""
        return self._setting.mode.constants

    def work(self, graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> PartialLowering:
        """What is known after some partitions were lowered."""
        return PartialLowering(setting=self._setting, graph=graph, kernels=dict(kernels))


class _Lazily(Mapping[str, tuple[PoolBudget, ...]]):
    """The call sites of a C partition. Most C needs no scratch and never asks."""

    def __init__(self, partition: Partition, budget: Callable[[], Budget]) -> None:
        self._names = tuple(operator.id for operator in partition.operators)
        self._budget = budget

    def __getitem__(self, site: str) -> tuple[PoolBudget, ...]:
        if site not in self._names:
            raise KeyError(site)
        return self._budget().sites[site]

    def __contains__(self, site: object) -> bool:
        return site in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Pass:
    def __init__(self, passes: Passes, graph: PartitionGraph) -> None:
        self._passes, self._graph = passes, graph
        self._kernels: dict[str, Kernel] = {}
        self._refused: list[Refused] = []
        self._ledger: Ledger | None = None
        self._homes: Mapping[str, str] = NOWHERE
        self._offered: dict[tuple[str, str], int] = {}
        """What was promised, by partition and memory."""
        self._strange, self._renewal = 0, 1
        """Strange kernels up to the last renewal of the ledger, and how many there are at the next."""
        self._copying, self._recount = 0, 1
        """The same for kernels that copy bytes."""

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
                if kernel is not None and not self._passes.is_c(partition):
                    budgets.append(with_used(given, kernel))
            self._refuse_pressed()
            settled = None if self._refused else self._settle()
        except DoesNotFitError as refusal:
            self._refused.append(self._blamed(refusal))
            settled = None
        return Passed(
            kernels=self._kernels, budgets=tuple(budgets), settled=settled, refused=tuple(self._refused)
        )

    def _budget(self, partition: Partition) -> Budget:
        if self._passes.is_c(partition):
            return Budget(partition=partition.id, sites=_Lazily(partition, lambda: self._ask(partition)))
        return self._ask(partition)

    def _ask(self, partition: Partition) -> Budget:
        given = self._current(partition).budget(partition)
        return limited(given, self._passes.limits.get(key_of(partition), {}))

    def _current(self, partition: Partition) -> Ledger:
        """The ledger, made anew where kernels changed more than it can follow: each time at first, then ever
        more rarely, as every time costs as much as the model is large.
        """
        if self._ledger is None or self._strange + self._ledger.strange >= self._renewal:
            self._strange += 0 if self._ledger is None else self._ledger.strange
            self._renewal = _next(self._strange)
            self._ledger = self._made()
            if not self._homes and self._ledger.crowded(partition):
                self._homes = fit_memory(self._work()).residence.homes
                self._ledger = self._made()
        elif self._ledger.copying and not self._passes.is_c(partition):
            self._ledger = self._recounted(self._ledger)
        return self._ledger

    def _recounted(self, ledger: Ledger) -> Ledger:
        """The ledger made anew, so that tensors which later kernels made the same bytes count once; the old
        one where the new one knows of no plan.
        """
        if self._copying + ledger.copying < self._recount:
            return ledger
        self._copying, ledger.copying = self._copying + ledger.copying, 0
        self._recount = _next(self._copying)
        made = self._made()
        if not made.replaces(ledger):
            return ledger
        self._strange += ledger.strange
        return made

    @gc_paused()
    def _made(self) -> Ledger:
        work = self._work()
        return Ledger(work, foreseen(work, self._homes))

    def _work(self) -> PartialLowering:
        return self._passes.work(self._graph, self._kernels)

    def _settle(self) -> Fitted:
        work, witness = self._work(), None
        if self._ledger is not None and not self._ledger.strange and not self._ledger.short:
            ledger = self._ledger
            witness = KnownPlan(homes=ledger.residence.homes, offsets=ledger.offsets, aliased=ledger.known)
        self._ledger = None  # as large as what is made now, and not asked again
        return overlapped(work, fit_memory(work, witness))

    def _lowered(self, partition: Partition, given: Budget) -> Kernel | None:
        """The kernel of a partition; None where it does not fit, or where others take too much for anybody to
        know.
        """
        try:
            kernel = self._passes.kernel(self._graph, partition, given)
        except DoesNotFit as refusal:
            if self._pressed():
                return None
            site = next((op.id for op in partition.operators if op.id == refusal.site), "")
            self._refuse(partition, site or partition.operators[0].id, refusal, None)
            return None
        for memory in () if self._passes.is_c(partition) else {buffer.memory for buffer in kernel.buffers}:
            self._offered[partition.id, memory] = given.guaranteed(partition.operators[0].id, memory)
        overdrawn = None if self._ledger is None else self._ledger.take(partition, kernel)
        if overdrawn is None:
            self._kernels[partition.id] = kernel
            return kernel
        self._refuse_overdrawn(partition, kernel, overdrawn)
        return None

    def _refuse_overdrawn(self, partition: Partition, kernel: Kernel, over: Overdrawn) -> None:
        refusal = DoesNotFit(over.site, over.memory, over.needed, over.available)
        missing = max(over.needed - over.available, 1)
        self._refuse(partition, over.site, refusal, self._less(partition, kernel, over.memory, missing))

    def _refuse_pressed(self) -> None:
        """Refuse who took so much that constants of later kernels do not fit beside it: all whose buffers are
        the cause, else the one whose own constants grew most.
        """
        for memory, pressed in self._pressed().items():
            able = [p for p in self._graph.partitions if p.id in pressed]
            large = [p for p in able if _buffered(self._kernels[p.id], memory) > pressed[p.id]]
            for partition in large or sorted(able, key=self._growth, reverse=True)[:1]:
                over, taken = pressed[partition.id], _buffered(self._kernels[partition.id], memory)
                refusal = DoesNotFit(partition.operators[0].id, memory, taken, max(taken - over, 0))
                self._refuse(
                    partition,
                    refusal.site,
                    refusal,
                    self._less(partition, self._kernels[partition.id], memory, over),
                )

    def _pressed(self) -> dict[str, dict[str, int]]:
        """By memory the accelerators' partitions that took more than later constants leave, and how much."""
        ledger, found = self._ledger, dict[str, dict[str, int]]()
        for memory in self._passes.fixed if ledger is not None and ledger.short else ():
            pressed = {} if ledger is None else ledger.pressed(memory)
            mine = {
                id: over for id, over in pressed.items() if not self._passes.is_c(self._graph.partition(id))
            }
            found |= {memory: mine} if mine else {}
        return found

    def _refuse(
        self, partition: Partition, site: str, refusal: DoesNotFit, limit: tuple[str, int] | None
    ) -> None:
        ledger = self._current(partition)
        alive = ledger.alive(partition, site, refusal.memory)
        error = DoesNotFitError(
            pool=refusal.memory,
            step=0,
            needed=refusal.needed,
            available=refusal.available,
            bound=refusal.needed,
            alive=((site, refusal.needed), *alive),
            place=f"partition {partition.id} ({site} on {partition.instance})",
            operator=site,
        )
        self._refused.append(
            Refused(
                partition=partition,
                operator=site,
                reason=str(refusal),
                error=error,
                crowded=bool(alive),
                limit=limit,
            )
        )

    def _blamed(self, refusal: DoesNotFitError) -> Refused:
        """The partition because of which the memory plan overflows. Raises the refusal where it is the
        host's.
        """
        partition = self._culprit(refusal)
        if partition is None:
            raise refusal
        operators = [op.id for op in partition.operators]
        operator = refusal.operator if refusal.operator in operators else operators[0]
        return Refused(
            partition=partition,
            operator=operator,
            reason=refusal.diagnostics[0].message,
            error=refusal.blaming(operator),
            crowded=True,
            limit=self._less(
                partition,
                self._kernels.get(partition.id),
                refusal.memory,
                refusal.missing,
            ),
        )

    def _culprit(self, refusal: DoesNotFitError) -> Partition | None:
        """The accelerator's partition whose packed constants grew most, where constants lie in that memory,
        else the one that runs nearest to the peak; None where there is none.
        """
        near = refusal.operator
        nearest = [p for p in self._graph.partitions if near in {op.id for op in p.operators}]
        fixed = refusal.memory in self._passes.fixed
        grown = [*nearest, *self._graph.partitions] if fixed else []
        found = [p for p in grown if not self._passes.is_c(p) and self._growth(p) > 0]
        return max(found, key=self._growth) if found else next(iter(nearest), None)

    def _grown(self, partition: Partition, kernel: Kernel | None) -> int:
        """By how many bytes the constants of a partition's kernel exceed those of the model."""
        tensors = self._graph.model.tensors
        packed = 0 if kernel is None else sum(tensor.bytes for tensor in kernel.constants)
        return packed - sum(tensors[name].bytes for op in partition.operators for name in op.constants)

    def _growth(self, partition: Partition) -> int:
        return self._grown(partition, self._kernels.get(partition.id))

    def _less(
        self, partition: Partition, kernel: Kernel | None, memory: str, missing: int
    ) -> tuple[str, int] | None:
        """A smaller budget (memory, bytes) for a kernel that took too much: by what is missing, first of its
        buffers, else of what its constants grew by, too. None where it has not as much.
        """
        taken = min(_buffered(kernel, memory), self._offered.get((partition.id, memory), 0))
        grown = max(self._grown(partition, kernel), 0) if memory in self._passes.fixed else 0
        less = next((own - missing for own in (taken, taken + grown) if own > missing), None)
        return None if less is None else (memory, less)


def _next(count: int) -> int:
    """At how many kernels the ledger is made anew, after it was at so many."""
    return max(count + 1, 2 * count if count >= EAGER else 0)


def _buffered(kernel: Kernel | None, memory: str) -> int:
    """The bytes of a kernel's own buffers in a memory."""
    buffers = () if kernel is None else kernel.buffers
    return sum(buffer.bytes for buffer in buffers if buffer.memory == memory)
