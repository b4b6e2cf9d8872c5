"""Local search over schedules: which seat each job has, and in which order jobs are listed.

Threshold accepting (Dueck, Scheuer, J. Comput. Phys. 90, 1990): a change is kept where it loses no more than
a threshold, drawn anew each time, that shrinks to nothing. Changes begin at a job the makespan hangs on, most
of the time. Random choices come from one seeded generator, thresholds from products alone, and the effort is
counted in scheduled jobs, so that every machine finds the same.
"""

from collections.abc import Sequence
from random import Random

from target_arch.stages.heft import optimistic
from target_arch.stages.jobs import Jobs
from target_arch.stages.schedule import Schedule, Scheduler

EFFORT = 1_500_000
"""Jobs that may be scheduled, all tries together."""
EFFORT_PER_PAIR = 1_500
"""The same, for each pair of jobs: small problems need less."""
_CRITICAL = 0.8
"""Share of changes that begin at a job the makespan hangs on."""
_ROUNDS = (0.3, 0.3, 0.15, 0.08)
"""The largest loss that a change may bring at first, as a part of the makespan. All rounds but the second
begin at the best schedule so far.
"""
_EARLY = 0.3
"""What the mean end of a job weighs beside the makespan: a slope where the makespan alone is flat."""


def improve(scheduler: Scheduler, starts: Sequence[Schedule], bound: int, effort: int = EFFORT) -> Schedule:
    """A schedule that is no worse than those given; stops at the bound, or when the effort is spent.

    The first round begins at the best of them, the second at the one with the fewest different seats, where
    what belongs together is together.
    """
    start = min(starts, key=lambda schedule: schedule.cost)
    gathered = min(starts, key=lambda schedule: (len(set(schedule.seats)), schedule.cost))
    jobs = scheduler.jobs
    movable = [
        job for job, stays in enumerate(jobs.stays) if any(s is not None and s.machines for s in stays)
    ]
    if not movable or start.makespan <= bound:
        return start
    random, tails = Random(len(movable)), optimistic(jobs)
    change = _Change(jobs, movable, random)
    share = min(effort, EFFORT_PER_PAIR * len(movable) ** 2) // len(_ROUNDS)
    best = start
    for number, hot in enumerate(_ROUNDS):
        now, spent = gathered if number == 1 else best, 0
        change.accept(now)
        while spent < share and best.makespan > bound:
            heat = (1 - spent / share) ** 2 * random.random() ** 3
            loss = int(start.makespan * hot * heat)
            order, seats = change.neighbour()
            then, count = scheduler.within(now.makespan + loss + _slope(now) // 10, tails, order, seats)
            spent += count
            if then is not None and then.makespan + _slope(then) <= now.makespan + _slope(now) + loss:
                now = then
                change.accept(now)
                best = min(best, then, key=lambda schedule: schedule.cost)
    return best


def _slope(schedule: Schedule) -> int:
    return int(_EARLY * sum(schedule.ends) / len(schedule.ends))


def critical_jobs(schedule: Schedule) -> list[int]:
    """The jobs that the makespan hangs on, from the last to the first."""
    job = max(schedule.order, key=lambda each: (schedule.ends[each], -each))
    found = []
    while job >= 0:
        found.append(job)
        job = schedule.causes[job]
    return found


class _Change:
    """Random changes of one schedule, and of the next that is accepted."""

    def __init__(self, jobs: Jobs, movable: list[int], random: Random) -> None:
        self._movable, self._random = movable, random.random
        self._choices = {job: jobs.choices(job) for job in movable}
        count = range(len(jobs.names))
        self._before = [tuple({jobs.data[datum].producer for datum in jobs.needs[job]}) for job in count]
        self._after = [tuple({user for _, user in pairs}) for pairs in jobs.users()]
        self._near = [
            tuple(job for job in (*sorted(before), *sorted(after)) if job in self._choices)
            for before, after in zip(self._before, self._after, strict=True)
        ]

    def accept(self, now: Schedule) -> None:
        """Change this one from now on."""
        self._now, self._critical, self._order = now, critical_jobs(now), now.by_start()
        self._at = [0] * len(self._order)
        for number, job in enumerate(self._order):
            self._at[job] = number

    def neighbour(self) -> tuple[Sequence[int], list[int]]:
        """The order and the seats after one random change."""
        random, now = self._random, self._now
        seats = list(now.seats)
        if random() < _CRITICAL:
            job = self._critical[int(random() * len(self._critical))]
            cause = now.causes[job]
            if cause in self._choices and job in self._choices:
                return self._loosen(seats, cause, job), seats
        job = self._movable[int(random() * len(self._movable))]
        dice = random()
        if dice < 0.4:
            return self._moved(job), seats
        self._seat(job, seats)
        if dice > 0.7:
            self._follow(job, seats)
        return self._order, seats

    def _loosen(self, seats: list[int], cause: int, job: int) -> Sequence[int]:
        """Change what makes a job wait for another."""
        dice = self._random()
        if cause not in self._before[job]:
            if dice < 0.5:
                return self._moved(job, before=cause)
            self._seat(job if dice < 0.75 else cause, seats)
            return self._order
        if seats[cause] != seats[job] and dice < 0.6:
            if dice < 0.3 and seats[cause] in self._choices[job]:
                seats[job] = seats[cause]
            elif seats[job] in self._choices[cause]:
                seats[cause] = seats[job]
            return self._order
        if dice >= 0.8:
            return self._moved(cause)
        self._seat(job, seats)
        if dice < 0.7:
            self._follow(job, seats)
        return self._order

    def _seat(self, job: int, seats: list[int]) -> None:
        options = self._choices[job]
        if len(options) > 1:
            others = [seat for seat in options if seat != seats[job]]
            seats[job] = others[int(self._random() * len(others))]

    def _follow(self, job: int, seats: list[int]) -> None:
        """Some neighbours come along to the seat of the job."""
        near = self._near[job]
        for _ in range(1 + int(self._random() * 3)):
            if not near:
                return
            other = near[int(self._random() * len(near))]
            if seats[job] in self._choices[other]:
                seats[other] = seats[job]
            job, near = other, self._near[other]

    def _moved(self, job: int, before: int | None = None) -> Sequence[int]:
        """The order with a job at another place between what it needs and what needs it, or as far as
        possible to before another.
        """
        at = self._at
        low = max((at[each] for each in self._before[job]), default=-1) + 1
        high = min((at[each] for each in self._after[job]), default=len(at)) - 1
        place = max(low, at[before]) if before is not None else low + int(self._random() * (high - low + 1))
        if place == at[job] or not low <= place <= high:
            return self._order
        order = list(self._order)
        order.pop(at[job])
        order.insert(place, job)
        return order
