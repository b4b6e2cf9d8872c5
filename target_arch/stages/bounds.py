"""Lower bounds on the makespan: what no schedule, however clever, can undercut."""

from target_arch.stages.jobs import Jobs

_NEVER = 1 << 62


def lower_bound(jobs: Jobs) -> int:
    """The larger of the critical path and the busiest set of machines, in picoseconds."""
    return max(critical_path(jobs), busiest(jobs))


def critical_path(jobs: Jobs) -> int:
    """The longest path where every job is at the seat that is best for what follows it, and waits for no
    machine.
    """
    earliest: list[list[int]] = []
    for job, needed in enumerate(jobs.needs):
        row = []
        for seat, stay in enumerate(jobs.stays[job]):
            ready = 0 if stay is not None else _NEVER
            for datum in needed if stay is not None else ():
                before = earliest[jobs.data[datum].producer]
                ways = jobs.data[datum].ways
                least = _NEVER
                for there, end in enumerate(before):
                    way = ways[there][seat]
                    if way is not None and end + way.time < least:
                        least = end + way.time
                ready = max(ready, least)
            row.append(min(_NEVER, ready + (0 if stay is None else stay.total)))
        earliest.append(row)
    return max((min(row) for row in earliest), default=0)


def busiest(jobs: Jobs) -> int:
    """For every set of seats: what can run nowhere else, at its fastest, shared evenly by their machines."""
    work: dict[frozenset[int], int] = {}
    members: dict[int, set[int]] = {}
    for job in range(len(jobs.names)):
        stays = [(seat, stay) for seat, stay in enumerate(jobs.stays[job]) if stay is not None]
        if any(not stay.machines for _, stay in stays):
            continue
        for seat, stay in stays:
            members.setdefault(seat, set()).update(stay.machines)
        key = frozenset(seat for seat, _ in stays)
        work[key] = work.get(key, 0) + min(stay.total for _, stay in stays)
    best = 0
    for seats in work:
        total = sum(time for inside, time in work.items() if inside <= seats)
        machines = {machine for seat in seats for machine in members[seat]}
        best = max(best, -(-total // len(machines)))
    return best
