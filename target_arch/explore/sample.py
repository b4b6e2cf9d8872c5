"""A search by samples, in generations of a fixed size: points that a regression over those before expects to
be good, neighbours of the best ones so far, and what Optuna proposes.

The points of a generation depend on the outcomes of those before alone, so the same seed gives the same
points whatever the number of workers. Tests: `tests/explore/test_sample.py`.
"""

import math
import random
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from attrs import define, field

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import Diagnostic
from target_arch.explore.exploration import Exploration
from target_arch.explore.formula import FormulaError
from target_arch.explore.search import SpaceSearch, empty, no_value
from target_arch.explore.space import Point, Space
from target_arch.explore.surrogate import promising

GENERATIONS = 16
"""In so many generations the points are chosen, where these are no smaller than the least."""
LEAST = 8
"""The least points of a generation."""
REGRESSED = 2000
"""How many points are drawn whose goals are expected by regression."""
_BAD = 1e30
"""More than any goal of a good point."""
_STEPS = 400
"""Steps from a known point to one that is not, of which each changes one value."""


def sampled(search: SpaceSearch, trials: int, seed: int = 0) -> Exploration:
    """The outcomes of at most so many points. The first generation is spread over the space; of later ones
    half are those by which the front is expected to gain the most (`surrogate.py`), a quarter neighbours of
    the front so far, and the rest chosen by the genetic algorithm NSGA-II (Deb et al., 2002) for several
    goals. Raises NotInstalled without Optuna, and DiagnosticError for a space without a point.
    """
    try:
        return _sampled(search, trials, seed)
    except FormulaError as error:
        raise no_value(search.space, error) from error


def _sampled(search: SpaceSearch, trials: int, seed: int) -> Exploration:
    optuna = _optuna()
    size = max(LEAST, trials // GENERATIONS)
    sampler = optuna.samplers.NSGAIISampler(population_size=size, seed=seed)
    study = optuna.create_study(directions=["minimize"] * len(search.space.minimize), sampler=sampler)
    choice = _Choice(study, search.space, random.Random(seed))
    while choice.known_count < min(trials, search.space.size):
        count = min(size, trials - choice.known_count)
        begun = bool(choice.known_count)
        asked = choice.following(search.exploration(), count) if begun else choice.spread(count)
        if not asked and not begun:
            raise empty(search.space)
        if not asked:
            break
        search.evaluate([point for _, point in asked], prune=True)
        made = search.exploration()
        for trial, point in asked:
            _tell(study, trial, point, made)
    return search.exploration()


Asked = list[tuple[Any, Point]]
"""Trials of Optuna, each with its point."""


@define(eq=False)
class _Choice:
    """Chooses points that it has not chosen before, as trials of a study."""

    _study: Any
    _space: Space
    _drawn: random.Random
    _known: set[Point] = field(factory=set, init=False)
    _extents: dict[str, int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._extents = {each.name: len(each.settings) for each in self._space.variations}

    @property
    def known_count(self) -> int:
        """How many points were chosen."""
        return len(self._known)

    def spread(self, count: int) -> Asked:
        """At most so many points: the first and the last of all values, and some between in which every
        value of a variation comes equally often.
        """
        between = range(max(0, count - 2))
        columns = [[(2 * n + 1) * most // (2 * len(between)) for n in between] for most in self._sizes]
        for column in columns:
            self._drawn.shuffle(column)
        ends = [tuple(0 for _ in self._sizes), tuple(most - 1 for most in self._sizes)]
        found = dict.fromkeys((*ends, *zip(*columns, strict=True)))
        return [self._given(point) for point in list(found)[:count] if self._new(point)]

    def following(self, made: Exploration, count: int) -> Asked:
        """At most so many points after these outcomes."""
        asked = self.expected(made, count // 2)
        asked += self.near(made.front, count // 4)
        return asked + self.evolved(count - len(asked))

    def expected(self, made: Exploration, count: int) -> Asked:
        """At most so many points by which the front is expected to gain the most, of its neighbours and
        others.
        """
        numbers = self._drawn.sample(range(self._space.size), min(self._space.size, REGRESSED))
        drawn = (point for number in numbers if (point := self._space.point(number)) is not None)
        able = dict.fromkeys((*self._neighbours(made.front), *drawn))
        return [self._given(point) for point in promising(made, [*filter(self._new, able)], count)]

    def _neighbours(self, front: tuple[Point, ...]) -> list[Point]:
        return sorted({step for point in front for step in self._steps(point) if self._new(step)})

    def near(self, front: tuple[Point, ...], count: int) -> Asked:
        """At most so many neighbours of these points, chosen at random."""
        found = self._neighbours(front)
        return [self._given(point) for point in self._drawn.sample(found, min(count, len(found)))]

    def evolved(self, count: int) -> Asked:
        """At most so many points that the study proposes, or near them where these are known."""
        asked: Asked = []
        for _ in range(count):
            trial = self._study.ask()
            proposed = tuple(trial.suggest_int(name, 0, most - 1) for name, most in self._extents.items())
            if self._new(proposed):
                self._known.add(proposed)
                asked.append((trial, proposed))
                continue
            self._study.tell(trial, state=_optuna().trial.TrialState.FAIL)
            other = self._around(proposed)
            if other is not None:
                asked.append(self._given(other))
        return asked

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(self._extents.values())

    def _new(self, point: Point) -> bool:
        return point not in self._known and self._space.has(point)

    def _given(self, point: Point) -> tuple[Any, Point]:
        """The trial of a point that the study did not propose."""
        self._study.enqueue_trial(dict(zip(self._extents, point, strict=True)))
        trial = self._study.ask()
        for name, most in self._extents.items():
            trial.suggest_int(name, 0, most - 1)
        self._known.add(point)
        return trial, point

    def _steps(self, point: Point) -> Iterator[Point]:
        """The points in which one value is the next one."""
        for place, most in enumerate(self._sizes):
            for number in (point[place] - 1, point[place] + 1):
                if 0 <= number < most:
                    yield (*point[:place], number, *point[place + 1 :])

    def _around(self, point: Point) -> Point | None:
        """A new point some steps away, or any new one; None where none is left."""
        for _ in range(_STEPS):
            point = self._drawn.choice(list(self._steps(point)) or [point])
            if self._new(point):
                return point
        return next(filter(self._new, self._space.points()), None)


def _tell(study: Any, trial: Any, point: Point, made: Exploration) -> None:
    """The goals of a point. One that does not keep the limits is worse than all that do, the more the further
    it is over them, and one without numbers is worse than all; one that is dominated has its bounds.
    """
    least = made.least(point)
    if least is not None:
        study.tell(trial, least)
        return
    goals = made.goals(point)
    over = sum(breach.excess for breach in made.breaches(point)) if goals is not None else math.inf
    if goals is None or over:
        goals = (_BAD * (1 + min(over, _BAD)),) * len(made.space.minimize)
    study.tell(trial, goals)


def _optuna() -> Any:
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        said, hint = "package `optuna` is not installed", "pip install 'target-arch[explore]'"
        raise NotInstalled(
            [Diagnostic(rule="missing-extra", place="trials", message=said, hint=hint)]
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
