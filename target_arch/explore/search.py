"""The points of a space, evaluated: from the store where they are known, by workers where not.

Outcomes do not depend on the number of workers or on their order. Tests: `tests/explore/test_search.py`.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from attrs import define, evolve, field

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.explore.chip import chip_file
from target_arch.explore.content import content_key
from target_arch.explore.evaluate import PointTask
from target_arch.explore.exploration import Exploration
from target_arch.explore.formula import FormulaError
from target_arch.explore.outcome import PROCESS_ENDED, PointOutcome, Status
from target_arch.explore.pruning import Pruning
from target_arch.explore.space import MODE, OBJECTIVE, OPTIMIZE, Point, Space
from target_arch.plan.goal import Goal, goal
from target_arch.plan.objective import objective

WHOLE = 200_000
"""The most points of a space that is evaluated whole."""
BATCH = 64
"""Points after whose outcomes the front is looked at again, to leave out points that it dominates. It does
not depend on the number of workers, so that neither do the outcomes.
"""


class Outcomes(Protocol):
    """Where outcomes are kept by key; see `store.Store` and `database.DatabaseStore`."""

    def get(self, key: str) -> PointOutcome | None: ...

    def add(self, key: str, outcome: PointOutcome) -> None: ...


class Workers(Protocol):
    """Processes that evaluate tasks; see `workers.LocalWorkers`."""

    def check(self, task: PointTask) -> None: ...

    def run(self, tasks: Iterable[tuple[str, PointTask]]) -> Iterator[tuple[str, PointOutcome]]: ...


@define(eq=False)
class SpaceSearch:
    """One run over a space: where outcomes are kept, who makes them, and who hears of the progress."""

    space: Space
    workers: Workers
    program: str
    store: Outcomes | None = None
    said: Callable[[int, int], None] = lambda done, all: None
    _known: dict[Point, PointOutcome] = field(factory=dict, init=False)
    _made: dict[str, PointOutcome] = field(factory=dict, init=False)
    """The outcomes of this run by their key."""
    _checked: bool = field(default=False, init=False)
    computed: int = field(default=0, init=False)
    """How many outcomes were not in the store."""

    def whole(self, seed: int = 0, *, prune: bool = False) -> Exploration:
        """Every point; with `prune` those that a lower bound shows to be dominated are not compiled. Raises
        DiagnosticError for a space without one or with too many.
        """
        if self.space.size > WHOLE:
            said = f"the space has {self.space.size:,} points, and at most {WHOLE:,} are evaluated one by one"
            raise refusal("large-space", self.space.name, said, "let fewer values vary")
        try:
            points = list(self.space.points())
        except FormulaError as error:
            raise no_value(self.space, error) from error
        if not points:
            raise empty(self.space)
        random.Random(seed).shuffle(points)
        size = BATCH if prune else max(1, len(points))
        for first in range(0, len(points), size):
            self.evaluate(points[first : first + size], prune=prune, total=len(points))
        return self.exploration()

    def evaluate(self, points: Iterable[Point], *, prune: bool = False, total: int | None = None) -> None:
        """Evaluate these points, those that are not known yet, of `total` in all. With `prune` those that a
        point of the front so far dominates, by a lower bound, are not compiled.

        A point with which processes ended is not kept in the store: another run may have more memory. Nor is
        a dominated one: that follows from the other points.
        """
        wanted = [point for point in points if point not in self._known]
        every = total or len(self._known) + len(wanted)
        pruning = Pruning.of(self.exploration()) if prune else None
        by_id: dict[str, tuple[str, list[Point]]] = {}
        for id, outcome in self.workers.run(self._tasks(wanted, by_id, pruning)):
            self.computed += 1
            key, alike = by_id[id]
            if outcome.status is not Status.DOMINATED:
                self._made[key] = outcome
                if self.store is not None and outcome.rule != PROCESS_ENDED:
                    self.store.add(key, outcome)
            self._known |= dict.fromkeys(alike, outcome)
            self.said(len(self._known), every)

    def exploration(self) -> Exploration:
        """The outcomes so far, in the order of the space."""
        return Exploration(space=self.space, outcomes=dict(sorted(self._known.items())))

    def _tasks(
        self, points: Iterable[Point], by_id: dict[str, tuple[str, list[Point]]], pruning: Pruning | None
    ) -> Iterator[tuple[str, PointTask]]:
        """The tasks of points that are neither in the store nor equal to one before, by an id. Points for
        which a better one is known are not merged: their formulas may differ where their content does not.
        """
        for point in points:
            try:
                task = point_task(self.space, point)
            except FormulaError as error:
                self._known[point] = PointOutcome(
                    status=Status.NO_CHIP, rule="bad-formula", reason=str(error)
                )
                continue
            key = content_key(task, self.program)
            stored = self._made.get(key) or (None if self.store is None else self.store.get(key))
            if stored is not None:
                self._known[point] = stored
                continue
            better = None if pruning is None else pruning.better(point)
            id = key if better is None else f"{key}-{self.space.number(point)}"
            _, alike = by_id.setdefault(id, (key, []))
            alike.append(point)
            if len(alike) == 1:
                self._check(task)
                yield id, evolve(task, known=better)

    def _check(self, task: PointTask) -> None:
        """Read the models once before anything is evaluated: their mistakes are no results of points."""
        if not self._checked:
            self.workers.check(task)
        self._checked = True


def no_value(space: Space, error: FormulaError) -> DiagnosticError:
    """The refusal of a space with a constraint that has no value at one of its points."""
    return refusal("bad-formula", space.name, str(error), error.hint)


def empty(space: Space) -> DiagnosticError:
    """The refusal of a space without a point, with what each of its constraints leaves alone."""
    said = "`where` leaves out " + ("the only point" if space.size == 1 else f"all {space.size:,} points")
    if space.size > WHOLE:
        return refusal("empty-space", space.name, said)
    names = [space.names(space.at(number)) for number in range(space.size)]
    kept = ((each.text, sum(bool(each.value(known)) for known in names)) for each in space.where)
    hint = ", ".join(f"`{text}` alone leaves {count:,}" for text, count in kept)
    return refusal("empty-space", space.name, said, hint)


def evaluated(
    tasks: Iterable[PointTask], workers: Workers, program: str, store: Outcomes | None
) -> list[PointOutcome]:
    """The outcomes of tasks, in their order; those that the store has are taken from there."""
    every = [(content_key(task, program), task) for task in tasks]
    wanted = dict(every)
    known = {key: store.get(key) for key in wanted} if store is not None else {}
    left = {key: task for key, task in wanted.items() if known.get(key) is None}
    for key, outcome in workers.run(left.items()):
        known[key] = outcome
        if store is not None:
            store.add(key, outcome)
    found = (known[key] for key, _ in every)
    return [outcome for outcome in found if outcome is not None]


def point_task(space: Space, point: Point) -> PointTask:
    """The task of a point. Raises FormulaError where a tie has no value."""
    mode, optimize, aim = (space.of_program(point, name) for name in (MODE, OPTIMIZE, OBJECTIVE))
    return PointTask(
        chip=chip_file(space, point),
        models=space.files(point),
        mode=mode or "default",
        optimize=goal(optimize or Goal.BALANCED),
        objective=space.objective if aim is None else objective(aim),
    )
