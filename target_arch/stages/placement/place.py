"""Placement: which instance runs which operator, what it costs there, and why nowhere else.

What counts is when the last result is there: the makespan of a simulated run, in which instances compute
and channels copy at the same time. Costs are what backends estimate or a cost file measured, and every copy:
inputs from where their producers leave them, constants, results on their way to consumers and the caller.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Choice, Partition, PartitionGraph
from target_arch.plan.timeline import Timeline
from target_arch.soc.model import Instance
from target_arch.stages.errors import PlacementError
from target_arch.stages.paths.reach import MemoryAccess
from target_arch.stages.placement.candidates import CandidateTable, PlacementTask, place_of
from target_arch.stages.placement.cheapest_chain import BEAM, InstanceGroup, Problem, cheapest_chain
from target_arch.stages.placement.explain import Moved, choices
from target_arch.stages.placement.job_shop import JobShop
from target_arch.stages.placement.measured_costs import check_costs
from target_arch.stages.placement.operator_order import execution_order, peaks
from target_arch.stages.placement.rules import Rules, check_rules
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.portfolio import Found, search
from target_arch.stages.placement.timeline import timeline
from target_arch.stages.setting import Setting

NO_RULES = Rules()
COVERED = 60_000
"""Visits of an operator to a seat that the search for the cheapest chain may make."""
FEW = 300
"""Operators, at most, for which a run is simulated for each candidate of each."""
WORTH = 0.01
"""The part of the makespan an order must save to be taken instead of the one that needs least memory."""


def place(
    model: Model,
    setting: Setting,
    backends: Mapping[str, Backend],
    rules: Rules = NO_RULES,
    *,
    order: tuple[str, ...] | None = None,
    exact: bool = False,
) -> PartitionGraph:
    """Give every operator an instance and cut the model into partitions.

    `backends` maps target_arch names; a target_arch without one is refused everything. `order` (target_arch
    names, by default the SoC's partitioning order) breaks ties of cost. `costs` override what backends and
    description say. With `exact` a solver goes on where the search ends. Raises PlacementError where a rule
    or a measured cost names nothing or a rule cannot be honoured, or where nothing supports an operator;
    SolverMissingError where `exact` lacks its solver.
    """
    kinds = {pattern.name for backend in backends.values() for pattern in backend.patterns}
    kinds |= {operator.kind for operator in model.operators}
    check_rules(rules, model, setting.soc, kinds)
    check_costs(setting.costs, model, kinds)
    wanted = PlacementTask(
        model=model,
        setting=setting,
        backends=backends,
        rules=rules,
        order=order or setting.soc.partitioning,
    )
    survey = CandidateTable(wanted)
    placed = _Placed.search(wanted, survey, exact=exact)
    made = choices(wanted, survey, placed.problem, placed.seats, placed.instances, placed.moved)
    by_id = {choice.operator: choice for choice in made}
    return PartitionGraph(
        model=model,
        partitions=_partitions(wanted, placed.order, by_id),
        choices=tuple(by_id[operator.id] for operator in placed.order),
        timeline=placed.timeline,
    )


@frozen(kw_only=True)
class _Placed:
    """A problem and its solution: the seat and the instance of every operator, the order, the timeline."""

    problem: Problem
    seats: Mapping[str, int]
    instances: Mapping[str, Instance]
    order: tuple[Operator, ...]
    timeline: Timeline
    moved: Moved

    @classmethod
    def search(cls, wanted: PlacementTask, survey: CandidateTable, *, exact: bool) -> "_Placed":
        problem = _problem(wanted, survey)
        if any(all(time is None for time in times) for times in problem.computes.values()):
            raise PlacementError(_hopeless(problem, survey))
        cheapest = cheapest_chain(problem, _beam(problem))
        network = JobShop(wanted, survey, problem)
        scheduler = ListScheduler(network.jobs)
        found = search(scheduler, None if cheapest is None else network.seats(cheapest), exact=exact)
        if found is None:
            raise PlacementError(_hopeless(problem, survey))
        chosen = _ordered(wanted, network, scheduler, found, problem.order)
        numbers = network.order(problem.order)[2:-1]
        pairs = list(zip(problem.order, numbers, strict=True))
        instances = wanted.soc.instances
        used = {op.id: instances[chosen.machines[job]] for op, job in pairs}
        return cls(
            problem=problem,
            seats={op.id: chosen.seats[job] for op, job in pairs},
            instances=used,
            order=network.operators(chosen.order),
            moved=_moved(network, scheduler, chosen),
            timeline=timeline(
                scheduler,
                chosen,
                found,
                used={instance.name: instance for instance in used.values()}.values(),
                joules=_joules(survey, used),
            ),
        )


def _joules(survey: CandidateTable, used: Mapping[str, Instance]) -> list[float]:
    """What was measured of the operators where they are."""
    energies = (survey.answers[operator][instance.name].energy for operator, instance in used.items())
    return [energy for energy in energies if energy is not None]


def _moved(network: JobShop, scheduler: ListScheduler, chosen: JobSchedule) -> Moved:
    """Simulates moves of one operator, where operators are few enough to do so for every candidate."""
    few = len(network.jobs.names) <= FEW

    def run(operator: Operator, seat: int) -> int | None:
        if not few:
            return None
        seats = list(chosen.seats)
        seats[network.number(operator)] = seat
        found = scheduler.run(chosen.order, seats)
        return None if found is None else found.makespan

    return run


def _beam(problem: Problem) -> int:
    """How many states the search for the cheapest chain may keep, so that it stays affordable."""
    return max(1, min(BEAM, COVERED // max(1, len(problem.order) * len(problem.seats))))


def _ordered(
    wanted: PlacementTask, network: JobShop, scheduler: ListScheduler, found: Found, lean: Sequence[Operator]
) -> JobSchedule:
    """The schedule in the order in which it will run.

    That is the `lean` order, which needs least memory, unless starting operators as the search found is
    faster and leaves half of the preferred memory free; and never after something did not fit.
    """
    small = scheduler.run(network.order(lean), found.schedule.seats)
    fast = scheduler.run(found.schedule.by_start(), found.schedule.seats)
    fast = fast if fast is not None and fast.cost <= found.schedule.cost else found.schedule
    if small is None:
        return fast
    room = wanted.soc.memory(wanted.mode.workspace[0]).size // 2
    peak, least = peaks(wanted.model, network.operators(fast.order), lean)
    crowded = peak > max(room, least)
    if crowded or wanted.rules.given_up or fast.makespan > small.makespan * (1 - WORTH):
        return small
    return fast


def _problem(wanted: PlacementTask, survey: CandidateTable) -> Problem:
    seats, order = _seats(wanted, survey), execution_order(wanted.model)
    return Problem(
        model=wanted.model,
        order=order,
        seats=seats,
        computes={op.id: tuple(_quickest(survey, op, seat) for seat in seats) for op in order},
        traffic=survey.traffic,
        inputs=survey.traffic.mask(wanted.mode.io),
        constants=survey.traffic.mask(wanted.mode.constants),
        outputs=MemoryAccess(reads=wanted.mode.io, writes=()),
    )


def _quickest(survey: CandidateTable, operator: Operator, seat: InstanceGroup) -> float | None:
    known = [survey.answers[operator.id][instance.name].compute for instance in seat.instances]
    return min((compute for compute in known if compute is not None), default=None)


def _seats(wanted: PlacementTask, survey: CandidateTable) -> tuple[InstanceGroup, ...]:
    """Instances of one accelerator whose paths cost the same are one seat; all others sit alone."""
    names = (*wanted.order, *(arch.name for arch in wanted.soc.archs))
    ranks = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups: dict[tuple[object, ...], list[Instance]] = {}
    for instance in wanted.soc.instances:
        alone = wanted.setting.touches_whole(instance.name)
        key = (instance.arch.name, instance.name if alone else _link_costs(survey, instance))
        groups.setdefault(key, []).append(instance)
    return tuple(
        InstanceGroup(
            instances=tuple(members),
            reach=survey.reaches[members[0].name],
            rank=ranks[members[0].arch.name],
            host=members[0].arch.host,
        )
        for members in groups.values()
    )


def _link_costs(survey: CandidateTable, instance: Instance) -> tuple[object, ...]:
    """What tells two instances apart: the paths between the memories around them and their own."""
    there, direct = survey.reaches[instance.name], survey.routes.direct
    return tuple(
        (memory, number, path.bandwidth, path.setup, path.engine, path.source == memory)
        for memory in dict.fromkeys((*there.reads, *there.writes))
        for number, tile in enumerate(there.local)
        for path in (*direct(memory, tile), *direct(tile, memory))
    )


def _hopeless(problem: Problem, survey: CandidateTable) -> list[Diagnostic]:
    """One message per operator that every instance refuses."""
    found = []
    for operator in problem.order:
        answers = survey.answers[operator.id]
        if all(answer.refusal is not None for answer in answers.values()):
            why = "; ".join(f"`{name}`: {answer.refusal}" for name, answer in answers.items())
            found.append(_nowhere(operator, why))
    return found or [
        _nowhere(op, "no copy path leads to where its neighbours are") for op in problem.order[:1]
    ]


def _nowhere(operator: Operator, why: str) -> Diagnostic:
    message = f"nothing in this SoC can run `{operator.kind}`: {why}"
    return Diagnostic(rule="unsupported-operator", place=place_of(operator), message=message)


def _partitions(
    wanted: PlacementTask, order: Sequence[Operator], choices: Mapping[str, Choice]
) -> tuple[Partition, ...]:
    """Runs of operators on one instance; an accelerator that takes no chains gets one operator at a time."""
    runs: list[list[int]] = []
    made = [choices[operator.id] for operator in order]
    instances = {instance.name: instance for instance in wanted.soc.instances}
    for number, choice in enumerate(made):
        same = bool(runs) and made[runs[-1][0]].instance == choice.instance
        if same and _joined(wanted, instances[choice.instance], order, runs[-1], number):
            runs[-1].append(number)
        else:
            runs.append([number])
    return tuple(
        Partition(
            id=f"p{number}",
            instance=made[run[0]].instance,
            operators=tuple(order[index] for index in run),
            reason=_together([made[index].reason for index in run]),
        )
        for number, run in enumerate(runs)
    )


def _joined(
    wanted: PlacementTask, instance: Instance, order: Sequence[Operator], run: Sequence[int], number: int
) -> bool:
    """Whether an operator belongs to the partition of those that run before it on the same instance."""
    backend = wanted.backends.get(instance.arch.name)
    if backend is None or backend.joins is None:
        return wanted.setting.is_function(instance.name)
    return backend.joins(tuple(wanted.question(order[index], instance) for index in (*run, number))) is None


def _together(reasons: list[str]) -> str:
    """The reason of a partition: that of its first operator, and how many others there are."""
    more = len(reasons) - 1
    return reasons[0] + (f"; and {more} more operator{'s' if more > 1 else ''} there" if more else "")
