"""The present ledger of a pass, rebuilt from the program where that is due (`rebuild`)."""

from collections.abc import Callable, Iterable, Mapping

from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget
from target_arch.plan.partitions import Partition
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.lowering.budgets.ledger import Ledger, Overdrawn
from target_arch.stages.lowering.budgets.rebuild import Rebuilds
from target_arch.stages.program.homes import ALL_WHOLE, NOWHERE, OnTheWay
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import KnownPlan, fit_memory, foreseen


class CurrentLedger:
    """Answers from a ledger that is built at the first question. `work` returns the lowering so far."""

    def __init__(self, work: Callable[[], PartialLowering]) -> None:
        self._work = work
        self._ledger: Ledger | None = None
        self._rebuilds = Rebuilds()
        self._homes: Mapping[str, str] = NOWHERE
        """The homes to which tensors are pinned, once their preferred homes were found too small."""
        self._streamed: Mapping[OnTheWay, int] = ALL_WHOLE
        """The constants on their way that then go in pieces."""

    def budget(self, partition: Partition, *, is_function: bool) -> Budget:
        """The budget of the partition; its bytes stay promised from now on."""
        self._ledger, budget = self._renewed(partition, is_function=is_function).budget(partition)
        return budget

    def take(self, partition: Partition, kernel: Kernel) -> Overdrawn | None:
        """Take the bytes of the kernel; returns the missing bytes if they are not free, else None. Before the
        first question there is no ledger: the one built then includes the kernel.
        """
        if self._ledger is None:
            return None
        self._ledger, overdrawn = self._ledger.with_kernel(partition, kernel)
        return overdrawn

    def alive(
        self, partition: Partition, site: str, memory: str, *, is_function: bool
    ) -> tuple[tuple[str, int], ...]:
        """The buffers of other partitions in a memory at a call site, the largest first."""
        self._ledger = self._renewed(partition, is_function=is_function).asked_about((memory,))
        return self._ledger.alive(partition, site, memory)

    def over_budget(self, memories: Iterable[str]) -> dict[str, dict[str, int]]:
        """By memory, the partitions that took more than later constants leave, and the excess in bytes."""
        ledger = self._ledger
        if ledger is None or not ledger.constants_missing:
            return {}
        return {memory: ledger.over_budget(memory) for memory in memories}

    def close(self) -> KnownPlan | None:
        """The plan behind the promises, None where kernels made it invalid. The ledger is released to save
        memory, so this is the last question.
        """
        ledger, self._ledger = self._ledger, None
        if ledger is None or ledger.unforeseen or ledger.constants_missing:
            return None
        return KnownPlan(
            homes=ledger.homes.homes,
            offsets=ledger.offsets,
            aliased=ledger.aliased,
            streamed=ledger.homes.streamed,
        )

    def _renewed(self, partition: Partition, *, is_function: bool) -> Ledger:
        ledger = self._ledger
        if ledger is None or self._rebuilds.must(ledger):
            self._rebuilds = self._rebuilds.after_must(ledger)
            ledger = self._made()
            if not self._homes:
                ledger = ledger.asked_by(partition)
                if ledger.crowded(partition):
                    fitted = fit_memory(self._work()).homes
                    self._homes, self._streamed = fitted.homes, fitted.streamed
                    ledger = self._made()
        elif not is_function and self._rebuilds.worthwhile(ledger):
            ledger = self._tried(ledger)
        return ledger

    def _tried(self, ledger: Ledger) -> Ledger:
        """A new ledger, in which tensors aliased by kernels since the old one count once; the old ledger
        where the new one has no plan that fits.
        """
        made = self._made().asked_about(ledger.memories)
        replaced = made.has_plan(ledger.memories)
        self._rebuilds = self._rebuilds.after_try(ledger, replaced=replaced)
        return made if replaced else ledger

    @gc_paused()
    def _made(self) -> Ledger:
        work = self._work()
        return Ledger.of(work, foreseen(work, self._homes, self._streamed))
