"""The exact method: a constraint model of the same problem, solved by OR-tools CP-SAT.

An extra (`pip install target-arch[exact]`), asked for by `--exact`. One worker, a fixed seed and a
deterministic limit: every machine finds the same schedule. If the limit comes first, the best schedule so far
is kept together with the bound that was proven.
"""

from typing import Any

from attrs import frozen

from target_arch.soc.rounding import ceil_div
from target_arch.stages.placement.search.jobs import UNLIMITED, Hop, Jobs
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.solver import cp_sat

LIMIT = 60.0
"""Units of CP-SAT's deterministic time, about seconds."""


@frozen(kw_only=True)
class Exact:
    """The best schedule, the proven bound in picoseconds, and whether the schedule is proven optimal."""

    schedule: JobSchedule
    bound: int
    proven: bool
    limited: bool
    """Whether the limit came before the solver's own proof."""


def solve(scheduler: ListScheduler, start: JobSchedule, bound: int, limit: float = LIMIT) -> Exact:
    """Search for an optimal schedule from a good one. Raises SolverMissingError without OR-tools.

    Times are rounded up to 1/100,000 of the makespan given, so that numbers stay small; every proof holds up
    to this rounding.
    """
    cp_model = cp_sat()
    model = _Model(cp_model, scheduler.jobs, max(1, start.makespan // 100_000), start)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = limit
    status = solver.solve(model.model)
    best = start
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        groups = model.groups(solver)
        for order in (model.order(solver), model.brought(solver)):
            found = scheduler.run(order, groups)
            if found is not None and found.cost < best.cost:
                best = found
    rounding = len(scheduler.jobs.names) * (model.unit - 1)
    least = max(bound, int(solver.best_objective_bound * model.unit) - rounding)
    # Copies of the solution may go in an order that no Scheduler makes: then it proves its bound alone.
    proven = status == cp_model.OPTIMAL and best.makespan <= solver.objective_value * model.unit + rounding
    return Exact(
        schedule=best,
        bound=best.makespan if proven else min(least, best.makespan),
        proven=proven,
        limited=status != cp_model.OPTIMAL,
    )


class _Model:
    def __init__(self, cp_model: Any, jobs: Jobs, unit: int, start: JobSchedule) -> None:
        self.unit, self._jobs = unit, jobs
        self.model = cp_model.CpModel()
        self._horizon = self._units(start.makespan) + len(jobs.names) * 4
        count = range(len(jobs.names))
        self._start = [self._time(f"s{job}") for job in count]
        self._end = [self._time(f"e{job}") for job in count]
        self._at: list[dict[tuple[int, int], Any]] = [{} for _ in count]
        self._group: list[dict[int, Any]] = [{} for _ in count]
        self._copied: list[tuple[int, Any, Any, int]] = []
        self._on: list[list[tuple[Any, int]]] = [[] for _ in (*jobs.machines, *jobs.channels)]
        for job in count:
            self._stay(job, start)
        for number in range(len(jobs.data)):
            self._ways(number)
        for resource, intervals in enumerate(self._on):
            self._share(resource, [interval for interval, _ in intervals])
        makespan = self._time("makespan")
        for job in count:
            self.model.add(makespan >= self._end[job])
        self.model.minimize(makespan)

    def order(self, solver: Any) -> list[int]:
        """The jobs as they start in the solution."""
        count = range(len(self._jobs.names))
        return sorted(
            count, key=lambda job: (solver.value(self._start[job]), solver.value(self._end[job]), job)
        )

    def brought(self, solver: Any) -> list[int]:
        """The jobs in the order in which their first copies begin in the solution, each after its
        predecessors.
        """
        first = [solver.value(start) for start in self._start]
        for job, both, time, takes in self._copied:
            if solver.value(both):
                first[job] = min(first[job], solver.value(time) - takes)
        for job, needed in enumerate(self._jobs.needs):
            first[job] = max([first[self._jobs.data[datum].producer] for datum in needed] + [first[job]])
        return sorted(self.order(solver), key=first.__getitem__)

    def groups(self, solver: Any) -> list[int]:
        """The group of every job in the solution."""
        return [
            next(group for group, here in options.items() if solver.value(here)) for options in self._group
        ]

    def _units(self, time: int) -> int:
        return ceil_div(time, self.unit)

    def _time(self, name: str) -> Any:
        return self.model.new_int_var(0, self._horizon, name)

    def _stay(self, job: int, start: JobSchedule) -> None:
        model = self.model
        model.add_hint(self._start[job], self._units(start.starts[job]))
        for group, stay in enumerate(self._jobs.stays[job]):
            if stay is None:
                continue
            here = self._group[job][group] = model.new_bool_var(f"j{job}g{group}")
            model.add_hint(here, start.groups[job] == group)
            if not stay.machines:
                model.add(self._end[job] == self._start[job] + self._units(stay.time)).only_enforce_if(here)
                continue
            on = [self._machine(job, group, machine) for machine in stay.machines]
            model.add(sum(on) == here)
        model.add_exactly_one(self._group[job].values())

    def _machine(self, job: int, group: int, machine: int) -> Any:
        """The job on one machine: an interval that holds its moves and its computing."""
        model, stay = self.model, self._jobs.stays[job][group]
        assert stay is not None
        name = f"j{job}m{machine}"
        here = self._at[job][group, machine] = model.new_bool_var(name)
        begin, end = self._start[job], self._end[job]
        if not stay.before and not stay.after:
            takes = self._units(stay.time)
            self._on[machine].append((model.new_optional_interval_var(begin, takes, end, here, name), takes))
            return here
        size = model.new_int_var(0, self._horizon, f"{name}size")
        self._on[machine].append((model.new_optional_interval_var(begin, size, end, here, name), 0))
        time = self._chain(stay.before, begin, here, f"{name}b")
        computed = self._time(f"{name}c")
        model.add(computed >= time + self._units(stay.time)).only_enforce_if(here)
        time = self._chain(stay.after, computed, here, f"{name}a")
        model.add(end >= time).only_enforce_if(here)
        return here

    def _chain(self, hops: tuple[Hop, ...], time: Any, here: Any, name: str) -> Any:
        """Hops one after the other, where they are made at all; the time after the last."""
        for number, (resource, takes) in enumerate(hops):
            begin, end, long = (
                self._time(f"{name}{number}s"),
                self._time(f"{name}{number}e"),
                self._units(takes),
            )
            self.model.add(begin >= time).only_enforce_if(here)
            interval = self.model.new_optional_interval_var(begin, long, end, here, f"{name}{number}")
            if resource != UNLIMITED:
                self._on[resource].append((interval, long))
            time = end
        return time

    def _ways(self, number: int) -> None:
        """One chain of copies for every pair of a producer's group and a landing that some user needs."""
        datum, model = self._jobs.data[number], self.model
        producer = datum.producer
        users = [job for job, needed in enumerate(self._jobs.needs) if number in needed]
        for group, made in self._group[producer].items():
            landings: dict[int, tuple[Any, list[Any]]] = {}
            for job in users:
                for there, here in self._group[job].items():
                    way = datum.ways[group][there]
                    if way is None:
                        model.add_bool_or(made.negated(), here.negated())
                    elif not way.hops:
                        model.add(self._start[job] >= self._end[producer]).only_enforce_if(made, here)
                    else:
                        both = model.new_bool_var("")
                        model.add_bool_or(made.negated(), here.negated(), both)
                        model.add_implication(both, made)
                        model.add_implication(both, here)
                        if way.landing not in landings:
                            copied = model.new_bool_var("")
                            time = self._chain(way.hops, self._end[producer], copied, f"d{number}")
                            if producer == self._jobs.early:
                                self._not_before(users[0], time, way.time, copied)
                            landings[way.landing] = (time, [copied])
                        time, (copied, *_) = landings[way.landing]
                        model.add_implication(both, copied)
                        model.add(self._start[job] >= time).only_enforce_if(both)
                        takes = sum(self._units(long) for _, long in way.hops)
                        self._copied.append((job, both, time, takes))

    def _not_before(self, job: int, time: Any, takes: int, copied: Any) -> None:
        """Early data is copied to its one user once the makers of the user's other data have begun (on the
        host: ended); `time` is its arrival.
        """
        for datum in self._jobs.needs[job]:
            maker = self._jobs.data[datum].producer
            if maker == self._jobs.early:
                continue
            self.model.add(time >= self._start[maker] + self._units(takes)).only_enforce_if(copied)
            if self._jobs.host in self._group[maker]:
                here = self._group[maker][self._jobs.host]
                self.model.add(time >= self._end[maker] + self._units(takes)).only_enforce_if(copied, here)

    def _share(self, resource: int, intervals: list[Any]) -> None:
        machines = len(self._jobs.machines)
        width = 1 if resource < machines else self._jobs.channels[resource - machines][1]
        if width == 1:
            self.model.add_no_overlap(intervals)
        else:
            self.model.add_cumulative(intervals, [1] * len(intervals), width)
