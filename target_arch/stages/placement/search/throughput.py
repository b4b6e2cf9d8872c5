"""The placement with the shortest time per frame: the busiest resource has as little to do as possible."""

from collections.abc import Sequence

from attrs import evolve, field, frozen

from target_arch.stages.placement.search.assignment import AssignmentProblem, assignment_problem
from target_arch.stages.placement.search.balance import balanced
from target_arch.stages.placement.search.balance_bound import period_bound
from target_arch.stages.placement.search.balance_exact import LIMIT, balance_exactly
from target_arch.stages.placement.search.found import Found, Reached
from target_arch.stages.placement.search.jobs import Jobs
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.segments import in_segments


@frozen(kw_only=True)
class Balanced:
    """An assignment, its period, what no assignment goes below, and how it was found."""

    choice: tuple[int, ...] = field(repr=False)
    period: int
    bound: int
    method: str


def least_busy(
    problem: AssignmentProblem, starts: Sequence[tuple[int, ...]], *, limit: float | None = None
) -> Balanced:
    """The best assignment that was found from these starts, the first of which is possible. With a `limit`,
    in about seconds, the exact method goes on.

    Raises SolverMissingError where the exact method is asked for and its solver is absent.
    """
    bound, method = period_bound(problem), "local search for the least busy resource"
    more = (in_segments(problem, starts[0]), _least_work(problem))
    choice = balanced(problem, (*starts, *more), bound) or starts[0]
    if limit is not None:
        solved = balance_exactly(problem, choice, bound, limit)
        choice, bound = solved.choice, solved.bound
        said = "proven optimal" if solved.proven else "not proven optimal within the limit"
        method = f"{method}, then the exact method: {said} in the search model"
    work = problem.work(choice)
    assert work is not None
    return Balanced(choice=choice, period=problem.period(work), bound=bound, method=method)


def for_throughput(
    scheduler: ListScheduler, start: Found, *, exact: bool = False, improved: bool = True
) -> Found:
    """The placement of the least period that was found from that of a short run; unless `improved`, that one.

    Raises SolverMissingError where the exact method is asked for and its solver is absent.
    """
    problem = assignment_problem(scheduler.jobs)
    choice = chosen_spots(problem, start.schedule)
    if not improved:
        bound, method = period_bound(problem), f"{start.method}, judged by its busiest resource"
        return _as_found(scheduler, problem, choice, start, bound, method)
    best = least_busy(problem, [choice], limit=LIMIT if exact else None)
    method = f"{start.method}, then {best.method}"
    return _as_found(scheduler, problem, best.choice, start, best.bound, method)


def chosen_spots(problem: AssignmentProblem, schedule: JobSchedule) -> tuple[int, ...]:
    """The number of the spot of every job in a schedule."""
    return tuple(
        next(
            number
            for number, spot in enumerate(spots)
            if (spot.group, spot.machine) == (schedule.groups[job], schedule.machines[job])
        )
        for job, spots in enumerate(problem.spots)
    )


def _least_work(problem: AssignmentProblem) -> tuple[int, ...]:
    """Every job where it is least work."""
    return tuple(
        min(range(len(spots)), key=lambda number: (sum(time for _, time in spots[number].work), number))
        for spots in problem.spots
    )


def _as_found(
    scheduler: ListScheduler,
    problem: AssignmentProblem,
    choice: Sequence[int],
    start: Found,
    bound: int,
    method: str,
) -> Found:
    spots = [problem.spots[job][spot] for job, spot in enumerate(choice)]
    schedule = scheduler.run(start.schedule.by_start(), [spot.group for spot in spots])
    work = problem.work(choice)
    assert schedule is not None
    assert work is not None
    period = problem.period(work)
    number = problem.busiest(work)
    return Found(
        schedule=evolve(schedule, machines=tuple(spot.machine for spot in spots)),
        bound=min(start.bound, schedule.makespan),
        method=method,
        reached=Reached(value=period, bound=min(bound, period), where=resource_name(scheduler.jobs, number)),
    )


def resource_name(jobs: Jobs, number: int) -> str:
    """The name of a machine or an engine; empty for a number below 0."""
    names = (*jobs.machines, *(name for name, _ in jobs.channels))
    return names[number] if number >= 0 else ""
