"""Taking jobs out of a schedule and inserting them again where they cost least.

Without a job, the longest path to and from every other is known after one pass; the longest path through the
job follows at once for every machine and every place between two jobs there (Mastrolilli, Gambardella,
"Effective neighbourhood functions for the flexible job shop problem", J. Scheduling 3, 2000). Copies count as
delays here and wait for no channel: only a Scheduler finds the true result of an insertion.
"""

from collections.abc import Sequence
from random import Random

from target_arch.stages.placement.search.heft import optimistic
from target_arch.stages.placement.search.jobs import NEVER, Jobs, Way
from target_arch.stages.placement.search.list_scheduler import JobSchedule

_BLINK = 0.02
"""Share of places that an insertion overlooks, so that the same jobs do not always return to the same places
(Christiaens, Vanden Berghe, "Slack induction by string removals", Transportation Science 54, 2020).
"""

Delays = list[list[int]]
"""By the groups of producer and user: the least delay between end and start."""
Option = tuple[int, int, int]
"""Machine (-1: none), group, picoseconds."""
_NOBODY = -1
"""The job behind the last one of every machine; nothing follows it."""


class Delayed:
    """A problem whose copies are delays."""

    def __init__(self, jobs: Jobs) -> None:
        count = range(len(jobs.names))
        self.machines = len(jobs.machines)
        self.before: list[list[tuple[int, Delays]]] = [_before(jobs, job) for job in count]
        self.after: list[list[tuple[int, Delays]]] = [[] for _ in count]
        for job, pairs in enumerate(self.before):
            for other, delays in pairs:
                self.after[other].append((job, delays))
        self.times = [[0 if stay is None else stay.total for stay in row] for row in jobs.stays]
        self.tails = optimistic(jobs)
        self.options: list[list[Option]] = [
            [
                (machine, group, stay.total)
                for group, stay in enumerate(row)
                if stay is not None
                for machine in stay.machines or (-1,)
            ]
            for row in jobs.stays
        ]


def _before(jobs: Jobs, job: int) -> list[tuple[int, Delays]]:
    """The jobs that a job waits for, with delays. Early data, brought as soon as the others are begun,
    lengthens their delays.
    """
    ways: dict[int, list[tuple[tuple[Way | None, ...], ...]]] = {}
    for datum in jobs.needs[job]:
        ways.setdefault(jobs.data[datum].producer, []).append(jobs.data[datum].ways)
    groups = range(jobs.groups)
    early = [0] * len(groups)
    if len(ways) > 1 and jobs.early in ways:
        source = jobs.choices[jobs.early][0]
        early = [max(_long(table[source][group]) for table in ways[jobs.early]) for group in groups]
        del ways[jobs.early]
    found = []
    for other, tables in ways.items():
        delays = [[max(_long(table[one][two]) for table in tables) for two in groups] for one in groups]
        for one, stay in enumerate(jobs.stays[other]):
            if stay is not None:
                begun = 0 if one == jobs.host else stay.total
                delays[one] = [max(delays[one][two], early[two] - begun) for two in groups]
        found.append((other, delays))
    return found


def _long(way: Way | None) -> int:
    return NEVER if way is None else way.time


def to_ends(
    problem: Delayed, order: Sequence[int], groups: Sequence[int], machines: Sequence[int]
) -> list[int]:
    """The longest path to the end of every job in a topological order; far below zero for jobs not in it."""
    before, times = problem.before, problem.times
    free, ends = [0] * (problem.machines + 1), [-NEVER] * len(before)
    for job in order:
        group, machine = groups[job], machines[job]
        time = free[machine] if machine >= 0 else 0
        for other, delays in before[job]:
            here = ends[other] + delays[groups[other]][group]
            time = here if here > time else time
        ends[job] = free[machine] = time + times[job][group]
    return ends


def from_starts(
    problem: Delayed, order: Sequence[int], groups: Sequence[int], machines: Sequence[int]
) -> list[int]:
    """The same from the start of every job."""
    after, times = problem.after, problem.times
    free, rests = [0] * (problem.machines + 1), [-NEVER] * len(after)
    for job in reversed(order):
        group, machine = groups[job], machines[job]
        time = free[machine] if machine >= 0 else 0
        for other, delays in after[job]:
            here = rests[other] + delays[group][groups[other]]
            time = here if here > time else time
        rests[job] = free[machine] = time + times[job][group]
    return rests


