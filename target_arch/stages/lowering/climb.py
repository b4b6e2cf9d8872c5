"""The result of a climb: a model that fits, and what its placement gave up for it."""

from collections.abc import Callable, Iterable

from attrs import evolve, field, frozen

from target_arch.plan.lowered import Attempt, AttemptKind, Lowered
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.off_memory import Leaving
from target_arch.stages.placement.rules import Rules

Relief = frozenset[AttemptKind]
"""What may be done where the tensors of a plan overflow a memory that is nobody's own."""
NO_RELIEF: Relief = frozenset()
STRIPES: Relief = frozenset({AttemptKind.STRIPE})
MOVES_AND_STRIPES: Relief = frozenset({AttemptKind.REPLACE, AttemptKind.STRIPE})


@frozen(kw_only=True)
class Climb:
    """A model that fits, lowered under these rules. `moved` are the operators that left a memory which
    overflowed, of those that were `able` to at first and later ones.

    `start` are the rules before the first attempt, and `origin` is the placement under them.
    """

    lowered: Lowered
    rules: Rules = field(repr=False)
    start: Rules = field(repr=False)
    origin: PartitionGraph | None = field(repr=False)
    moved: tuple[Leaving, ...] = ()
    able: tuple[Leaving, ...] = ()

    @property
    def makespan(self) -> float:
        """Seconds of the simulated run."""
        return 0.0 if self.lowered.execution is None else self.lowered.execution.makespan

    def after(self, tried: Iterable[Attempt]) -> "Climb":
        """The same with the attempts that led to it."""
        return self.with_attempts((*tried, *self.lowered.attempts))

    def with_attempts(self, attempts: Iterable[Attempt]) -> "Climb":
        """The same with these attempts only."""
        return evolve(self, lowered=evolve(self.lowered, attempts=tuple(attempts)))


Climber = Callable[[Rules, PartitionGraph | None, Relief], Climb]
"""Lowers and plans a model under rules, first with the placement if one is given. Raises DoesNotFitError."""


def after(tried: Iterable[Attempt], climb: Callable[[], Climb]) -> Climb:
    """The climb after attempts that led nowhere. Raises its refusal, with them."""
    before = tuple(tried)
    try:
        return climb().after(before)
    except DoesNotFitError as refusal:
        raise refusal.after((*before, *refusal.tried)) from None
