"""Local search over schedules: jobs are taken out and inserted again where they cost least.

Ruin and recreate (Schrimpf et al., J. Comput. Phys. 159, 2000) with threshold accepting (Dueck, Scheuer, J.
Comput. Phys. 90, 1990): a change is kept where it loses no more than a threshold, drawn again each time, that
shrinks to nothing. Changes begin at a job the makespan hangs on, most of the time: they take connected jobs
out, or jobs that run at about the same time, or move connected jobs as they are. Random choices come from one
seeded generator, thresholds from products alone, and the effort is counted in scheduled jobs, so that every
machine finds the same.
"""

from random import Random

from target_arch.stages.placement.search.insertion import Delayed, Partial
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.tabu import SMALL, Tabu

EFFORT = 7_000_000
"""Jobs that may be scheduled, all tries together."""
EFFORT_PER_PAIR = 2_800
"""The same, for each pair of jobs: small problems need less."""
EFFORT_BY_JOBS = 400_000_000
"""The same times jobs: in large problems the share of changes that gain is too small to pay for many."""
_LOSS = 0.3
"""The largest loss that a change may bring at first, as a part of the makespan."""
_DEARER = 0.25
"""Jobs scheduled in threshold accepting for each place that the tabu search would see."""
_KICKS = 4
"""Changes in a row between two searches."""
_CRITICAL = 0.6
"""Share of changes that begin at a job the makespan hangs on."""
_MOVED = 0.7
"""Share of changes that move a cluster, jobs connected on one group, to another group as it is."""
_CLUSTER = 24
"""Jobs of a cluster that are moved together, at most."""
_FORCED = 0.4
"""Share of the other changes that insert all jobs on one group."""
_CONNECTED = 0.6
"""Share of the other changes that take out connected jobs; the rest takes jobs of about the same time."""
_JOBS = 8
"""Jobs that are taken out together, at most."""


