"""The placement with the least energy, of those whose run is short enough.

Without a limit every job goes where it takes least. With one, weighing time against energy gives placements
from the cheapest to the fastest; a local search goes on from the best of them that is in time. Whole
femtojoules and picoseconds, and moves that are counted: every machine finds the same.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from random import Random

from attrs import field, frozen

from target_arch.stages.placement.search.found import Found, Reached
from target_arch.stages.placement.search.jobs import NEVER, Jobs, Stay
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler

EFFORT = 1_200_000
"""Jobs that are scheduled, all tries together."""
_TRIES_PER_JOB = 400
"""Changes that are tried, for each job that can move: small problems need less."""
_LOSS = 0.2
"""The largest loss that a change may bring at first, as a part of the energy."""
_LATE = 10.0
"""How much more a part of the limit counts that is exceeded than that part of the energy."""
_TOGETHER = 7
"""Fewer jobs than that change together."""
_NEIGHBOURS = 0.5
"""Share of changes that are of jobs that follow each other."""
_STEPS = 48
"""Halvings of the range of weights."""
_ONE = 2**20
"""A weight of one femtojoule per picosecond, in whole numbers."""
_HEAVIEST = _ONE * 2**24


@frozen(kw_only=True)
class EnergyProblem:
    """Jobs with the femtojoules of each on every group, None where it cannot go there; and the picoseconds
    that a run may take in the search model, None without a limit.
    """

    jobs: Jobs = field(repr=False)
    energies: tuple[tuple[int | None, ...], ...] = field(repr=False)
    limit: int | None = None

    def energy(self, groups: Sequence[int]) -> int:
        """The femtojoules of all jobs."""
        return sum(self.energies[job][group] or 0 for job, group in enumerate(groups))


def metered(jobs: Jobs, energies: Sequence[Sequence[int | None]]) -> tuple[tuple[int | None, ...], ...]:
    """The energies by job and group that a search goes by. Where one group states the energy of a job, groups
    that do not are no place for it; where none does, the job counts for nothing.
    """
    rows: list[tuple[int | None, ...]] = []
    for stays, row in zip(jobs.stays, energies, strict=True):
        able = [group for group, stay in enumerate(stays) if stay is not None]
        known = any(row[group] is not None for group in able)
        rows.append(
            tuple(None if stay is None else row[group] if known else 0 for group, stay in enumerate(stays))
        )
    return tuple(rows)


def for_energy(scheduler: ListScheduler, problem: EnergyProblem, start: Found, within: int | None) -> Found:
    """The placement of least energy that was found, in time if any is. `start` is that of a short run,
    `within` the picoseconds of a run for which the bound holds: the limit itself, not that of the search
    model.
    """
    search = _Search(scheduler, problem, start.schedule)
    best = search.best()
    value = problem.energy(best.groups)
    bound = min(value, energy_bound(problem, within))
    return Found(
        schedule=best,
        bound=min(start.bound, best.makespan),
        method=f"{start.method}, then a search for the least energy",
        reached=Reached(value=value, bound=bound),
    )


def energy_bound(problem: EnergyProblem, within: int | None) -> int:
    """The femtojoules that no run within the limit goes below, by the times of computing alone.

    Jobs of the longest path follow each other: together they take no longer than the limit. A weight on their
    time gives a bound (Lagrange); it holds whatever the weight.
    """
    options = [
        [
            (energy, stay.time)
            for energy, stay in zip(row, stays, strict=True)
            if energy is not None and stay is not None
        ]
        for row, stays in zip(problem.energies, problem.jobs.stays, strict=True)
    ]
    path = set(_longest(problem.jobs))
    free = sum(min(energy for energy, _ in row) for row in options)
    if within is None:
        return free
    limit = within
    others = sum(min(energy for energy, _ in row) for job, row in enumerate(options) if job not in path)

    def bounded(weight: int) -> tuple[int, int]:
        """The bound with a weight, and the time that the cheapest jobs take with it."""
        cheapest = [min((e * _ONE + weight * t, t) for e, t in options[job]) for job in path]
        total = sum(cost for cost, _ in cheapest) - weight * limit
        return others + total // _ONE, sum(time for _, time in cheapest)

    low, high, best = 0, _HEAVIEST, free
    for _ in range(_STEPS):
        middle = (low + high) // 2
        value, time = bounded(middle)
        best = max(best, value)
        if time > limit:
            low = middle + 1
        else:
            high = middle
        if low >= high:
            break
    return max(best, bounded(low)[0])


def _longest(jobs: Jobs) -> Iterator[int]:
    """The jobs of the longest path by the least times of computing, from the last to the first."""
    ends, cause = [0] * len(jobs.stays), [-1] * len(jobs.stays)
    for job, stays in enumerate(jobs.stays):
        for datum in jobs.needs[job]:
            maker = jobs.data[datum].producer
            if cause[job] < 0 or ends[maker] > ends[cause[job]]:
                cause[job] = maker
        ready = ends[cause[job]] if cause[job] >= 0 else 0
        ends[job] = ready + min((stay.time for stay in stays if stay is not None), default=0)
    job = max(range(len(ends)), key=ends.__getitem__, default=-1)
    while job >= 0:
        yield job
        job = cause[job]


class _Search:
    """Placements by what they exceed the limit by, their energy, and their time."""

    def __init__(self, scheduler: ListScheduler, problem: EnergyProblem, start: JobSchedule) -> None:
        self._scheduler, self._problem, self._start = scheduler, problem, start
        self._order = start.by_start()
        self._limit = NEVER if problem.limit is None else problem.limit
        self._able = [[group for group, e in enumerate(row) if e is not None] for row in problem.energies]
        self._movable = [job for job, groups in enumerate(self._able) if len(groups) > 1]

    def best(self) -> JobSchedule:
        """The best placement met."""
        best = self._start
        for groups in self._weighed():
            schedule = self._scheduler.run(self._order, groups)
            if schedule is not None and self._rank(schedule) < self._rank(best):
                best = schedule
        least = sum(min(e for e in row if e is not None) for row in self._problem.energies)
        if best.makespan <= self._limit and self._problem.energy(best.groups) == least:
            return best
        return self._improved(best)

    def _rank(self, schedule: JobSchedule) -> tuple[int, int, int]:
        over = max(0, schedule.makespan - self._limit)
        return over, self._problem.energy(schedule.groups), schedule.makespan

    def _weighed(self) -> Iterator[list[int]]:
        """The groups where energy and weighted time of every job are least, by several weights."""
        stays = self._problem.jobs.stays
        for weight in (0, *(_HEAVIEST >> shift for shift in range(_STEPS, -1, -1))):
            groups = list(self._start.groups)
            for job in self._movable:
                row = self._problem.energies[job]
                groups[job] = min(
                    self._able[job], key=lambda g: ((row[g] or 0) * _ONE + weight * _total(stays[job][g]), g)
                )
            yield groups

    def _improved(self, best: JobSchedule) -> JobSchedule:
        """The best of all placements where these are few, else after random changes of a few jobs."""
        count = len(self._problem.jobs.names)
        tries = min(_TRIES_PER_JOB * len(self._movable), EFFORT // max(1, count))
        if prod(len(self._able[job]) for job in self._movable) <= tries:
            return self._of_all(best)
        random = Random(len(self._movable)).random
        rank, groups = self._rank(best), list(best.groups)
        value = self._value(best)
        for spent in range(tries):
            changed = list(groups)
            for job in self._some(random):
                changed[job] = self._able[job][int(random() * len(self._able[job]))]
            schedule = self._scheduler.run(self._order, changed) if changed != groups else None
            if schedule is None:
                continue
            then, cooled = self._value(schedule), (1 - spent / tries) ** 2
            if then > value * (1 + _LOSS * cooled * random() ** 3):
                continue
            value, groups = then, changed
            if self._rank(schedule) < rank:
                best, rank = schedule, self._rank(schedule)
        return best

    def _of_all(self, best: JobSchedule) -> JobSchedule:
        groups = list(best.groups)
        for choice in product(*(self._able[job] for job in self._movable)):
            for job, group in zip(self._movable, choice, strict=True):
                groups[job] = group
            schedule = self._scheduler.run(self._order, groups)
            if schedule is not None and self._rank(schedule) < self._rank(best):
                best = schedule
        return best

    def _value(self, schedule: JobSchedule) -> float:
        """The energy, and more the further the schedule is from being in time."""
        over = max(0, schedule.makespan - self._limit) / max(1, self._limit)
        return (self._problem.energy(schedule.groups) + 1) * (1 + _LATE * over)

    def _some(self, random: Callable[[], float]) -> list[int]:
        """Jobs that are changed together: neighbours in the order, or any."""
        count = 1 + int(random() * random() * _TOGETHER)
        place = int(random() * len(self._movable))
        if random() < _NEIGHBOURS:
            return self._movable[place : place + count]
        return [self._movable[int(random() * len(self._movable))] for _ in range(count)]


def _total(stay: Stay | None) -> int:
    """Picoseconds of a stay; 0 where there is none."""
    return 0 if stay is None else stay.total
