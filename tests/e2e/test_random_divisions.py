"""Random models on random chips, divided at random: the bytes of the reference, whatever the division."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from conformance.random_nets.campaign import GROUP, group
from target_arch.pipeline import planning
from target_arch.plan.division import Cut, Divide
from target_arch.plan.lowered import Lowered
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.shares import Divisible, divisible
from target_arch.stages.division.trials import LowerGraph
from target_arch.stages.errors import DoesNotFitError, PlacementError, StepError
from tests.slow import slow_except

NETS = 20
CHIPS = (0, 7, 11, 14, 20, 22)
"""The numbers of chips with several instances."""


class RandomDivision:
    """Takes the place of the choice of a division. Counts the models that it divided."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self.divided = 0

    def __call__(
        self, undivided: Lowered, graphs: DividedGraphs, lower: LowerGraph, *, exact: bool
    ) -> Lowered:
        assert not exact
        able = divisible(undivided.graph, graphs.setting.part_alignments, graphs.setting.soc)
        for _ in range(3):
            graph = graphs.graph(self._division(able))
            if graph is not None and graph.model.slices:
                try:
                    found = lower(graph, graphs.setting)
                except (DoesNotFitError, PlacementError, StepError):
                    continue
                self.divided += 1
                return found
        return undivided

    def _division(self, able: Mapping[str, Divisible]) -> dict[str, Cut]:
        found = {}
        for id, each in able.items():
            count = int(self._draw.integers(2, 5))
            names = [str(self._draw.choice(sorted(each.seconds))) for _ in range(count)]
            cut = each.cut(names, self._draw.uniform(0.2, 1.0, count).tolist())
            if cut is not None and self._draw.random() < 0.8:
                found[id] = cut
        return found


@pytest.mark.parametrize("number", slow_except((), CHIPS, by_hand=CHIPS[1:]))
def test_every_division_keeps_the_results(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = RandomDivision(number)
    monkeypatch.setattr(planning, "divided_where_faster", choice)
    monkeypatch.setattr(planning, "fastest", lambda undivided, ways: ways[0])
    first = (9_000 + number) * GROUP
    found = group(range(first, first + NETS), tmp_path, Divide.AUTO)
    assert not found.wrong
    assert {"wrong-slice", "wrong-join"}.isdisjoint(found.refused.values())
    assert choice.divided
