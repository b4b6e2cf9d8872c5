"""The division of a lowered model, where one makes its run shorter.

The search tries divisions by runs with stand-ins for kernels (`search`). The fastest of them are lowered, and
the simulated run of their steps decides; from the best of them, other shares of the operators that take
longest are lowered, too. Their memory plans are made quickly, until one is in the way of steps that could run
beside others; from then on, and for the best of them, the planner makes them that was asked for. What is not
faster than the model undivided, or does not fit, is left.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import inf
from operator import itemgetter

from attrs import evolve, frozen

from target_arch.plan.division import Division
from target_arch.plan.lowered import Lowered
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.search import GAIN, DivisionSearch, changed, tries
from target_arch.stages.division.shares import Divisible, divisible
from target_arch.stages.errors import DoesNotFitError, OrderError, PlacementError, StepError
from target_arch.stages.setting import Setting
from target_arch.stages.steps.overlap import FULL

LOWERED = 5
"""The most divisions of the search that are lowered."""
REFINED = 1_200
"""The most operators in all divisions together that are lowered afterwards."""

QUICK = "by-size"
"""The algorithm of memory plans of tries."""

LowerGraph = Callable[[PartitionGraph, Setting], Lowered]
"""Lowers a placed model. Raises DoesNotFitError where it does not fit."""


def divided_where_faster(undivided: Lowered, graphs: DividedGraphs, lower: LowerGraph) -> Lowered:
    """The lowering with the shortest run, which is the `undivided` one where no division is faster."""
    choice = _Choice(undivided, graphs, lower)
    return undivided if undivided.execution is None else choice.best()


@frozen(kw_only=True)
class _Tried:
    """A division that fits."""

    division: Division
    lowered: Lowered

    @property
    def makespan(self) -> float:
        return self.lowered.execution.makespan if self.lowered.execution is not None else 0.0

    @property
    def overlaps(self) -> bool:
        """Whether memory keeps no step from running beside others."""
        return self.lowered.execution is not None and self.lowered.execution.overlap == FULL


class _Choice:
    def __init__(self, undivided: Lowered, graphs: DividedGraphs, lower: LowerGraph) -> None:
        self._undivided, self._graphs, self._lower = undivided, graphs, lower
        setting = graphs.setting
        self._quick = evolve(setting, planner=evolve(setting.planner, algorithm=QUICK, effort=None))
        self._able = divisible(undivided.graph, setting.alignments, setting.soc)
        self._first = _Tried(division={}, lowered=undivided)
        self._seen: list[Division] = [{}]
        self._asks = tries(len(undivided.model.operators))

    def best(self) -> Lowered:
        """The lowering that the search ends with."""
        best = self._first
        for division in self._searched()[:LOWERED]:
            best = min(best, self._tried(division) or best, key=lambda each: each.makespan)
        best = self._refined(best)
        if best is self._first:
            return best.lowered
        if self._quick is not self._graphs.setting:
            planned = self._lowered(best.division, self._graphs.setting) or best
            best = min(planned, best, key=lambda each: each.makespan)
        return with_bound(best.lowered, self._undivided)

    def _searched(self) -> list[Division]:
        setting, count = self._graphs.setting, len(self._undivided.model.operators)
        if not self._able or not tries(count):
            return []
        before = self._graphs.seconds({})
        if before is None:
            return []
        return DivisionSearch(setting.soc, self._able, self._graphs.seconds, before, tries(count)).search()

    def _tried(self, division: Division) -> _Tried | None:
        """The division lowered; None where it does not fit, or was lowered before."""
        if division in self._seen:
            return None
        self._seen.append(division)
        found = self._lowered(division, self._quick)
        if self._quick is self._graphs.setting or (found is not None and found.overlaps):
            return found
        self._quick = self._graphs.setting
        return self._lowered(division, self._quick)

    def _lowered(self, division: Division, setting: Setting) -> _Tried | None:
        graph = self._graphs.graph(division)
        if graph is None:
            return None
        try:
            return _Tried(division=division, lowered=self._lower(graph, setting))
        except (DoesNotFitError, OrderError, PlacementError, StepError):
            return None

    def _refined(self, best: _Tried) -> _Tried:
        """The best of divisions with other shares of single operators, those that take longest first."""
        left = REFINED // max(len(best.lowered.model.operators), 1)
        ranked = sorted(self._able.values(), key=lambda each: -each.seconds[each.instance])
        for each in ranked:
            for division in self._changed(best.division, each):
                if left <= 0:
                    return best
                found, left = self._tried(division), left - 1
                if found is not None and found.makespan < best.makespan * (1 - GAIN):
                    best = found
        return best

    def _changed(self, division: Division, each: Divisible) -> Iterator[Division]:
        """The division with other shares of one operator. One that is whole gets those with which the run to
        expect is shorter.
        """
        others = changed(division, each, self._graphs.setting.soc)
        return others if each.operator.id in division else self._shorter(division, others)

    def _shorter(self, division: Division, others: Iterable[Division]) -> Iterator[Division]:
        """The other divisions with a shorter run to expect, the shortest first, as long as runs are
        left to ask for.
        """
        asked = [*islice(others, self._asks)]
        self._asks -= len(asked)
        before = self._graphs.seconds(division) if asked else None
        if before is not None:
            runs = [(self._graphs.seconds(other) or inf, other) for other in asked]
            worth = [each for each in runs if each[0] < before * (1 - GAIN)]
            yield from (other for _, other in sorted(worth, key=itemgetter(0)))


def with_bound(lowered: Lowered, undivided: Lowered) -> Lowered:
    """The lowering with the bound of any division that the whole operators have, and the undivided run."""
    run, before = lowered.execution, undivided.execution
    assert run is not None
    assert before is not None
    bound = min(run.division_bound, before.division_bound)
    execution = evolve(run, division_bound=bound, undivided=before.makespan)
    attempts = (*undivided.attempts, *lowered.attempts)
    return evolve(lowered, execution=execution, attempts=attempts, whole=undivided.graph)
