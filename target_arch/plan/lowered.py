"""A model with its place on the chip, lowered, with steps and memory plan: the end of the stages.

It includes the attempts that made the model fit.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import evolve, field, frozen

from target_arch.plan.costs_used import CostsUsed
from target_arch.plan.division import Cut, Division, DivisionProof, Share
from target_arch.plan.execution import Execution
from target_arch.plan.frames import FramePipeline
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Arena, Budget, BufferKind, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Copy, StepOrder


class AttemptKind(StrEnum):
    """In the order in which they are tried: a smaller budget, smaller partitions, another instance; where
    the tensors of cores overflow a memory, stripes of them instead of whole ones; the whole model placed
    again on fewer target_archs; and its operators divided, where that is asked for. Once it fits, other
    placements that may be faster.
    """

    RETILE = "re-tile"
    SPLIT = "split"
    REPLACE = "re-place"
    STRIPE = "stripe"
    TARGETS = "targets"
    DIVIDE = "divide"
    IMPROVE = "improve"


@frozen(kw_only=True)
class Attempt:
    """A partition that did not fit, and the change that followed.

    `operator` and `instance` say where, `reason` why it did not fit, `kind` and `outcome` the change tried.
    Of the whole model, the operator is `*`, and the instance names all target_archs of the placement.

    To improve what fits, the operator was tried on the instance: `reason` is the run before, `outcome` that
    after it, or why there is none.
    """

    kind: AttemptKind = field(converter=AttemptKind)
    operator: str
    instance: str
    reason: str
    outcome: str = ""

    def __str__(self) -> str:
        if self.kind is AttemptKind.IMPROVE:
            return f"{self.operator} on `{self.instance}`: {self.reason}; {self.kind}: {self.outcome}"
        done = f"; {self.kind}: {self.outcome}" if self.outcome else ""
        return f"{self.operator} does not fit on `{self.instance}`: {self.reason}{done}"


@frozen(kw_only=True)
class Lowered:
    """Everything about a model on a SoC, up to the memory plan.

    `kernels` are by partition id, `budgets` those of accelerator partitions, with `used` filled in, in the
    order of lowering; `attempts` are earlier misfits. `frames` is the pipeline of frames in flight, where one
    was asked for. `program` is the imported Relax program, opaque to everything but `target_arch.relax`.
    """

    graph: PartitionGraph
    lowering: LoweringOrder
    kernels: Mapping[str, Kernel] = field(repr=False)
    budgets: tuple[Budget, ...]
    steps: StepOrder = field(repr=False)
    plan: MemoryPlan = field(repr=False)
    execution: Execution | None
    attempts: tuple[Attempt, ...] = ()
    costs: CostsUsed | None = None
    """Where the costs come from; None where all are estimates of backends."""
    frames: FramePipeline | None = field(default=None, repr=False)
    whole: PartitionGraph | None = field(default=None, repr=False)
    """The placed model before operators of it were divided; None where none is."""
    proof: DivisionProof | None = None
    """About the expected runs of all divisions, where that was asked for."""
    program: Any = field(default=None, repr=False, eq=False)

    @property
    def memory(self) -> MemoryPlan:
        """The memory plan of a run and of frames in flight, which take turns in the same bytes."""
        if self.frames is None:
            return self.plan
        own, other = self.plan, self.frames.plan
        known = {buffer.name for buffer in own.buffers}
        return evolve(
            own,
            buffers=(*own.buffers, *(buffer for buffer in other.buffers if buffer.name not in known)),
            offsets={**other.offsets, **own.offsets},
            peaks=_larger(own.peaks, other.peaks),
            bounds=_larger(own.bounds, other.bounds),
            shared=_larger(own.shared, other.shared),
        )

    @property
    def makespan(self) -> float:
        """The seconds of a simulated run; 0 where there is none."""
        return 0.0 if self.execution is None else self.execution.makespan

    @property
    def copies_constants(self) -> bool:
        """Whether a run copies constants."""
        return bool(self._copying)

    @property
    def staying(self) -> frozenset[tuple[str, str]]:
        """The operators, with their instances, of which no run copies constants."""
        copying = self._copying
        return frozenset(
            (operator.id, partition.instance)
            for partition in self.graph.partitions
            for operator in partition.operators
            if partition.id not in copying
        )

    @property
    def _copying(self) -> frozenset[str]:
        """The partitions for which every run copies constants."""
        kinds = {buffer.name: buffer.kind for buffer in self.plan.buffers}
        copies = (step for step in self.steps.steps if isinstance(step, Copy))
        return frozenset(copy.partition for copy in copies if kinds[copy.source.of] is BufferKind.CONSTANT)

    @property
    def division(self) -> Division:
        """The operators that are divided, with their shares in the order of places."""
        slices = self.graph.model.slices
        shares: dict[str, list[Share]] = {}
        for id, part in slices.items():
            share = Share(instance=self.graph.choice(id).instance, start=part.start, stop=part.stop)
            shares.setdefault(part.operator, []).append(share)
        axes = {part.operator: part.axis for part in slices.values()}
        return {
            id: Cut(operator=id, axis=axes[id], shares=tuple(sorted(each, key=lambda share: share.start)))
            for id, each in shares.items()
        }

    @property
    def model(self) -> Model:
        """The model that was placed."""
        return self.graph.model


def _larger(one: Mapping[Arena, int], other: Mapping[Arena, int]) -> dict[Arena, int]:
    return {arena: max(one.get(arena, 0), other.get(arena, 0)) for arena in {**one, **other}}
