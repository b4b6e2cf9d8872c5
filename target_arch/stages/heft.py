"""Starting points of the search: HEFT, PEFT, and everything on the host.

HEFT: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for heterogeneous
computing", IEEE TPDS 13(3), 2002. PEFT: Arabnejad, Barbosa, "List scheduling algorithm for heterogeneous
systems by an optimistic cost table", IEEE TPDS 25(3), 2014. Both are linear in jobs and needs, for a fixed
number of seats.
"""

import heapq
from collections.abc import Callable, Sequence

from target_arch.stages.jobs import Jobs
from target_arch.stages.schedule import Progress, Schedule, Scheduler

_NEVER = 1 << 62

Extra = Callable[[int, int], float]
"""Job and seat to picoseconds that are added to the finish time which a seat is chosen by."""


def heft(scheduler: Scheduler) -> Schedule | None:
    """Heterogeneous earliest finish time; None where it runs into a dead end."""
    ranks = _upward_ranks(scheduler.jobs)
    return _listed(scheduler, ranks, lambda _job, _seat: 0)


def peft(scheduler: Scheduler) -> Schedule | None:
    """Predict earliest finish time: HEFT that looks ahead by an optimistic cost table."""
    table = optimistic(scheduler.jobs)
    choices = [scheduler.jobs.choices(job) for job in range(len(scheduler.jobs.names))]
    ranks = [sum(table[job][seat] for seat in seats) / len(seats) for job, seats in enumerate(choices)]
    return _listed(scheduler, ranks, lambda job, seat: table[job][seat])


def on_host(scheduler: Scheduler) -> Schedule | None:
    """All jobs on the host, those it cannot take where they come first; None where that is impossible."""
    jobs = scheduler.jobs
    seats = []
    for job in range(len(jobs.names)):
        choices = jobs.choices(job)
        seats.append(jobs.host if jobs.host in choices else choices[0])
    return scheduler.run(range(len(jobs.names)), seats)


def optimistic(jobs: Jobs) -> list[list[int]]:
    """PEFT's table: for every job and seat the picoseconds that at least follow its end."""
    table = [[0] * jobs.seats for _ in jobs.names]
    users = jobs.users()
    for job in range(len(jobs.names) - 1, -1, -1):
        for seat in jobs.choices(job):
            most = 0
            for datum, user in users[job]:
                ways = jobs.data[datum].ways[seat]
                least = _NEVER
                for there, stay in enumerate(jobs.stays[user]):
                    way = ways[there]
                    if stay is not None and way is not None:
                        least = min(least, way.time + stay.total + table[user][there])
                most = max(most, least)
            table[job][seat] = most
    return table


def _upward_ranks(jobs: Jobs) -> list[float]:
    """For every job the mean time from its start to the end of everything that depends on it."""
    ranks = [0.0] * len(jobs.names)
    users, means = jobs.users(), _MeanWays()
    for job in range(len(ranks) - 1, -1, -1):
        after = max((means.of(jobs, datum) + ranks[user] for datum, user in users[job]), default=0.0)
        totals = [stay.total for stay in jobs.stays[job] if stay is not None]
        ranks[job] = sum(totals) / len(totals) + after
    return ranks


class _MeanWays:
    """The mean time of the ways of data, remembered for tables of ways that several data share."""

    def __init__(self) -> None:
        self._known: dict[int, float] = {}

    def of(self, jobs: Jobs, datum: int) -> float:
        ways = jobs.data[datum].ways
        if id(ways) not in self._known:
            times = [way.time for row in ways for way in row if way is not None]
            self._known[id(ways)] = sum(times) / len(times) if times else 0.0
        return self._known[id(ways)]


def _listed(scheduler: Scheduler, ranks: Sequence[float], extra: Extra) -> Schedule | None:
    """Jobs by falling rank, as soon as their data is made; each to the seat where it ends first."""
    jobs, progress = scheduler.jobs, Progress(scheduler)
    order = _by_rank(jobs, ranks)
    for job in order:
        options = [
            (end + extra(job, seat), seat)
            for seat in jobs.choices(job)
            if (end := _end(jobs, progress, job, seat)) is not None
        ]
        if not options or not progress.put(job, min(options)[1]):
            return None
    return progress.schedule(order)


def _by_rank(jobs: Jobs, ranks: Sequence[float]) -> list[int]:
    missing = [len({jobs.data[datum].producer for datum in needed}) for needed in jobs.needs]
    users = [tuple(dict.fromkeys(user for _, user in pairs)) for pairs in jobs.users()]
    ready = [(-ranks[job], job) for job, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        job = heapq.heappop(ready)[1]
        order.append(job)
        for user in users[job]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, (-ranks[user], user))
    return order


def _end(jobs: Jobs, progress: Progress, job: int, seat: int) -> int | None:
    """When the job would end at the seat; its own copies are taken not to wait for each other."""
    stay, board = jobs.stays[job][seat], progress.board
    assert stay is not None
    ready = issued = 0
    for datum in jobs.needs[job]:
        producer = jobs.data[datum].producer
        way = jobs.data[datum].ways[progress.seats[producer]][seat]
        if way is None:
            return None
        time = progress.ends[producer] if producer != jobs.early else issued
        if way.hops and (known := progress.arrived.get((datum, way.landing))) is not None:
            time = known
        else:
            for resource, takes in way.hops:
                time = board.ready_at(resource, time, takes) + takes
        ready, issued = max(ready, time), max(issued, progress.ordered(producer))
    if not stay.machines:
        return ready + stay.total
    return min(board.ready_at(machine, ready, stay.total) for machine in stay.machines) + stay.total
