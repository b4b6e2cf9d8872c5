"""Local search over schedules: which seat each job has, and in which order jobs are listed.

Threshold accepting (Dueck, Scheuer, J. Comput. Phys. 90, 1990): a change is kept where it loses no more than
a threshold, drawn anew each time, that shrinks to nothing. Changes begin at a job the makespan hangs on, most
of the time. Random choices come from one seeded generator, thresholds from products alone, and the effort is
counted in scheduled jobs, so that every machine finds the same.
"""

from random import Random

from target_arch.stages.jobs import Jobs
from target_arch.stages.schedule import Schedule, Scheduler

EFFORT = 1_000_000
"""Jobs that may be scheduled, all tries together."""
TRIES_PER_JOB = 500
_CRITICAL = 0.8
"""Share of changes that begin at a job the makespan hangs on."""
_HOT = 0.3
"""The largest loss that a change may bring at first, as a part of the makespan."""


def improve(scheduler: Scheduler, start: Schedule, bound: int, effort: int = EFFORT) -> Schedule:
    """A schedule that is no worse than the one given; stops at the bound, or when the effort is spent."""
    jobs = scheduler.jobs
    movable = [
        job for job in range(len(jobs.names)) if any(s is not None and s.machines for s in jobs.stays[job])
    ]
    tries = min(effort // max(1, len(jobs.names)), TRIES_PER_JOB * len(movable))
    if not movable or start.makespan <= bound:
        return start
    random = Random(len(movable))
    change = _Change(jobs, movable, random)
    best = now = start
    critical = critical_jobs(start)
    for number in range(tries):
        order, seats = change.neighbour(now, critical)
        then = scheduler.run(order, seats)
        if then is None:
            continue
        heat = (1 - number / tries) ** 2 * random.random() ** 3
        if then.makespan > now.makespan + int(start.makespan * _HOT * heat):
            continue
        now, critical = then, critical_jobs(then)
        if now.cost < best.cost:
            best = now
            if best.makespan <= bound:
                break
    return best


def critical_jobs(schedule: Schedule) -> list[int]:
    """The jobs that the makespan hangs on, from the last to the first."""
    job = max(schedule.order, key=lambda each: (schedule.ends[each], -each))
    found = []
    while job >= 0:
        found.append(job)
        job = schedule.causes[job]
    return found


class _Change:
    def __init__(self, jobs: Jobs, movable: list[int], random: Random) -> None:
        self._movable, self._random = movable, random
        self._choices = {job: jobs.choices(job) for job in movable}
        can = frozenset(movable)
        count = range(len(jobs.names))
        self._before = [tuple({jobs.data[datum].producer for datum in jobs.needs[job]}) for job in count]
        self._after = [tuple({user for _, user in pairs}) for pairs in jobs.users()]
        self._near = [
            tuple(j for j in (*sorted(b), *sorted(a)) if j in can)
            for b, a in zip(self._before, self._after, strict=True)
        ]

    def neighbour(self, now: Schedule, critical: list[int]) -> tuple[list[int], list[int]]:
        """The order and the seats after one random change."""
        random = self._random.random
        order, seats = list(now.by_start()), list(now.seats)
        if random() < _CRITICAL:
            job = critical[int(random() * len(critical))]
            cause = now.causes[job]
            if cause in self._choices and job in self._choices:
                self._loosen(order, seats, cause, job)
                return order, seats
        job = self._movable[int(random() * len(self._movable))]
        dice = random()
        if dice < 0.4:
            self._move(order, job)
        else:
            self._seat(job, seats)
            if dice > 0.7:
                self._follow(job, seats)
        return order, seats

    def _loosen(self, order: list[int], seats: list[int], cause: int, job: int) -> None:
        """Change what makes a job wait for another."""
        random = self._random.random
        dice = random()
        if cause not in self._before[job]:
            if dice < 0.5:
                self._move(order, job, before=cause)
            elif dice < 0.75:
                self._seat(job, seats)
            else:
                self._seat(cause, seats)
            return
        if seats[cause] != seats[job] and dice < 0.6:
            if dice < 0.3 and seats[cause] in self._choices[job]:
                seats[job] = seats[cause]
            elif seats[job] in self._choices[cause]:
                seats[cause] = seats[job]
            return
        if dice < 0.8:
            self._seat(job, seats)
            if dice < 0.7:
                self._follow(job, seats)
        else:
            self._move(order, cause)

    def _seat(self, job: int, seats: list[int]) -> None:
        options = self._choices[job]
        if len(options) > 1:
            others = [seat for seat in options if seat != seats[job]]
            seats[job] = others[int(self._random.random() * len(others))]

    def _follow(self, job: int, seats: list[int]) -> None:
        """Some neighbours come along to the seat of the job."""
        near = self._near[job]
        for _ in range(1 + int(self._random.random() * 3)):
            if not near:
                return
            other = near[int(self._random.random() * len(near))]
            if seats[job] in self._choices[other]:
                seats[other] = seats[job]
            job, near = other, self._near[other]

    def _move(self, order: list[int], job: int, before: int | None = None) -> None:
        """To another place between what the job needs and what needs it, or as far as possible to before
        another.
        """
        at = {each: number for number, each in enumerate(order)}
        low = max((at[each] for each in self._before[job]), default=-1) + 1
        high = min((at[each] for each in self._after[job]), default=len(order)) - 1
        if before is not None:
            place = max(low, at[before])
        else:
            place = low + int(self._random.random() * (high - low + 1))
        if place != at[job] and low <= place <= high:
            order.pop(at[job])
            order.insert(place, job)
