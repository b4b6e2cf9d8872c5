"""A search by samples: Optuna chooses points, in generations of a fixed size.

The points of a generation depend on the outcomes of those before alone, so the same seed gives the same
points whatever the number of workers. Tests: `tests/explore/test_sample.py`.
"""

import math
import random
from importlib import import_module
from typing import Any

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import Diagnostic
from target_arch.explore.exploration import Exploration
from target_arch.explore.search import SpaceSearch
from target_arch.explore.space import Point, Space

GENERATION = 24
"""Points that are chosen at once."""
_BAD = 1e30
"""More than any goal of a good point."""
_PATIENCE = 40
"""Samples in a row without a new point after which one is drawn at random."""


def sampled(search: SpaceSearch, trials: int, seed: int = 0) -> Exploration:
    """The outcomes of at most so many points, chosen by the genetic algorithm NSGA-II (Deb et al., 2002) for
    several goals. Raises NotInstalled without Optuna.
    """
    optuna = _optuna()
    space = search.space
    sampler = optuna.samplers.NSGAIISampler(population_size=GENERATION, seed=seed)
    study = optuna.create_study(directions=["minimize"] * len(space.minimize), sampler=sampler)
    drawn, known = random.Random(seed), set[Point]()
    while len(known) < min(trials, space.size):
        asked = [_asked(study, space, known, drawn) for _ in range(min(GENERATION, trials - len(known)))]
        points = [(trial, point) for trial, point in asked if point is not None]
        if not points:
            break
        search.evaluate(dict.fromkeys(point for _, point in points), prune=True)
        made = search.exploration()
        for trial, point in points:
            _tell(study, trial, point, made)
    return search.exploration()


def _asked(study: Any, space: Space, known: set[Point], drawn: random.Random) -> tuple[Any, Point | None]:
    """A trial and its point, which is none of the known ones as long as there is another."""
    extents = {variation.name: len(variation.settings) for variation in space.variations}
    for number in range(2 * _PATIENCE):
        if number >= _PATIENCE:
            study.enqueue_trial({name: drawn.randrange(extent) for name, extent in extents.items()})
        trial = study.ask()
        point = tuple(trial.suggest_int(name, 0, extent - 1) for name, extent in extents.items())
        if point not in known and space.has(point):
            known.add(point)
            return trial, point
        study.tell(trial, state=_optuna().trial.TrialState.FAIL)
    return None, None


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
