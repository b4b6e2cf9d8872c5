"""Starting points of the search: HEFT, PEFT, and everything on the host.

HEFT: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for heterogeneous
computing", IEEE TPDS 13(3), 2002. PEFT: Arabnejad, Barbosa, "List scheduling algorithm for heterogeneous
systems by an optimistic cost table", IEEE TPDS 25(3), 2014. Both are linear in jobs and needs, for a fixed
number of groups.
"""

import heapq
from collections.abc import Sequence

from target_arch.stages.placement.search.jobs import NEVER, Jobs, Ways
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler, Progress


def heft(scheduler: ListScheduler) -> JobSchedule | None:
    """Heterogeneous earliest finish time; None where it runs into a dead end."""
    jobs = scheduler.jobs
    nothing = [0] * jobs.groups
    return _listed(scheduler, _upward_ranks(jobs), [nothing] * len(jobs.names))


def peft(scheduler: ListScheduler) -> JobSchedule | None:
    """Predict earliest finish time: HEFT that looks ahead by an optimistic cost table."""
    table = optimistic(scheduler.jobs)
    ranks = [
        sum([row[group] for group in groups]) / len(groups)
        for row, groups in zip(table, scheduler.jobs.choices, strict=True)
    ]
    return _listed(scheduler, ranks, table)


def on_host(scheduler: ListScheduler) -> JobSchedule | None:
    """All jobs on the host, or else on their first possible group. None where that fails."""
    jobs = scheduler.jobs
    groups = []
    for choices in jobs.choices:
        groups.append(jobs.host if jobs.host in choices else choices[0])
    return scheduler.run(range(len(jobs.names)), groups)


def optimistic(jobs: Jobs) -> list[list[int]]:
    """PEFT's table: for every job and group the picoseconds that at least follow its end."""
    table = [[0] * jobs.groups for _ in jobs.names]
    after: list[dict[int, list[int]]] = [{} for _ in jobs.names]
    for job in range(len(jobs.names) - 1, -1, -1):
        needs = [
            _follows(jobs, after[user], table[user], jobs.table[datum], user)
            for datum, user in jobs.users[job]
        ]
        if needs:
            most = [max(column) for column in zip(*needs, strict=True)]
            for group in jobs.choices[job]:
                table[job][group] = most[group]
    return table


def _follows(jobs: Jobs, known: dict[int, list[int]], row: Sequence[int], table: int, user: int) -> list[int]:
    """For every group that makes data with that table of ways, the least time to the end by one user."""
    if table not in known:
        rests = [
            (group, stay.total + row[group])
            for group, stay in enumerate(jobs.stays[user])
            if stay is not None
        ]
        known[table] = [
            min([NEVER, *[delays[group] + rest for group, rest in rests]]) for delays in jobs.delays[table]
        ]
    return known[table]


def _upward_ranks(jobs: Jobs) -> list[float]:
    """For every job the mean time from its start to the end of everything that depends on it."""
    ranks = [0.0] * len(jobs.names)
    ways, own = [_mean(way) for way in jobs.tables], _mean_totals(jobs)
    for job in range(len(ranks) - 1, -1, -1):
        after = max([ways[jobs.table[datum]] + ranks[user] for datum, user in jobs.users[job]], default=0.0)
        ranks[job] = own[job] + after
    return ranks


def _mean(ways: Ways) -> float:
    times = [way.time for row in ways for way in row if way is not None]
    return sum(times) / len(times) if times else 0.0


def _mean_totals(jobs: Jobs) -> list[float]:
    """For every job the mean time of its possible stays; rows of stays may be shared."""
    known: dict[int, float] = {}
    for row in jobs.stays:
        if id(row) not in known:
            totals = [stay.total for stay in row if stay is not None]
            known[id(row)] = sum(totals) / len(totals)
    return [known[id(row)] for row in jobs.stays]


def _listed(
    scheduler: ListScheduler, ranks: Sequence[float], extra: Sequence[Sequence[int]]
) -> JobSchedule | None:
    """Jobs by falling rank, as soon as their data is made; each to the group where it ends first.

    `extra` are by job and group the picoseconds that are added to the end which a group is chosen by.
    """
    progress = Progress(scheduler)
    order = _by_rank(scheduler.jobs, ranks)
    for job in order:
        group = _soonest(scheduler, progress, job, extra[job])
        if group is None or not progress.put(job, group):
            return None
    return progress.schedule(order)


def _soonest(scheduler: ListScheduler, progress: Progress, job: int, extra: Sequence[int]) -> int | None:
    """The group where the job ends first; None where its data gets to none."""
    groups = scheduler.jobs.choices[job]
    if len(groups) == 1:
        return groups[0]
    ends = [(_end(scheduler, progress, job, group), group) for group in groups]
    options = [(end + extra[group], group) for end, group in ends if end is not None]
    return min(options)[1] if options else None


def _by_rank(jobs: Jobs, ranks: Sequence[float]) -> list[int]:
    data = jobs.data
    missing = [len({data[datum].producer for datum in needed}) for needed in jobs.needs]
    users = [tuple(dict.fromkeys([user for _, user in pairs])) for pairs in jobs.users]
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


def _end(scheduler: ListScheduler, progress: Progress, job: int, group: int) -> int | None:
    """When the job would end on the group; its own copies are taken not to wait for each other."""
    stay, board, early = scheduler.jobs.stays[job][group], progress.board, scheduler.jobs.early
    assert stay is not None
    needs, ready = scheduler.needs[job], 0
    for number, (datum, producer, ways) in enumerate(needs):
        way = ways[progress.groups[producer]][group]
        if way is None:
            return None
        time = progress.ends[producer] if producer != early else progress.ordered(needs[:number])
        if way.hops and (known := progress.arrived.get((datum, way.landing))) is not None:
            time = known
        else:
            for resource, takes in way.hops:
                time = board.ready_at(resource, time, takes) + takes
        ready = max(ready, time)
    if not stay.machines:
        return ready + stay.total
    return min([board.ready_at(machine, ready, stay.total) for machine in stay.machines]) + stay.total
