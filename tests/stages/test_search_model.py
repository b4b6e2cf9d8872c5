"""The search for a placement has a model of time of its own: how far it is from the replay of steps."""

from random import Random
from statistics import median

import pytest

from target_arch.plan.model import Model
from target_arch.soc.model import SoC
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.placement.place import place
from target_arch.stages.setting import Setting
from target_arch.stages.steps.expected import with_runs
from tests.stages import chips, random_cases

CASES = 16
LOWEST, HIGHEST = 0.5, 2.2
"""The makespan in the search model over that of the replay: what docs/placement.md states."""


def ratio(seed: int) -> float:
    """The makespan of the search model over that of the replay, of a random model on a random chip."""
    random = Random(seed)
    soc, model, backends = (
        random_cases.chip(random),
        random_cases.model(random),
        random_cases.backends(random),
    )
    setting = Setting.of(soc, backends)
    grouping = Grouping(model=model, setting=setting, backends=backends)
    graph = with_runs(place(model, setting, backends), grouping)
    assert graph.facts is not None
    assert graph.run is not None
    return graph.facts.search_makespan / graph.run.makespan


@pytest.mark.slow
def test_the_search_model_is_near_the_replay() -> None:
    found = [ratio(seed) for seed in range(CASES)]
    assert min(found) > LOWEST
    assert max(found) < HIGHEST
    assert 0.9 < median(found) < 1.1


def searched_and_replayed(model: Model, soc: SoC) -> tuple[float, float]:
    grouping = Grouping(model=model, setting=chips.setting(soc), backends=chips.BACKENDS)
    graph = with_runs(place(model, chips.setting(soc), chips.BACKENDS), grouping)
    assert graph.facts is not None
    assert graph.run is not None
    return graph.facts.search_makespan, graph.run.makespan


def test_both_are_the_same_for_one_thing_after_the_other() -> None:
    """A chain on the host: nothing overlaps, nothing is approximated."""
    model = chips.model(("a", "other", ("x",), 64), ("b", "soft", ("a",), 64), inputs={"x": 64})
    searched, replayed = searched_and_replayed(model, chips.ALONE)
    assert searched == replayed
