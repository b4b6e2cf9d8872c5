"""The request to lower a partition, and the refusal of a backend for which no tiling fits."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from attrs import field, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.goal import Goal
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition
from target_arch.plan.tuning import NOTHING_TUNED, Tuning
from target_arch.soc.model import Instance, SoC


class DoesNotFit(Exception):
    """Raised by `lower`, `schedules` or `codegen` when no tiling fits the budget.

    The pipeline re-places the partition and records the reason; it never reaches a user as a traceback.
    """

    def __init__(self, site: str, memory: str, needed: int, available: int) -> None:
        self.site, self.memory, self.needed, self.available = site, memory, needed, available
        super().__init__(f"{site} needs {needed:,} B of `{memory}`, {available:,} B are available")


class NotInstalled(DiagnosticError):
    """Raised by a hook that needs a program or a package which is not there; the exit code is 3."""


@frozen(kw_only=True)
class LoweringRequest:
    """One partition about to be lowered, for one instance, with the memory that it may use.

    `program` is the imported Relax program (`target_arch.relax`), opaque to everything but that package and
    plug-ins.
    """

    partition: Partition
    model: Model = field(repr=False)
    soc: SoC = field(repr=False)
    instance: Instance
    budget: Budget
    program: Any = field(default=None, repr=False)
    tuning: Tuning = NOTHING_TUNED
    """Schedules found by measuring, for functions in S-TIR that would get their definition's own."""
    goal: Goal = Goal.BALANCED
    """The goal for the code: the same that `cost` was asked with."""
    earlier: Mapping[str, Any] = field(factory=dict, repr=False)
    """The results of earlier phases of this partition, by phase, if the lowering order differs between
    phases.
    """
    kept: MutableMapping[object, Any] = field(factory=dict, repr=False)
    """A backend's own: the same for all requests of a compilation, whose passes lower partitions again."""
    shared: MutableMapping[object, Any] = field(factory=dict, repr=False)
    """As `kept`, and the same for all compilations of this model with this goal and tuning, whatever the
    chip: a key has everything else that its value depends on.
    """
