"""A plan for each of several models, so that all fit one chip together.

Models are planned in order, each in the memory that the others leave. If one does not fit, earlier ones are
planned again with less.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from target_arch.diagnostics import DiagnosticError, Keyword, Note
from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.model_pools import ModelPools, Pairs, Sharing
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, PlacementError, in_model, with_way_out
from target_arch.stages.memory.model_pools import exceeds, model_pools, taken_by_others

ROUNDS = 4
"""How often models are planned again with less memory, for the sake of another."""


class Planned(Protocol):
    """A planned model: its memory plan, and further facts for the caller."""

    @property
    def plan(self) -> MemoryPlan: ...


P = TypeVar("P", bound=Planned)
PlanModel = Callable[[int, Mapping[str, int]], P]
"""Plans the model of that number, on the chip with each memory reduced by these bytes. Raises
DiagnosticError.
"""


def pack_models(
    soc: SoC,
    models: Sequence[str],
    arenas: Sharing,
    plan: PlanModel[P],
    whole: SoC | None = None,
    apart: Pairs | None = None,
) -> tuple[P, ...]:
    """A plan for every model, by names in their order, such that all fit together; `arenas` and `apart` as in
    ModelPools.

    The memories of `soc` are as large as all arenas may be, those of `whole` as arenas and the buffers of the
    caller may be together; by default the same. A single model is planned once, unless its caller's buffers
    leave it less. Raises DiagnosticError where no way is found: the refusal of a model, with its name and the
    bytes of the others where there are several.
    """
    return ModelPacker(soc, models, arenas, plan, whole or soc, apart).packed()


def excess(soc: SoC, whole: SoC, pools: ModelPools) -> dict[str, int]:
    """By memory, the bytes that all models together take too much: their arenas of `soc`, or arenas and
    buffers of the caller of `whole`.
    """
    used: dict[str, int] = {}
    lent: dict[str, int] = {}
    for pool in pools.pools:
        sizes = lent if pool.pool.caller else used
        sizes[pool.memory] = sizes.get(pool.memory, 0) + pool.bytes
    found = {
        name: max(
            used.get(name, 0) - soc.memory(name).size,
            used.get(name, 0) + lent.get(name, 0) - whole.memory(name).size,
        )
        for name in sorted({*used, *lent})
    }
    return {name: missing for name, missing in found.items() if missing > 0}


class ModelPacker(Generic[P]):
    """The search: the plans so far, and the further bytes that each model must leave to others."""

    def __init__(
        self,
        soc: SoC,
        models: Sequence[str],
        arenas: Sharing,
        plan: PlanModel[P],
        whole: SoC,
        apart: Pairs | None,
    ) -> None:
        self._soc, self._whole, self._models, self._apart = soc, whole, models, apart
        self._arenas, self._plan = arenas, plan
        self._numbers = range(len(models))
        self._made: dict[int, P] = {}
        self._asked: dict[int, dict[str, int]] = {number: {} for number in self._numbers}

    def packed(self) -> tuple[P, ...]:
        """See `pack_models`."""
        for number in self._numbers:
            self._place(number)
        for left in reversed(range(ROUNDS + 1)):
            if not self._excess():
                break
            if not left:
                raise self._advised(self._too_much())
            self._again()
        return tuple(self._made[number] for number in self._numbers)

    def _again(self) -> None:
        """Plan those again that exceed what others leave; then one that takes less of what is missing."""
        for number in self._numbers:
            if exceeds(self._soc, self._made[number].plan, self._taken(number)):
                self._place(number)
        for memory, missing in self._excess().items():
            self._reduce(self._numbers, memory, missing)

    def _place(self, number: int) -> None:
        """Plan a model in the memory that the others leave; if this is too little, plan the others again with
        less.
        """
        for left in reversed(range(ROUNDS)):
            try:
                self._made[number] = self._tried(number)
                return
            except (DoesNotFitError, PlacementError) as refusal:
                others = self._others(number)
                wishes = self._wishes(number, refusal)
                if not left or not any(self._reduce(others, memory, missing) for memory, missing in wishes):
                    raise self._refused(number, refusal) from None
            except DiagnosticError as error:
                raise self._named(number, error) from error.__cause__

    def _wishes(self, number: int, refusal: DoesNotFitError | PlacementError) -> list[tuple[str, int]]:
        """By memory, the bytes that the others must free: all that are missing, or half of their bytes if a
        backend refuses without a number.
        """
        if isinstance(refusal, DoesNotFitError):
            return [(refusal.memory, refusal.missing)]
        return [(memory, size // 2) for memory, size in sorted(self._taken(number).items())]

    def _tried(self, number: int) -> P:
        taken = self._taken(number)
        for memory, size in self._asked[number].items():
            taken[memory] = taken.get(memory, 0) + size
        return self._plan(number, taken)

    def _reduce(self, models: Iterable[int], memory: str, missing: int) -> bool:
        """Plan models again with less of a memory, until one takes less of it. False if none does."""
        for number in models:
            before, asked = self._made[number], self._asked[number].get(memory, 0)
            self._asked[number][memory] = asked + missing
            try:
                made = self._tried(number)
            except DiagnosticError:
                made = before
            if self._weight(made, memory) < self._weight(before, memory):
                self._made[number] = made
                return True
            self._asked[number][memory] = asked
        return False

    def _weight(self, made: P, memory: str) -> int:
        return taken_by_others(self._soc, (made.plan,), Sharing.SEPARATE).get(memory, 0)

    def _others(self, number: int) -> list[int]:
        """The models planned so far but for this one, in order."""
        return [other for other in self._made if other != number]

    def _taken(self, number: int) -> dict[str, int]:
        others = [self._made[other].plan for other in self._others(number)]
        return taken_by_others(self._soc, others, self._arenas, beside=self._beside(number))

    def _beside(self, number: int) -> ModelPools | None:
        """In a workload, the pools of the models that share nothing with this one."""
        if self._apart is None:
            return None
        own, there = self._models[number], (self._models[other] for other in self._made)
        names = [name for name in there if frozenset((own, name)) in self._apart]
        plans = {name: self._made[self._models.index(name)].plan for name in names}
        return model_pools(self._soc, plans, self._arenas, self._apart)

    def _pools(self) -> ModelPools:
        plans = {self._models[number]: made.plan for number, made in self._made.items()}
        return model_pools(self._soc, plans, self._arenas, self._apart)

    def _excess(self) -> dict[str, int]:
        """By memory, the bytes that all models together take in excess: their arenas, or arenas and buffers
        of the caller.
        """
        return excess(self._soc, self._whole, self._pools())

    def _refused(self, number: int, refusal: DoesNotFitError | PlacementError) -> DiagnosticError:
        """The refusal of a model, with its name, the bytes of the others, and a hint."""
        if not isinstance(refusal, DoesNotFitError):
            return self._named(number, refusal)
        memory, notes = refusal.memory, []
        for other in self._others(number):
            size = taken_by_others(self._soc, (self._made[other].plan,), self._arenas).get(memory)
            if size:
                place = f"model {self._models[other]}"
                notes.append(Note(place=place, message=f"takes {size:,} B of `{memory}`"))
        return self._named(number, self._advised(refusal.noted(notes)))

    def _named(self, number: int, error: DiagnosticError) -> DiagnosticError:
        """The error with the name of its model; without one if there is only one model."""
        return in_model(error, self._models[number]) if len(self._models) > 1 else error

    def _advised(self, refusal: DoesNotFitError) -> DiagnosticError:
        """The refusal with one more hint, if the models would fit in shared arenas."""
        if self._arenas == Sharing.SHARED or len(self._models) == 1:
            return refusal
        try:
            pack_models(self._soc, self._models, Sharing.SHARED, self._plan, self._whole)
        except DiagnosticError:
            return refusal
        return with_way_out(refusal, Keyword("arenas", str(Sharing.SHARED)), ", where the models run in turn")

    def _too_much(self) -> DoesNotFitError:
        """The refusal after planning again did not help."""
        over, pools = self._excess(), self._pools()
        memory = min(over)
        size = self._soc.memory(memory).size
        takers = tuple(
            (f"{name} in {pool.pool}", pool.peaks[number])
            for pool in pools.pools
            for number, name in enumerate(pools.models)
            if pool.memory == memory and pool.peaks[number]
        )
        needed = size + over[memory]
        error = DoesNotFitError(pool=Arena(memory), step=0, needed=needed, available=size, alive=takers)
        return error.at("memory of all models")
