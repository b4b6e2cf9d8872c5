"""A start for the search: the jobs in order, cut into a segment for each machine.

A frame then goes from machine to machine and needs few copies. For a period that is tried, each machine takes
as many jobs as it can do in it, copies included; bisection finds the shortest period for which that works.
"""

from collections.abc import Sequence
from itertools import pairwise

from target_arch.stages.placement.search.assignment import AssignmentProblem
from target_arch.stages.placement.search.balance import Balance

_HALVINGS = 16
_HOPELESS = 1.5
"""So many times the period a segment may need on the way to a place where less has to be copied."""


def in_segments(problem: AssignmentProblem, base: Sequence[int]) -> tuple[int, ...]:
    """The best assignment of segments that bisection met; jobs that a machine does not take stay as in
    `base`, which is possible.
    """
    balance = Balance(problem, base)
    machines = _fastest_first(problem)
    low, high, best = 0, balance.rank[1], (balance.rank, tuple(base))
    for _ in range(_HALVINGS):
        period = (low + high) // 2
        _cut(balance, machines, base, period)
        best = min(best, (balance.rank, tuple(balance.choice)))
        if balance.rank[1] <= period * (1 + 2**-10):
            high = period
        else:
            low = period
        if high - low <= 1:
            break
    return best[1]


def _fastest_first(problem: AssignmentProblem) -> list[int]:
    """The machines that most jobs can be on, and of these the ones that need least time for all."""
    able: dict[int, list[int]] = {}
    for spots in problem.spots:
        for spot in spots if len(spots) > 1 else ():
            able.setdefault(spot.machine, []).append(sum(dict(spot.work).get(n, 0) for n in problem.timed))
    return sorted(able, key=lambda machine: (-len(able[machine]), sum(able[machine]), machine))


def _cut(balance: Balance, machines: Sequence[int], base: Sequence[int], period: int) -> None:
    """Give the machines their segments for a period; the last one takes what is left."""
    problem = balance.problem
    balance.move([(job, spot) for job, spot in enumerate(base) if balance.choice[job] != spot])
    places = [{spot.machine: number for number, spot in enumerate(spots)} for spots in problem.spots]
    jobs = [job for job, spots in enumerate(problem.spots) if len(spots) > 1]
    if machines:
        _send(balance, [(job, places[job][machines[-1]]) for job in jobs if machines[-1] in places[job]])
    first = 0
    for machine, _ in pairwise(machines):
        here = [(job, places[job].get(machine)) for job in jobs[first:]]
        first += _filled(balance, machine, here, period)


def _filled(balance: Balance, machine: int, jobs: Sequence[tuple[int, int | None]], period: int) -> int:
    """Give a machine the longest segment that it can do in the period; how many jobs that are."""
    undo, length = list[tuple[int, int]](), 0
    for number, (job, spot) in enumerate(jobs, 1):
        before = balance.choice[job]
        if spot is not None and balance.move([(job, spot)]):
            undo.append((job, before))
        busy = balance.busy(machine)
        if busy > period * _HOPELESS or balance.rank[0]:
            break
        if busy <= period:
            length, undo = number, []
    _send(balance, undo[::-1])
    return length


def _send(balance: Balance, changes: Sequence[tuple[int, int]]) -> None:
    """Make the changes that are possible, one after the other."""
    for change in changes:
        balance.move([change])
