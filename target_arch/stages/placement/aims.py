"""The search of a placement by its objective, and what candidates are judged by then."""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from target_arch.diagnostics import refusal
from target_arch.plan.objective import Objective, ObjectiveFacts
from target_arch.plan.printed.reasoning import duration, joules
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.search.assignment import assignment_problem
from target_arch.stages.placement.search.balance import Balance
from target_arch.stages.placement.search.energy import EnergyProblem, for_energy, metered
from target_arch.stages.placement.search.found import Found, Reached
from target_arch.stages.placement.search.jobs import NEVER, Jobs, Stay
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.portfolio import search
from target_arch.stages.placement.search.throughput import chosen_spots, for_throughput, resource_name
from target_arch.stages.setting import Setting

FEMTO = 10**15


@frozen(kw_only=True)
class PlacementTrial:
    """How to search for a placement, where there are several searches for the same objective.

    With `exact` a solver goes on from the result, for a short run or throughput.
    `staying` are operators with instances on which no run copies their constants, as they are resident.
    Unless `improved`, the placement is that of a short run. `limit` are the seconds of a run in the search
    model, where they are to be others than the setting's, which are those of the steps. `in_slices` are
    operators with instances where only slices of them need room for their operands.
    """

    exact: bool = False
    improved: bool = True
    limit: float | None = None
    staying: frozenset[tuple[str, str]] = frozenset()
    in_slices: frozenset[tuple[str, str]] = frozenset()


PLAIN = PlacementTrial()


class Aimed:
    """A scheduling problem with its objective. `energies` are joules by job and group, None where unknown."""

    def __init__(self, setting: Setting, jobs: Jobs, energies: Sequence[Sequence[float | None]]) -> None:
        self.jobs, self._setting = jobs, setting
        self._energies: tuple[tuple[int | None, ...], ...] = ()
        if setting.objective is not Objective.ENERGY:
            return
        if all(energy is None for row in energies for energy in row):
            said = f"no cost of `{setting.soc.name}` states energy, so there is none that could be least"
            hint = "state `energy` in a cost file, or `active` in `[chip]` of the SoC file"
            raise refusal("no-energy", "objective", said, hint)
        whole = [[None if each is None else round(each * FEMTO) for each in row] for row in energies]
        self._energies = metered(jobs, whole)
        self.jobs = evolve(jobs, stays=tuple(map(_placed, jobs.stays, self._energies)))

    def content(self, trial: PlacementTrial) -> tuple[object, ...]:
        """All that a search depends on."""
        setting = self._setting
        return (*self.jobs.content, setting.objective, setting.within, self._energies, trial)

    def search(
        self, scheduler: ListScheduler, chain: Sequence[int] | None, trial: PlacementTrial
    ) -> Found | None:
        """The best placement found; None where none is possible. `chain` is a start, by group.

        Raises SolverMissingError where an exact trial lacks its solver.
        """
        objective = self._setting.objective
        found = search(scheduler, chain, exact=trial.exact and objective is Objective.LATENCY)
        if found is None or objective is Objective.LATENCY:
            return found
        if objective is Objective.THROUGHPUT:
            return for_throughput(scheduler, found, exact=trial.exact, improved=trial.improved)
        within = self._setting.within
        limit = within if trial.limit is None else trial.limit
        problem = EnergyProblem(jobs=self.jobs, energies=self._energies, limit=_pico(limit))
        return for_energy(scheduler, problem, found, _pico(within))

    def facts(self, found: Found) -> ObjectiveFacts | None:
        """How far the search came; None where the objective is a short run without a limit."""
        objective, within = self._setting.objective, self._setting.within
        if objective is Objective.LATENCY and within is None:
            return None
        makespan = found.schedule.makespan
        reached = found.reached or Reached(value=makespan, bound=min(found.bound, makespan))
        unit = FEMTO if objective is Objective.ENERGY else PICO
        return ObjectiveFacts(
            objective=objective,
            value=reached.value / unit,
            bound=reached.bound / unit,
            busiest=reached.where,
            within=within,
        )

    def judge(self, chosen: JobSchedule, numbers: Mapping[str, int]) -> "Judge | None":
        """The judge of candidates, by operator id; None where the objective is a short run."""
        if self._setting.objective is Objective.THROUGHPUT:
            return BusyJudge(self.jobs, chosen, numbers)
        if self._setting.objective is Objective.ENERGY:
            return EnergyJudge(self._energies, numbers)
        return None


class BusyJudge:
    """Candidates by the busiest resource, if one operator alone went there."""

    def __init__(self, jobs: Jobs, chosen: JobSchedule, numbers: Mapping[str, int]) -> None:
        self._jobs, self._numbers = jobs, numbers
        self._problem = assignment_problem(jobs)
        self._balance = Balance(self._problem, chosen_spots(self._problem, chosen))

    def value(self, operator: str, group: int) -> tuple[int, str]:
        """The picoseconds of the busiest resource, and which it is, with the operator on a group; what is
        less is better.
        """
        job, balance = self._numbers[operator], self._balance
        spots, now = self._problem.spots[job], balance.choice[job]
        if spots[now].group == group:
            return self._busiest()
        values = list[tuple[int, str]]()
        for number, spot in enumerate(spots):
            if spot.group == group and balance.move([(job, number)]):
                values.append(self._busiest())
                balance.move([(job, now)])
        return min(values, default=self._busiest())

    def words(self, value: tuple[int, str]) -> str:
        """The value in words."""
        return f"`{value[1]}` busy {duration(value[0] / PICO)} a frame"

    def _busiest(self) -> tuple[int, str]:
        work = self._balance.work
        return self._problem.period(work), resource_name(self._jobs, self._problem.busiest(work))


class EnergyJudge:
    """Candidates by the energy of the operator."""

    def __init__(self, energies: Sequence[Sequence[int | None]], numbers: Mapping[str, int]) -> None:
        self._energies, self._numbers = energies, numbers

    def value(self, operator: str, group: int) -> tuple[int, str]:
        """The femtojoules of the operator on a group; what is less is better. NEVER where nothing states
        them.
        """
        energy = self._energies[self._numbers[operator]][group]
        return (NEVER if energy is None else energy), ""

    def words(self, value: tuple[int, str]) -> str:
        """The value in words."""
        return "an energy that nothing states" if value[0] >= NEVER else joules(value[0] / FEMTO)


Judge = BusyJudge | EnergyJudge


def _placed(stays: Sequence[Stay | None], energies: Sequence[int | None]) -> tuple[Stay | None, ...]:
    """The stays of a job without those that the energies leave out."""
    return tuple(None if energy is None else stay for stay, energy in zip(stays, energies, strict=True))


def _pico(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * PICO)
