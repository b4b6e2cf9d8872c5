"""A lower bound of the period of every assignment: by weights of the resources.

Whatever is assigned, the busiest resource has no less to do than the weighted mean of all. For given weights
the least mean is known for a forest: each job is followed by at most one user of its data, whose copy counts,
as does that of data whose maker has but one place; copies for other users count as free. The weights with
which the bound is the largest are those of a linear program of assignments, whose columns the simplex method
asks for (Dantzig, Wolfe, "Decomposition principle for linear programs", Operations Research 8, 1960). The
bound is computed from them in whole numbers: it holds whatever the weights are.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from target_arch.stages.placement.search.assignment import AssignmentProblem, Flow, Work
from target_arch.stages.placement.search.dual_weights import Numbers, dual_weights

EFFORT = 4_000_000
"""Pairs of spots that are looked at for all columns together."""
_PIVOTS = 400
_WHOLE = 2**24
"""The largest weight in whole numbers."""


def period_bound(problem: AssignmentProblem) -> int:
    """The period that no assignment goes below, rooms left aside."""
    forest = _Forest(problem)
    timed = problem.timed
    if not timed:
        return 0
    widths = [problem.widths[number] for number in timed]
    _, first = forest.least([1] * len(problem.widths))
    scale = float(sum(first)) or 1.0

    def column(prices: Numbers) -> Numbers:
        weights = [0.0] * len(problem.widths)
        for number, width, price in zip(timed, widths, prices.tolist(), strict=True):
            weights[number] = price / width
        _, work = forest.least(weights)
        return np.array([work[n] / (width * scale) for n, width in zip(timed, widths, strict=True)])

    pivots = max(len(timed), min(_PIVOTS, EFFORT // max(1, forest.pairs)))
    shares = dual_weights(len(timed), column, pivots)
    weights = [0] * len(problem.widths)
    for number, width, share in zip(timed, widths, (shares / max(shares)).tolist(), strict=True):
        weights[number] = round(share * _WHOLE / width)
    least, _ = forest.least(weights)
    offered = sum(weights[number] * width for number, width in zip(timed, widths, strict=True))
    return -(-int(least) // offered) if offered else 0


class _Forest:
    """Each job with the one user whose copies count."""

    def __init__(self, problem: AssignmentProblem) -> None:
        self._problem = problem
        self._child: list[list[tuple[int, Flow]]] = [[] for _ in problem.spots]
        """By user, the producers before it."""
        self._brought: list[list[Flow]] = [[] for _ in problem.spots]
        """By user, the flows whose producers have but one place."""
        for flow in problem.flows:
            if len(problem.spots[flow.producer]) == 1:
                self._brought[flow.users[0]].append(flow)
        self._parent = [-1] * len(problem.spots)
        for number, flow in self._edges():
            self._parent[flow.producer] = number
            self._child[number].append((flow.producer, flow))
        self._order = list(self._leaves_first())
        self.pairs = sum(
            len(problem.spots[job]) * (1 + sum(len(problem.spots[child]) for child, _ in children))
            for job, children in enumerate(self._child)
        )

    def _edges(self) -> Iterator[tuple[int, Flow]]:
        """A user for every other job that has one, from a flow with much to copy, without a cycle."""
        problem, root = self._problem, list(range(len(self._problem.spots)))

        def top(job: int) -> int:
            while root[job] != job:
                root[job] = root[root[job]]
                job = root[job]
            return job

        taken = {job for job, spots in enumerate(problem.spots) if len(spots) == 1}
        flows = sorted(enumerate(problem.flows), key=lambda pair: (-_size(pair[1]), pair[0]))
        for _, flow in flows:
            for user in flow.users:
                one, other = top(flow.producer), top(user)
                if flow.producer not in taken and one != other:
                    root[one] = other
                    taken.add(flow.producer)
                    yield user, flow
                    break

    def _leaves_first(self) -> Iterator[int]:
        left = [len(children) for children in self._child]
        ready = [job for job, count in enumerate(left) if not count]
        while ready:
            job = ready.pop()
            yield job
            parent = self._parent[job]
            if parent >= 0:
                left[parent] -= 1
                if not left[parent]:
                    ready.append(parent)

    def least(self, weights: Sequence[float]) -> tuple[float, list[int]]:
        """The least weighted work of an assignment of the forest, and its work by resource."""
        problem = self._problem
        costs: list[list[float]] = [[] for _ in problem.spots]
        best: list[list[dict[int, int]]] = [[] for _ in problem.spots]
        for job in self._order:
            for spot in problem.spots[job]:
                cost, chosen = _priced(spot.work, weights), dict[int, int]()
                for flow in self._brought[job]:
                    cost += _copying(flow, problem.spots[flow.producer][0].group, spot.group, weights)
                for child, flow in self._child[job]:
                    extra, chosen[child] = self._cheapest(child, flow, spot.group, costs[child], weights)
                    cost += extra
                costs[job].append(cost)
                best[job].append(chosen)
        total, work = weights[0] * 0, [0] * len(problem.widths)
        for job in self._order:
            if self._parent[job] < 0:
                cheapest = min(range(len(costs[job])), key=costs[job].__getitem__)
                total += costs[job][cheapest]
                self._collect(job, cheapest, best, work)
        return total, work

    def _cheapest(
        self, child: int, flow: Flow, group: int, costs: Sequence[float], weights: Sequence[float]
    ) -> tuple[float, int]:
        """The spot of a producer that is cheapest together with the copies to a group, and that cost."""
        every = (
            (cost + _copying(flow, spot.group, group, weights), number)
            for number, (cost, spot) in enumerate(zip(costs, self._problem.spots[child], strict=True))
        )
        return min(every)

    def _collect(self, job: int, spot: int, best: list[list[dict[int, int]]], work: list[int]) -> None:
        """Add up the work of a tree of the chosen assignment."""
        spots, open_ = self._problem.spots, [(job, spot)]
        while open_:
            job, spot = open_.pop()
            _add(work, spots[job][spot].work)
            for flow in self._brought[job]:
                self._copy(flow, 0, spots[job][spot].group, work)
            for child, flow in self._child[job]:
                there = best[job][spot][child]
                self._copy(flow, there, spots[job][spot].group, work)
                open_.append((child, there))

    def _copy(self, flow: Flow, spot: int, group: int, work: list[int]) -> None:
        """Add up the copies of a flow to a group, its producer at a spot."""
        copies = flow.spread.copies[self._problem.spots[flow.producer][spot].group][group]
        for copy in copies or ():
            _add(work, flow.spread.work[copy])


def _copying(flow: Flow, source: int, target: int, weights: Sequence[float]) -> float:
    """The weighted work of the copies between two groups; infinite where no way leads."""
    copies = flow.spread.copies[source][target]
    if copies is None:
        return float("inf")
    return sum([_priced(flow.spread.work[copy], weights) for copy in copies])


def _size(flow: Flow) -> int:
    return max((time for work in flow.spread.work for _, time in work), default=0)


def _priced(work: Work, weights: Sequence[float]) -> float:
    return sum([weights[resource] * time for resource, time in work])


def _add(total: list[int], work: Work) -> None:
    for resource, time in work:
        total[resource] += time
