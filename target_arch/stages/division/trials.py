"""Divisions lowered one after the other, each once.

Their memory plans are made quickly, until one is in the way of steps that could run beside others; from then
on the planner makes them that was asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from operator import itemgetter

from attrs import evolve, frozen

from target_arch.plan.division import Division
from target_arch.plan.lowered import Lowered
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.neighbours import suited
from target_arch.stages.division.search import GAIN, changed, tries
from target_arch.stages.division.shares import Divisible
from target_arch.stages.errors import NOT_LOWERED
from target_arch.stages.setting import Setting
from target_arch.stages.steps.overlap import FULL

REFINED = 1_200
"""The most operators in all divisions together that are lowered from the best one."""

QUICK = "by-size"
"""The algorithm of memory plans of tries."""

LowerGraph = Callable[[PartitionGraph, Setting], Lowered]
"""Lowers a placed model. Raises DoesNotFitError where it does not fit."""


@frozen(kw_only=True)
class Tried:
    """A division that fits."""

    division: Division
    lowered: Lowered

    @property
    def makespan(self) -> float:
        """The seconds of its simulated run."""
        return self.lowered.makespan

    @property
    def overlaps(self) -> bool:
        """Whether memory keeps no step from running beside others."""
        return self.lowered.execution is not None and self.lowered.execution.overlap == FULL


class DivisionTrials:
    """Lowers divisions of a placed model into shares of the operators that are `able`."""

    def __init__(self, graphs: DividedGraphs, able: Mapping[str, Divisible], lower: LowerGraph) -> None:
        self._graphs, self._lower = graphs, lower
        setting = graphs.setting
        self._quick = evolve(setting, planner=evolve(setting.planner, algorithm=QUICK, effort=None))
        self._able = able
        self._seen: list[Division] = [{}]
        self._asks = tries(len(graphs.base.model.operators))

    def tried(self, division: Division) -> Tried | None:
        """The division lowered; None where it does not fit, or was lowered before."""
        if division in self._seen:
            return None
        self._seen.append(division)
        found = self._lowered(division, self._quick)
        if self._quick is self._graphs.setting or (found is not None and found.overlaps):
            return found
        self._quick = self._graphs.setting
        return self._lowered(division, self._quick)

    def planned(self, best: Tried) -> Tried:
        """The best division with the memory plan that was asked for, unless its run is slower then."""
        if self._quick is self._graphs.setting:
            return best
        planned = self._lowered(best.division, self._graphs.setting) or best
        return min(planned, best, key=lambda each: each.makespan)

    def refined(self, best: Tried) -> Tried:
        """The best of divisions with other shares of single operators, those that take longest first."""
        left = REFINED // max(len(best.lowered.model.operators), 1)
        ranked = sorted(self._able.values(), key=lambda each: -each.seconds[each.instance])
        for each in ranked:
            for division in self._changed(best.division, each):
                if left <= 0:
                    return best
                found, left = self.tried(division), left - 1
                if found is not None and found.makespan < best.makespan * (1 - GAIN):
                    best = found
        return best

    def suited(self, best: Tried) -> Tried:
        """The best division with cuts that suit neighbours, where cores wait for lines of each other's caches
        and its run is shorter then.
        """
        graphs = self._graphs
        before = graphs.seconds(best.division) if graphs.line and best.division else None
        if before is None:
            return best
        division = suited(best.division, graphs.base.model, self._able, before, graphs.seconds)
        found = self.tried(division) if division != best.division else None
        return min(best, found or best, key=lambda each: each.makespan)

    def _lowered(self, division: Division, setting: Setting) -> Tried | None:
        graph = self._graphs.graph(division)
        if graph is None:
            return None
        try:
            return Tried(division=division, lowered=self._lower(graph, setting))
        except NOT_LOWERED:
            return None

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
