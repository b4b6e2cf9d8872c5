"""The search for a placement of small makespan: several starting points, local search, and the exact method.

The starting points are the cheapest chain (the least sum of computing and copies), HEFT, PEFT and all on the
host, so that the result is never worse than any of them.
"""

from collections.abc import Callable, Sequence

from target_arch.stages.placement.search.exact import solve
from target_arch.stages.placement.search.found import Found
from target_arch.stages.placement.search.heft import heft, on_host, peft
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.local_search import improve
from target_arch.stages.placement.search.lower_bounds import lower_bound

GOOD = 0.005
"""A gap to the bound, as a part of the bound, that is not worth a search."""
WIDE = 0.1
"""A gap to the bound that is worth the whole effort: narrower ones have less to gain."""
LARGE = 2_000
"""From so many jobs on local search would be too slow to find anything."""


def search(
    scheduler: ListScheduler, chain: Sequence[int] | None = None, *, exact: bool = False
) -> Found | None:
    """The best schedule found; None where no starting point is possible. `chain` are groups of a placement.

    Raises SolverMissingError where the exact method is asked for and its solver is absent.
    """
    jobs = scheduler.jobs
    starts: list[tuple[str, Callable[[], JobSchedule | None]]] = [
        ("HEFT", lambda: heft(scheduler)),
        ("PEFT", lambda: peft(scheduler)),
        ("all on the host", lambda: on_host(scheduler)),
    ]
    if chain is not None:
        groups = chain
        starts.insert(0, ("least sum of costs", lambda: scheduler.run(range(len(jobs.names)), groups)))
    made = [(schedule, name) for name, start in starts if (schedule := start()) is not None]
    if not made:
        return None
    best, method = min(made, key=lambda pair: pair[0].cost)
    bound = min(lower_bound(jobs), best.makespan)
    if best.makespan > bound * (1 + GOOD) and len(jobs.names) <= LARGE:
        better = improve(scheduler, best, bound, _worth(best.makespan, bound))
        if better.cost < best.cost:
            best, method = better, f"{method}, then local search"
    if exact and best.makespan > bound:
        solved = solve(scheduler, best, bound)
        said = "proven optimal in the search model"
        if not solved.proven:
            said = "not proven optimal in the search model within the limit"
        if not solved.proven and not solved.limited:
            said = "not proven optimal in the search model, as its bound lets copies overtake each other"
        best, bound, method = (
            solved.schedule,
            max(bound, solved.bound),
            f"{method}, then the exact method: {said}",
        )
    elif exact:
        method += "; it meets the bound of the search model, so the exact method has nothing to find"
    return Found(schedule=best, bound=bound, method=method)


def _worth(makespan: int, bound: int) -> float:
    """The part of the effort that the gap between a schedule and the bound is worth."""
    return min(1.0, (makespan - bound) / (bound * WIDE)) if bound else 1.0
