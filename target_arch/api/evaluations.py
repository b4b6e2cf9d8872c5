"""Evaluations of single chips, in processes, with the outcomes that a store has."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from target_arch.explore.choose import chip_of
from target_arch.explore.content import program_digest
from target_arch.explore.evaluate import PointTask
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.search import evaluated
from target_arch.explore.space import BaseChip
from target_arch.explore.stores import open_store
from target_arch.explore.workers import LocalWorkers
from target_arch.plan.objective import Objective


class Evaluations:
    """So many processes, as long as the context is. Outcomes go into the store, if there is one. Placement
    has the objective, whatever a task says.
    """

    def __init__(
        self,
        count: int,
        folders: Sequence[str | Path],
        store: str | Path | None,
        objective: Objective = Objective.LATENCY,
    ) -> None:
        self._objective = objective
        found = tuple(map(Path, folders))
        self._workers = LocalWorkers[str](count, found)
        self._program = program_digest(found)
        self._store = None if store is None else open_store(store)

    def __enter__(self) -> "Evaluations":
        return self

    def __exit__(self, *raised: object) -> None:
        self._workers.__exit__(*raised)

    def check(self, bases: Sequence[BaseChip], models: Mapping[str, Path]) -> None:
        """Read the models once. Raises DiagnosticError where one cannot be read."""
        for base in bases[:1]:
            self._workers.check(PointTask(chip=chip_of(base), models=models))

    def all(self, tasks: Iterable[PointTask]) -> list[PointOutcome]:
        """The outcomes, in the order of the tasks."""
        asked = (evolve(task, objective=self._objective) for task in tasks)
        return evaluated(asked, self._workers, self._program, self._store)

    def one(self, task: PointTask) -> PointOutcome:
        """The outcome of one task."""
        return self.all([task])[0]