class Partial:
    """A schedule without some jobs, which are inserted again one by one, producers first."""

    def __init__(self, problem: Delayed, full: JobSchedule, order: Sequence[int], gone: set[int]) -> None:
        self._problem = problem
        self.order = [job for job in order if job not in gone]
        self.missing = [job for job in order if job in gone]
        self.groups, self._machines = list(full.groups), list(full.machines)

    def insert(self, limit: int, random: Random, forced: int | None = None) -> tuple[bool, int]:
        """Insert all missing jobs, on the group `forced` where that is possible; and the number of
        insertions.

        False where the longest path becomes longer than the limit.
        """
        spent = 0
        for job in self.missing:
            spent += len(self.order)
            options = self._problem.options[job]
            if forced is not None:
                options = [option for option in options if option[1] == forced] or options
            if not self._measure(limit) or not self._best(job, options, limit, random):
                return False, spent
        return True, spent

    def _measure(self, limit: int) -> bool:
        """The longest paths to the end of every job and from its start; False above the limit."""
        self._ends = to_ends(self._problem, self.order, self.groups, self._machines)
        if max(self._ends) > limit:
            return False
        self._rests = [*from_starts(self._problem, self.order, self.groups, self._machines), 0]
        return True

    def _best(self, job: int, options: Sequence[Option], limit: int, random: Random) -> bool:
        """Insert a job where the longest path through it is shortest."""
        order, ends, rests, dice = self.order, self._ends, self._rests, random.random
        low, high = self._window(job)
        busy = self._by_machine()
        least, chosen = limit + 1, None
        for machine, group, time in options:
            ready, rest = self._ready(job, group), self._rest(job, group)
            if ready + time + rest >= least:
                continue
            end, place = 0, -1
            for next_place, following in busy[machine]:
                if next_place > low:
                    if place >= high:
                        break
                    path = (end if end > ready else ready) + time
                    after = rests[following]
                    path += after if after > rest else rest
                    if path < least and dice() >= _BLINK:
                        least, chosen = path, (max(low, place) + 1, machine, group)
                end, place = ends[following], next_place
        if chosen is None:
            return False
        order.insert(chosen[0], job)
        self._machines[job], self.groups[job] = chosen[1], chosen[2]
        return True

    def _window(self, job: int) -> tuple[int, int]:
        """The places of the last job it needs and of the first that needs it, through missing ones too."""
        problem = self._problem
        self._places = places = [-1] * len(problem.before)
        for place, other in enumerate(self.order):
            places[other] = place
        low = max((places[other] for other, _ in problem.before[job]), default=-1)
        high, seen = len(self.order), [job]
        for known in seen:
            for other, _ in problem.after[known]:
                place = places[other]
                if place < 0:
                    if other not in seen:
                        seen.append(other)
                elif place < high:
                    high = place
        return low, high

    def _by_machine(self) -> list[list[tuple[int, int]]]:
        """For every machine the places and jobs on it, and the end of the order with no job."""
        busy: list[list[tuple[int, int]]] = [[] for _ in range(self._problem.machines)]
        busy.append([])
        machines = self._machines
        for place, other in enumerate(self.order):
            busy[machines[other]].append((place, other))
        for jobs in busy:
            jobs.append((len(self.order), _NOBODY))
        return busy

    def _ready(self, job: int, group: int) -> int:
        ends, groups = self._ends, self.groups
        return max(
            (ends[other] + delays[groups[other]][group] for other, delays in self._problem.before[job]),
            default=0,
        )

    def _rest(self, job: int, group: int) -> int:
        """The least time that follows the job on a group, with every missing job at its best group."""
        rests, groups, places, longest = self._rests, self.groups, self._places, 0
        for other, delays in self._problem.after[job]:
            if places[other] < 0:
                rest = self._problem.tails[job][group]
            else:
                rest = rests[other] + delays[group][groups[other]]
            longest = max(longest, rest)
        return longest
