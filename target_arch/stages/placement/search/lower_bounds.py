"""Lower bounds on the makespan: no schedule is shorter."""

from collections import Counter
from operator import add

from target_arch.soc.rounding import ceil_div
from target_arch.stages.placement.search.jobs import NEVER, Jobs


def lower_bound(jobs: Jobs) -> int:
    """The larger of the critical path and the busiest set of machines, in picoseconds."""
    return max(critical_path(jobs), busiest(jobs))


def critical_path(jobs: Jobs) -> int:
    """The longest path with every job on the group that is best for the jobs after it, without waits for
    machines.
    """
    toward = [tuple(zip(*delays, strict=True)) for delays in jobs.delays]
    made: list[list[int]] = [[] for _ in jobs.names]
    for datum in range(len(jobs.data)):
        made[jobs.data[datum].producer].append(datum)
    arrived: list[list[int]] = [[]] * len(jobs.data)
    at_once = [0] * jobs.groups
    longest = 0
    for job, needed in enumerate(jobs.needs):
        readies = [max(column) for column in zip(at_once, *[arrived[datum] for datum in needed], strict=True)]
        ends = [
            NEVER if stay is None else min(NEVER, ready + stay.total)
            for ready, stay in zip(readies, jobs.stays[job], strict=True)
        ]
        for datum in made[job]:
            arrived[datum] = [min(NEVER, *map(add, ends, row)) for row in toward[jobs.table[datum]]]
        longest = max(longest, min(ends))
    return longest


def busiest(jobs: Jobs) -> int:
    """For every set of groups, the jobs that can run nowhere else, at their fastest, shared evenly by the
    machines.
    """
    work: dict[frozenset[int], int] = {}
    members: dict[int, set[int]] = {}
    rows = {id(row): row for row in jobs.stays}
    for row, count in Counter(map(id, jobs.stays)).items():
        stays = [(group, stay) for group, stay in enumerate(rows[row]) if stay is not None]
        if any(not stay.machines for _, stay in stays):
            continue
        for group, stay in stays:
            members.setdefault(group, set()).update(stay.machines)
        key = frozenset(group for group, _ in stays)
        work[key] = work.get(key, 0) + count * min(stay.total for _, stay in stays)
    best = 0
    for groups in work:
        total = sum(time for inside, time in work.items() if inside <= groups)
        machines = {machine for group in groups for machine in members[group]}
        best = max(best, ceil_div(total, len(machines)))
    return best
