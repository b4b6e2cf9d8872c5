"""Local search over assignments: jobs move so that the busiest resource has less to do.

Threshold accepting (Dueck, Scheuer, J. Comput. Phys. 90, 1990) over a sum of high powers of what resources
have to do, in which the busiest one counts most and the next ones lead the way. A move takes a job, or
connected jobs of one machine, to another machine, or exchanges two jobs. Random choices come from one seeded
generator, thresholds from products alone, and the effort is counted in moves, so that every machine finds the
same.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from random import Random

from target_arch.soc.rounding import ceil_div
from target_arch.stages.placement.search.assignment import AssignmentProblem

EFFORT = 200_000
"""Moves that are tried, all starts together."""
EFFORT_PER_JOB = 1_500
"""The same, for each job that can move: small problems need less."""
FEW = 20_000
"""So many assignments are looked at one by one."""
LARGE = 20_000
"""From so many jobs on, moves would be too few to find anything."""

_LOSSES = (0.4, 0.05)
"""The largest loss that a move may bring at first, as a part of the value: of one search after the other,
each from the best so far.
"""
_CLUSTERS = 0.5
"""Share of moves that take several connected jobs."""
_CLUSTER = 12
"""Jobs that move together, at most."""
_SWAPS = 0.2
"""Share of the other moves that exchange two jobs."""
_EXCEEDED = 4.0
"""How much more a room counts that is exceeded than a resource that is as busy."""


def balanced(
    problem: AssignmentProblem, starts: Iterable[Sequence[int]], bound: int, part: float = 1.0
) -> tuple[int, ...] | None:
    """The assignment of the least period that was found, never worse than any start; None where no start is
    possible and no room suffices. Stops at the bound, or when this part of the usual effort is spent; of few
    assignments it is the best.
    """
    known = [tuple(start) for start in starts if problem.work(start) is not None]
    if not known:
        return None
    best = min(known, key=lambda choice: Balance(problem, choice).rank)
    movable = [job for job, spots in enumerate(problem.spots) if len(spots) > 1]
    if movable and len(problem.spots) <= LARGE:
        effort = int(part * min(EFFORT, EFFORT_PER_JOB * len(movable)))
        if prod(len(problem.spots[job]) for job in movable) <= FEW:
            return _of_all(problem)
        search = _Search(problem, movable, bound)
        for loss in _LOSSES:
            best = search.improved(best, effort // len(_LOSSES), loss)
    work = problem.work(best)
    return best if work is not None and problem.fits(work) else None


def _of_all(problem: AssignmentProblem) -> tuple[int, ...] | None:
    """The best of all assignments; None where none is possible with the rooms kept."""
    ranked = (
        (problem.period(work), sum(work), choice)
        for choice in product(*(range(len(spots)) for spots in problem.spots))
        if (work := problem.work(choice)) is not None and problem.fits(work)
    )
    best = min(ranked, default=None)
    return None if best is None else best[2]


class Balance:
    """An assignment with what it makes resources do; changes are tried and taken back."""

    def __init__(self, problem: AssignmentProblem, choice: Sequence[int]) -> None:
        self.problem = problem
        self.choice = list(choice)
        work = problem.work(choice)
        assert work is not None
        self.work = work
        self._copies = [problem.copied(flow, choice) or set() for flow in problem.flows]

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Rooms exceeded, period, and all work: less is better."""
        problem = self.problem
        return not problem.fits(self.work), problem.period(self.work), sum(self.work)

    def busy(self, resource: int) -> int:
        """The time in which a resource has done its part."""
        return ceil_div(self.work[resource], self.problem.widths[resource])

    def value(self, scale: float) -> float:
        """The sum of the sixteenth powers of what resources do, in parts of `scale`."""
        problem, total = self.problem, 0.0
        for number, width in enumerate(problem.widths):
            most = problem.most.get(number)
            if most is None:
                part = self.work[number] / (scale * width)
            else:
                part = _EXCEEDED * self.work[number] / max(most, 1) if self.work[number] > most else 0.0
            part *= part
            part *= part
            part *= part
            total += part * part
        return total

    def move(self, changes: Sequence[tuple[int, int]]) -> bool:
        """Give jobs other spots; False, and nothing changed, where no way leads there."""
        problem, choice = self.problem, self.choice
        before = [(job, choice[job]) for job, _ in changes]
        for job, spot in changes:
            choice[job] = spot
        flows = dict.fromkeys(flow for job, _ in changes for flow in problem.touched[job])
        copied = [(flow, problem.copied(problem.flows[flow], choice)) for flow in flows]
        if any(copies is None for _, copies in copied):
            for job, spot in before:
                choice[job] = spot
            return False
        for (job, old), (_, new) in zip(before, changes, strict=True):
            self._count(problem.spots[job][old].work, -1)
            self._count(problem.spots[job][new].work, 1)
        for flow, copies in copied:
            assert copies is not None
            spread, gone = problem.flows[flow].spread, self._copies[flow]
            for copy in gone - copies:
                self._count(spread.work[copy], -1)
            for copy in copies - gone:
                self._count(spread.work[copy], 1)
            self._copies[flow] = copies
        return True

    def _count(self, work: Iterable[tuple[int, int]], sign: int) -> None:
        for resource, time in work:
            self.work[resource] += sign * time


