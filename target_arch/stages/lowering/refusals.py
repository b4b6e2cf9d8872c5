"""Partitions that do not fit: the one that is the cause, and a smaller budget that would do."""

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Arena
from target_arch.plan.partitions import Partition
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.budgets.ledger import Overdrawn
from target_arch.stages.program.partial import PartialLowering

Alive = tuple[tuple[str, int], ...]
"""The buffers that hold bytes at a call site."""


@frozen(kw_only=True)
class Refused:
    """A partition that does not fit. `limit` is a smaller budget (memory, bytes) that would; None where a
    smaller one does not help. `crowded`: others have bytes of that memory at the time, which another instance
    of the kind may not have. `divisible`: smaller partitions may help.
    """

    partition: Partition
    operator: str
    reason: str
    error: DoesNotFitError
    crowded: bool
    divisible: bool = True
    limit: tuple[str, int] | None = None


def refused(
    partition: Partition, site: str, refusal: DoesNotFit, alive: Alive, limit: tuple[str, int] | None
) -> Refused:
    """The partition as a backend or the ledger refused it at a call site, where others hold these bytes."""
    error = DoesNotFitError(
        pool=Arena(refusal.memory),
        step=0,
        needed=refusal.needed,
        available=refusal.available,
        alive=((site, refusal.needed), *sorted(alive, key=lambda held: (-held[1], held[0]))),
        place=f"partition {partition.id} ({site} on {partition.instance})",
        operators=(site,),
    )
    return Refused(
        partition=partition,
        operator=site,
        reason=str(refusal),
        error=error,
        crowded=bool(alive),
        limit=limit,
    )


@frozen(kw_only=True)
class Blame:
    """Finds the cause by the lowering so far and the promised bytes, by partition and memory."""

    work: PartialLowering = field(repr=False)
    offered: Mapping[tuple[str, str], int] = field(repr=False)

    def overdrawn(self, partition: Partition, kernel: Kernel, over: Overdrawn) -> tuple[str, int] | None:
        """The smaller budget for a kernel that took more than was left."""
        return self._smaller_budget(partition, kernel, over.memory, max(over.needed - over.available, 1))

    def over_budget(
        self, found: Mapping[str, Mapping[str, int]]
    ) -> Iterator[tuple[Partition, DoesNotFit, tuple[str, int] | None]]:
        """The partitions to refuse, of those (by memory and id) that took so many bytes too much for
        constants of later kernels: all whose buffers are the cause, else the one whose own constants grew
        most.
        """
        for memory, over in found.items():
            able = [p for p in self.work.graph.partitions if p.id in over]
            large = [p for p in able if self._buffered(p, memory) > over[p.id]]
            for partition in large or sorted(able, key=self._constant_growth, reverse=True)[:1]:
                missing, taken = over[partition.id], self._buffered(partition, memory)
                refusal = DoesNotFit(partition.operators[0].id, memory, taken, max(taken - missing, 0))
                kernel = self.work.kernels[partition.id]
                yield partition, refusal, self._smaller_budget(partition, kernel, memory, missing)

    def of_plan(self, refusal: DoesNotFitError) -> tuple[Refused, ...]:
        """The partitions that make the memory plan overflow, with an operator each; none if only the host
        does.
        """
        return tuple(
            Refused(
                partition=partition,
                operator=operator,
                reason=refusal.diagnostics[0].message,
                error=refusal.blaming(operator, staged=refusal.staged),
                crowded=not refusal.staged,
                divisible=not refusal.staged or self.work.setting.takes_chains(partition.instance),
                limit=None if refusal.staged else self._limit(partition, refusal),
            )
            for partition, operator in self._culprits(refusal)
        )

    def _limit(self, partition: Partition, refusal: DoesNotFitError) -> tuple[str, int] | None:
        kernel = self.work.kernels.get(partition.id)
        return self._smaller_budget(partition, kernel, refusal.memory, refusal.missing)

    def _culprits(self, refusal: DoesNotFitError) -> Iterator[tuple[Partition, str]]:
        """The accelerator's partition whose packed constants grew most, if constants are in that memory, else
        the operators that the refusal blames.
        """
        homes = {operator.id: p for p in self.work.graph.partitions for operator in p.operators}
        blamed = [homes[id] for id in refusal.operators]
        fixed = refusal.memory in self.work.mode.constants and not refusal.staged
        able = [p for p in (*blamed, *self.work.graph.partitions) if fixed and not self._is_function(p)]
        grown = [p for p in able if self._constant_growth(p) > 0]
        if not grown:
            yield from zip(blamed, refusal.operators, strict=True)
            return
        largest = max(grown, key=self._constant_growth)
        names = [operator.id for operator in largest.operators]
        yield largest, next((id for id in refusal.operators if id in names), names[0])

    def _is_function(self, partition: Partition) -> bool:
        return self.work.setting.is_function(partition.instance)

    def _constant_growth(self, partition: Partition) -> int:
        return self._growth(partition, self.work.kernels.get(partition.id))

    def _growth(self, partition: Partition, kernel: Kernel | None) -> int:
        """By how many bytes the constants of a partition's kernel exceed those of the model."""
        tensors = self.work.graph.model.tensors
        packed = 0 if kernel is None else sum(tensor.bytes for tensor in kernel.constants)
        return packed - sum(tensors[name].bytes for op in partition.operators for name in op.constants)

    def _buffered(self, partition: Partition, memory: str) -> int:
        return _buffered(self.work.kernels[partition.id], memory)

    def _smaller_budget(
        self, partition: Partition, kernel: Kernel | None, memory: str, missing: int
    ) -> tuple[str, int] | None:
        """A smaller budget (memory, bytes) for a kernel that took too much: less by the missing bytes than
        its buffers take, or than these and the growth of its constants. None if it did not take that much.
        """
        taken = min(_buffered(kernel, memory), self.offered.get((partition.id, memory), 0))
        fixed = memory in self.work.mode.constants
        grown = max(self._growth(partition, kernel), 0) if fixed else 0
        left = next((own - missing for own in (taken, taken + grown) if own > missing), None)
        return None if left is None else (memory, left)


def _buffered(kernel: Kernel | None, memory: str) -> int:
    """The bytes of a kernel's own buffers in a memory."""
    buffers = () if kernel is None else kernel.buffers
    return sum(buffer.bytes for buffer in buffers if buffer.memory == memory)
