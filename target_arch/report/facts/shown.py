"""The content of a report: the models of a bundle on their chip.

Sizes are bytes, times seconds, names those of the manifest (`docs/manifest.md`).
"""

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from target_arch.plan.division import Cut
from target_arch.plan.execution import Activity
from target_arch.plan.manifest.image import SectionEntry
from target_arch.plan.manifest.model import (
    AttemptEntry,
    FramesEntry,
    SlotEntry,
    StepEntry,
    TensorEntry,
    TimingEntry,
)
from target_arch.plan.manifest.operators import PartitionEntry
from target_arch.plan.manifest.verification import VerificationEntry
from target_arch.soc.model import SoC


@frozen(kw_only=True)
class ShownPlace:
    """An instance that was considered for an operator.

    `copies` are the parts of its copying, as text and seconds. Without `compute` it was refused, and
    `refusal` is the reason; `change` names a change that would move the operator there, where one could.
    """

    instance: str
    compute: float | None
    copies: tuple[tuple[str, float], ...]
    measured: bool
    refusal: str | None
    change: str | None

    @property
    def total(self) -> float | None:
        """Computing and copying together; None where it was refused."""
        return None if self.compute is None else self.compute + sum(each for _, each in self.copies)


@frozen(kw_only=True)
class ShownOperator:
    """An operator where it is; `before` are the operators, or inputs of the model, that it reads from.

    One with a `cut` is divided: `instance` has its largest share, and `partition` names those of all slices.
    """

    id: str
    kind: str
    location: str
    before: tuple[str, ...]
    output: str
    shape: tuple[int, ...]
    dtype: str
    macs: int
    constant_bytes: int
    partition: str
    instance: str
    reason: str
    places: tuple[ShownPlace, ...]
    cut: Cut | None = None

    @property
    def where(self) -> str:
        """The instance, or the shares of several."""
        return self.instance if self.cut is None else self.cut.words.replace("`", "")

    @property
    def cost(self) -> float | None:
        """Seconds at its own place; None where nothing was estimated, or it is divided."""
        if self.cut is not None:
            return None
        return next((each.total for each in self.places if each.instance == self.instance), None)


@frozen(kw_only=True)
class ShownRun:
    """The run that was simulated. `spans` are busy times, `waits` times in which the host stands still."""

    makespan: float
    bound: float
    division_bound: float
    alone: float
    busy: float
    instances: int
    overlap: str
    spans: tuple[Activity, ...] = field(repr=False)
    waits: tuple[Activity, ...] = field(repr=False)

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """Everything that is busy at some time."""
        return tuple(sorted({span.where for span in (*self.spans, *self.waits)}))


@frozen(kw_only=True)
class ShownBuffer:
    """A buffer of a pool, from byte `offset` on, live from step `first` to step `last`, both included.

    It reuses the bytes of `over`, and has the tensors `holds` inside itself: name, offset, bytes.
    """

    name: str
    kind: str
    offset: int
    bytes: int
    first: int
    last: int
    over: str | None
    holds: tuple[tuple[str, int, int], ...]


@frozen(kw_only=True)
class ShownPool:
    """A part of a memory that the bundle takes, and every buffer in it."""

    name: str
    memory: str
    capacity: int
    peak: int
    bound: int
    in_place_bound: int
    buffers: tuple[ShownBuffer, ...] = field(repr=False)


@frozen(kw_only=True)
class ShownBudget:
    """The bytes that calls of an accelerator's partition found in a memory; `sites` have the same numbers."""

    partition: str
    pool: str
    sites: tuple[str, ...]
    live: int
    remaining: int
    guaranteed: int
    gap: int
    used: int | None

    @property
    def capacity(self) -> int:
        return self.live + self.remaining


@frozen(kw_only=True)
class ShownImage:
    """A linked program: of the machine, or the firmware of a core. Its sections, and of every memory its
    name, capacity and bytes linked; `name` says which program it is.
    """

    name: str
    sections: tuple[SectionEntry, ...]
    memories: tuple[tuple[str, int, int], ...]
    stack: int
    stack_reserved: int
    stack_path: tuple[str, ...]


@frozen(kw_only=True, slots=False)
class ShownModel:
    """One model of a bundle; `left_out` is empty where all of the file's model is computed."""

    name: str
    verdict: str
    left_out: str
    inputs: tuple[TensorEntry, ...]
    outputs: tuple[TensorEntry, ...]
    states: tuple[str, ...]
    operators: tuple[ShownOperator, ...] = field(repr=False)
    partitions: tuple[PartitionEntry, ...] = field(repr=False)
    method: str
    run: ShownRun | None
    steps: tuple[StepEntry, ...] = field(repr=False)
    pools: tuple[ShownPool, ...] = field(repr=False)
    budgets: tuple[ShownBudget, ...] = field(repr=False)
    policy: str
    lowering: tuple[SlotEntry, ...] = field(repr=False)
    attempts: tuple[AttemptEntry, ...]
    verification: VerificationEntry | None
    timing: TimingEntry | None = None
    frames: FramesEntry | None = None

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The instances that execute something."""
        return tuple(sorted({each.instance for each in self.partitions}))

    @property
    def divided(self) -> bool:
        """Whether an operator is divided."""
        return any(each.cut is not None for each in self.operators)

    @cached_property
    def by_id(self) -> Mapping[str, ShownOperator]:
        """The operators by id."""
        return {each.id: each for each in self.operators}


@frozen(kw_only=True)
class ShownBundle:
    """A bundle: its chip and its models. `pools` have, by name, the capacity of their memory and the bytes
    that all models take together; `images` are empty until programs of the chip were built.
    """

    name: str
    soc: SoC = field(repr=False)
    mode: str
    port: str
    machine: str | None
    abi_hash: str
    models: tuple[ShownModel, ...]
    pools: Mapping[str, tuple[int, int]]
    images: tuple[ShownImage, ...]