class _Search:
    def __init__(self, problem: AssignmentProblem, movable: list[int], bound: int) -> None:
        self._problem, self._movable, self._bound = problem, movable, bound
        self._generator = Random(len(movable))
        self._random = self._generator.random
        self._near = [
            sorted(
                {
                    other
                    for flow in flows
                    for other in (problem.flows[flow].producer, *problem.flows[flow].users)
                    if other != job
                }
            )
            for job, flows in enumerate(problem.touched)
        ]
        self._by_machine = [
            {(spot.machine, spot.group): number for number, spot in enumerate(spots)}
            for spots in problem.spots
        ]

    def improved(self, start: tuple[int, ...], effort: int, loss: float) -> tuple[int, ...]:
        """The best assignment met."""
        now, best = Balance(self._problem, start), start
        rank = now.rank
        scale = float(max(rank[1], 1))
        value = now.value(scale)
        for spent in range(effort):
            if not rank[0] and rank[1] <= self._bound:
                break
            changes = self._move(now)
            if changes is None:
                continue
            back = [(job, now.choice[job]) for job, _ in changes]
            if not now.move(changes):
                continue
            then, cooled = now.value(scale), (1 - spent / effort) ** 2
            if then > value * (1 + loss * cooled * self._random() ** 3) ** 16:
                now.move(back)
                continue
            value = then
            if now.rank < rank:
                rank, best = now.rank, tuple(now.choice)
        return best

    def _move(self, now: Balance) -> list[tuple[int, int]] | None:
        """Jobs and the spots that they would get."""
        random, movable = self._random, self._movable
        job = movable[int(random() * len(movable))]
        spots = self._problem.spots[job]
        number = int(random() * len(spots))
        if number == now.choice[job]:
            return None
        target = (spots[number].machine, spots[number].group)
        if random() < _CLUSTERS:
            jobs = self._cluster(now, job, 1 + int(random() * random() * _CLUSTER))
            return [
                (each, self._by_machine[each][target]) for each in jobs if target in self._by_machine[each]
            ]
        if random() >= _SWAPS:
            return [(job, number)]
        own = self._at(now, job)
        other = movable[int(random() * len(movable))]
        if self._at(now, other) != target or own not in self._by_machine[other]:
            return [(job, number)]
        return [(job, number), (other, self._by_machine[other][own])]

    def _at(self, now: Balance, job: int) -> tuple[int, int]:
        spot = self._problem.spots[job][now.choice[job]]
        return spot.machine, spot.group

    def _cluster(self, now: Balance, job: int, count: int) -> list[int]:
        """Jobs connected with the job and on its machine, it first."""
        random, own, jobs, edge = self._random, self._at(now, job), [job], [job]
        while len(jobs) < count and edge:
            base = edge[int(random() * len(edge))]
            near = [other for other in self._near[base] if other not in jobs and self._at(now, other) == own]
            if near:
                jobs.append(near[int(random() * len(near))])
                edge.append(jobs[-1])
            else:
                edge.remove(base)
        return jobs
