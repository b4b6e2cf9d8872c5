"""The exact method for assignments: OR-tools CP-SAT goes on where the local search ends.

An extra, asked for by `--exact`. One worker, a fixed seed and a deterministic limit: every machine finds the
same.
"""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from target_arch.stages.placement.search.assignment import AssignmentProblem, Flow, Work
from target_arch.stages.placement.search.solver import cp_sat

LIMIT = 60.0
"""Units of CP-SAT's deterministic time, about seconds."""
_PARTS = 1_000_000
"""How finely times are counted: parts of the period at the start."""


@frozen(kw_only=True)
class ExactBalance:
    """The best assignment, the bound of the period that was proven, and whether the two meet."""

    choice: tuple[int, ...]
    bound: int
    proven: bool


def balance_exactly(
    problem: AssignmentProblem, start: Sequence[int], bound: int, limit: float = LIMIT
) -> ExactBalance:
    """Search for an optimal assignment from a good one. Raises SolverMissingError without OR-tools.

    Times are rounded down to a millionth of the period at the start, so that the bound holds.
    """
    cp_model = cp_sat()
    work = problem.work(start)
    assert work is not None
    period = problem.period(work)
    model = _Model(cp_model, problem, max(1, period // _PARTS), start)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = limit
    status = solver.solve(model.model)
    choice = tuple(start)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = model.choice(solver)
        after = problem.work(found)
        if after is not None and problem.fits(after) and problem.period(after) < period:
            choice, period = found, problem.period(after)
    least = min(period, max(bound, int(solver.best_objective_bound) * model.unit))
    # Rounded down, equal optima differ by less than a unit for each thing to do.
    near = model.terms * (model.unit - 1) + model.unit
    proven = period <= least or (status == cp_model.OPTIMAL and period - least <= near)
    return ExactBalance(choice=choice, bound=least, proven=proven)


class _Model:
    def __init__(self, cp_model: Any, problem: AssignmentProblem, unit: int, start: Sequence[int]) -> None:
        self.unit, self._problem = unit, problem
        self.model = cp_model.CpModel()
        self._at = [
            [self.model.new_bool_var(f"j{job}s{spot}") for spot in range(len(spots))]
            for job, spots in enumerate(problem.spots)
        ]
        self._terms: list[list[tuple[Any, int]]] = [[] for _ in problem.widths]
        for job, spots in enumerate(problem.spots):
            self.model.add_exactly_one(self._at[job])
            for number, (spot, here) in enumerate(zip(spots, self._at[job], strict=True)):
                self.model.add_hint(here, number == start[job])
                self._do(spot.work, here)
        for flow in problem.flows:
            self._copies(flow)
        self.terms = max(map(len, self._terms), default=0)
        self._minimize(start)

    def choice(self, solver: Any) -> tuple[int, ...]:
        """The number of the spot of every job in the solution."""
        return tuple(
            next(spot for spot, here in enumerate(spots) if solver.value(here)) for spots in self._at
        )

    def _do(self, work: Work, when: Any) -> None:
        for resource, time in work:
            self._terms[resource].append((when, time))

    def _groups(self, job: int) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {}
        for spot, here in zip(self._problem.spots[job], self._at[job], strict=True):
            found.setdefault(spot.group, []).append(here)
        return found

    def _copies(self, flow: Flow) -> None:
        """A copy is made where the producer's group and that of some user need it. One that all groups of
        users need but few is implied by the others at once, which bounds better.
        """
        for source, made in self._groups(flow.producer).items():
            row = flow.spread.copies[source]
            wanted: dict[int, Any] = {}
            for user in flow.users:
                groups = self._groups(user)
                for target, here in groups.items():
                    copies = row[target]
                    if copies is None:
                        for one in made:
                            for other in here:
                                self.model.add_bool_or(one.negated(), other.negated())
                needed = sorted({copy for target in groups for copy in row[target] or ()})
                for copy in needed:
                    if copy not in wanted:
                        wanted[copy] = self.model.new_bool_var("")
                        self._do(flow.spread.work[copy], wanted[copy])
                    using = [
                        h for target, here in groups.items() if copy in (row[target] or ()) for h in here
                    ]
                    # The copy is made if the producer is here and the user at one of those.
                    self.model.add(wanted[copy] >= sum(made) + sum(using) - 1)

    def _minimize(self, start: Sequence[int]) -> None:
        problem, model = self._problem, self.model
        work = problem.work(start)
        assert work is not None
        most = problem.period(work) // self.unit + 1
        period = model.new_int_var(0, most, "period")
        for number, terms in enumerate(self._terms):
            if number in problem.most:
                limit = problem.most[number]
                unit = max(1, limit // _PARTS)
                model.add(sum(-(-time // unit) * when for when, time in terms) <= limit // unit)
            else:
                total = sum(time // self.unit * when for when, time in terms)
                model.add(total <= period * problem.widths[number])
        model.minimize(period)