def improve(scheduler: ListScheduler, start: JobSchedule, bound: int, part: float = 1.0) -> JobSchedule:
    """A schedule that is no worse than the one given; stops at the bound, or when this part of the usual
    effort is spent.
    """
    jobs = scheduler.jobs
    movable = [
        job for job, stays in enumerate(jobs.stays) if any(s is not None and s.machines for s in stays)
    ]
    if not movable or start.makespan <= bound:
        return start
    count, random, problem = len(movable), Random(len(movable)), Delayed(jobs)
    share = int(part * min(EFFORT, EFFORT_PER_PAIR * count**2, EFFORT_BY_JOBS // count))
    change = _Change(problem, movable, random)

    def kick(schedule: JobSchedule) -> tuple[JobSchedule, int]:
        return _kicked(scheduler, change, schedule)

    if not jobs.contended:
        # Of few jobs more moves still gain.
        share += share * count // 100 if count <= SMALL else 0
        return Tabu(problem, scheduler, random).search(start, bound, share, kick)
    best = _accepting(scheduler, change, start, bound, int(share * _DEARER))
    return Tabu(problem, scheduler, random).search(best, bound, share // 2, kick)


def _accepting(
    scheduler: ListScheduler, change: "_Change", start: JobSchedule, bound: int, effort: int
) -> JobSchedule:
    """Threshold accepting: every change is simulated, waits for channels included."""
    random, spent = change.generator.random, 0
    best = now = start
    change.accept(now)
    while spent < effort and best.makespan > bound:
        cooled = (1 - spent / effort) ** 2
        limit = now.makespan + int(now.makespan * _LOSS * cooled * random() ** 3)
        found, count = change.neighbour(limit)
        spent += count
        if found is None:
            continue
        then, count = scheduler.within(limit, change.tails, *found)
        spent += count
        if then is not None and then.makespan <= limit:
            now = then
            change.accept(now)
            best = min(best, then, key=lambda schedule: schedule.cost)
    return best


def _kicked(scheduler: ListScheduler, change: "_Change", now: JobSchedule) -> tuple[JobSchedule, int]:
    """A schedule after some changes in a row, and how many jobs were looked at for it."""
    limit, spent = int(now.makespan * (1 + _LOSS)), 0
    for _ in range(_KICKS):
        change.accept(now)
        found, count = change.neighbour(limit)
        spent += count
        if found is not None:
            then, count = scheduler.within(limit, change.tails, *found)
            spent += count
            now = then or now
    return now, spent


def critical_jobs(schedule: JobSchedule) -> list[int]:
    """The jobs that the makespan hangs on, from the last to the first."""
    job = max(schedule.order, key=lambda each: (schedule.ends[each], -each))
    found = []
    while job >= 0:
        found.append(job)
        job = schedule.causes[job]
    return found


class _Change:
    """Random changes of one schedule, and of the next that is accepted."""

    def __init__(self, problem: Delayed, movable: list[int], random: Random) -> None:
        self._problem, self._movable, self.generator = problem, movable, random
        self._random, self.tails = random.random, problem.tails
        self._can = frozenset(movable)
        self._choices = [sorted({group for _, group, _ in options}) for options in problem.options]
        self._near = [
            [other for other, _ in (*before, *after) if other in self._can]
            for before, after in zip(problem.before, problem.after, strict=True)
        ]

    def accept(self, now: JobSchedule) -> None:
        """Change this one from now on."""
        self._now, self._order = now, list(now.by_start())
        self._critical = [job for job in critical_jobs(now) if job in self._can]

    def neighbour(self, limit: int) -> tuple[tuple[list[int], list[int]] | None, int]:
        """The order and the groups after one change, None where it changes nothing or is sure to end above
        the limit; and how many jobs were looked at for it.
        """
        random = self._random
        if random() < _MOVED:
            return self._moved(), 1
        gone = self._connected() if random() < _CONNECTED else self._at_once()
        partial = Partial(self._problem, self._now, self._order, gone)
        forced = None
        if random() < _FORCED:
            forced = int(random() * len(self._problem.times[0]))
        fits, spent = partial.insert(limit, self.generator, forced)
        same = partial.groups == list(self._now.groups) and partial.order == self._order
        return (None if same or not fits else (partial.order, partial.groups)), spent

    def _moved(self) -> tuple[list[int], list[int]] | None:
        """A cluster on another group, the order unchanged."""
        random, job = self._random, self._any()
        groups = list(self._now.groups)
        group = self._choices[job][int(random() * len(self._choices[job]))]
        if group == groups[job]:
            return None
        for each in self._cluster(job, 1 + int(random() * random() * _CLUSTER)):
            if group in self._choices[each]:
                groups[each] = group
        return self._order, groups

    def _any(self) -> int:
        random, jobs = self._random, self._movable
        if self._critical and random() < _CRITICAL:
            jobs = self._critical
        return jobs[int(random() * len(jobs))]

    def _cluster(self, job: int, count: int) -> set[int]:
        """Jobs connected with the job and on its group."""
        random, groups, found, open = self._random, self._now.groups, {job}, [job]
        while len(found) < count and open:
            base = open[int(random() * len(open))]
            near = [
                other for other in self._near[base] if other not in found and groups[other] == groups[job]
            ]
            if near:
                open.append(near[int(random() * len(near))])
                found.add(open[-1])
            else:
                open.remove(base)
        return found

    def _connected(self) -> set[int]:
        random, found = self._random, [self._any()]
        count = 1 + int(random() * random() * _JOBS)
        while len(found) < count:
            near = self._near[found[int(random() * len(found))]]
            other = near[int(random() * len(near))] if near else found[0]
            if other not in found:
                found.append(other)
            elif random() < 0.3:
                break
        return set(found)

    def _at_once(self) -> set[int]:
        """Jobs that run at about the same time."""
        random, order, found = self._random, self._order, {self._any()}
        place = order.index(next(iter(found)))
        count = 1 + int(random() * random() * _JOBS)
        while len(found) < count:
            other = place + int((random() - 0.5) * 4 * _JOBS)
            if 0 <= other < len(order) and order[other] in self._can and order[other] not in found:
                found.add(order[other])
            elif random() < 0.3:
                break
        return found
