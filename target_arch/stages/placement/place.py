"""Placement: the instance of every operator, its cost there, and the reason why it is not elsewhere.

The search minimizes the makespan: the end of the last result in a model of a run in which instances compute
and channels copy at the same time. Costs are the estimates of backends, or times measured in a cost file, and
the times of all copies: of inputs from the memory in which their producer leaves them, of constants, and of
results to their consumers and the caller. The printed run is not this model: it is a replay of the emitted
steps (`stages.steps`). With another objective the search goes on from there: for the least busy resource, or
the least energy.
"""

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic
from target_arch.plan.model import Model, Operator
from target_arch.plan.objective import Objective
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import PartitionGraph, PlacementFacts
from target_arch.soc.model import Instance
from target_arch.stages.errors import PlacementError
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.paths.reach import MemoryAccess
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.aims import PLAIN, Aimed, Judge, PlacementTrial
from target_arch.stages.placement.candidates import CandidateTable, PlacementTask
from target_arch.stages.placement.cheapest_chain import BEAM, ChainProblem, InstanceGroup, cheapest_chain
from target_arch.stages.placement.explain import choices
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.placement.job_shop import JobShop
from target_arch.stages.placement.measured_costs import check_costs
from target_arch.stages.placement.operator_order import execution_order, peaks
from target_arch.stages.placement.rules import Rules, check_rules, place_of
from target_arch.stages.placement.search.found import Found
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.setting import Setting

NO_RULES = Rules()
COVERED = 60_000
"""The most pairs of operator and group that the search for the cheapest chain may look at."""
WORTH = 0.01
"""The share of the makespan that an order must save to replace the order that needs least memory."""


@define(kw_only=True)
class Remembered:
    """The store that placements leave for later ones: results of searches by the whole of their problem, and
    what backends keep for the model whatever the chip.
    """

    searches: MutableMapping[object, Found | None] = field(factory=dict)
    shared: MutableMapping[object, Any] = field(factory=dict)


def place(
    model: Model,
    setting: Setting,
    backends: Mapping[str, Backend],
    rules: Rules = NO_RULES,
    *,
    order: tuple[str, ...] | None = None,
    trial: PlacementTrial = PLAIN,
    remembered: Remembered | None = None,
) -> PartitionGraph:
    """Give every operator an instance and cut the model into partitions.

    `backends` maps target_arch names; a target_arch without one runs no operator. `order` (target_arch names,
    by default the SoC's partitioning order) breaks ties of cost. Measured costs of the setting override
    estimates. `trial` says how to search. What is `remembered` is used, and what this search finds is added.

    Raises PlacementError where a rule or a measured cost names nothing or a rule cannot be honoured, or where
    nothing supports an operator; SolverMissingError where an exact trial lacks its solver.
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
        shared={} if remembered is None else remembered.shared,
        in_slices=trial.in_slices,
    )
    candidates = CandidateTable(wanted)
    searched = None if remembered is None else remembered.searches
    placed = _Placed.search(wanted, candidates, searched=searched, trial=trial)
    made = choices(wanted, candidates, placed.problem, placed.groups, placed.instances, placed.judge)
    by_id = {choice.operator: choice for choice in made}
    ordered = _stores_last(placed.order)
    return PartitionGraph(
        model=model,
        partitions=Grouping(model=model, setting=setting, backends=backends).partitions(ordered, by_id),
        choices=tuple(by_id[operator.id] for operator in ordered),
        facts=placed.facts,
    )


def _stores_last(order: Sequence[Operator]) -> tuple[Operator, ...]:
    """The order, with operators that store states after everything that may read them."""
    return tuple(sorted(order, key=lambda operator: operator.kind is OperatorKind.STORE))


@frozen(kw_only=True)
class _Placed:
    """A problem and its solution: the group and the instance of every operator, the order, facts, and what
    judges candidates where the objective is not a short run.
    """

    problem: ChainProblem
    groups: Mapping[str, int]
    instances: Mapping[str, Instance]
    order: tuple[Operator, ...]
    facts: PlacementFacts
    judge: Judge | None

    @classmethod
    @gc_paused()
    def search(
        cls,
        wanted: PlacementTask,
        candidates: CandidateTable,
        *,
        searched: MutableMapping[object, Found | None] | None,
        trial: PlacementTrial,
    ) -> "_Placed":
        problem = _problem(wanted, candidates, trial.staying)
        if any(all(time is None for time in times) for times in problem.computes.values()):
            raise PlacementError(_hopeless(problem, candidates))
        cheapest = cheapest_chain(problem, _beam(problem))
        network = JobShop(wanted, candidates, problem)
        aimed = Aimed(wanted.setting, network.jobs, _energies(candidates, problem, network))
        scheduler = ListScheduler(aimed.jobs)
        chain = None if cheapest is None else tuple(network.groups(cheapest))
        found = _found(aimed, scheduler, chain, trial, searched)
        if found is None:
            raise PlacementError(_hopeless(problem, candidates))
        chosen = _ordered(wanted, network, scheduler, found, problem.order)
        numbers = network.order(problem.order)[2:-1]
        pairs = list(zip(problem.order, numbers, strict=True))
        instances = wanted.soc.instances
        used = {op.id: instances[chosen.machines[job]] for op, job in pairs}
        return cls(
            problem=problem,
            groups={op.id: chosen.groups[job] for op, job in pairs},
            instances=used,
            order=network.operators(chosen.order),
            facts=evolve(_facts(chosen, found, used, candidates), objective=aimed.facts(found)),
            judge=aimed.judge(chosen, {op.id: job for op, job in pairs}),
        )


def _found(
    aimed: Aimed,
    scheduler: ListScheduler,
    chain: tuple[int, ...] | None,
    trial: PlacementTrial,
    searched: MutableMapping[object, Found | None] | None,
) -> Found | None:
    """The result of the search, which later searches of the same problem find in `searched`, if that is kept:
    the key is the whole problem, and takes its time.
    """
    if searched is None:
        return aimed.search(scheduler, chain, trial)
    key = (aimed.content(trial), chain)
    try:
        return searched[key]
    except KeyError:
        return searched.setdefault(key, aimed.search(scheduler, chain, trial))


def _facts(
    chosen: JobSchedule, found: Found, used: Mapping[str, Instance], candidates: CandidateTable
) -> PlacementFacts:
    """How the placement was found, with the times and bytes of loading and the energy. `used` are
    instances by operator.
    """
    loads = [instance.arch.load for instance in {i.name: i for i in used.values()}.values()]
    joules = _joules(candidates, used)
    return PlacementFacts(
        method=found.method,
        search_makespan=chosen.makespan / PICO,
        search_bound=min(found.bound, chosen.makespan) / PICO,
        load=sum(load.time for load in loads),
        load_bytes=sum(load.bytes for load in loads),
        energy=sum(joules),
        metered=len(joules),
    )


def _energies(
    candidates: CandidateTable, problem: ChainProblem, network: JobShop
) -> list[list[float | None]]:
    """The joules of every job on every group, None where nothing states them."""
    count = network.jobs.groups
    rows: list[list[float | None]] = [[None] * count for _ in network.jobs.names]
    for operator in problem.order:
        answers, row = candidates.answers[operator.id], rows[network.number(operator)]
        if all(answer.energy is None for answer in answers.values()):
            continue
        for number, group in enumerate(problem.groups):
            stated = [answers[instance.name].energy for instance in group.instances]
            row[number] = min((energy for energy in stated if energy is not None), default=None)
    return rows


def _joules(candidates: CandidateTable, used: Mapping[str, Instance]) -> list[float]:
    """The energy of the operators on their instances, in joules, as far as it is known."""
    energies = (candidates.answers[operator][instance.name].energy for operator, instance in used.items())
    return [energy for energy in energies if energy is not None]


def _beam(problem: ChainProblem) -> int:
    """How many states the search for the cheapest chain may keep, so that it stays affordable."""
    return max(1, min(BEAM, COVERED // max(1, len(problem.order) * len(problem.groups))))


def _ordered(
    wanted: PlacementTask, network: JobShop, scheduler: ListScheduler, found: Found, lean: Sequence[Operator]
) -> JobSchedule:
    """The operators in the order in which they will run.

    This is the `lean` order, which needs least memory. The order of the search replaces it where that is
    faster and leaves half of the preferred memory free, but never after a partition did not fit. With frames
    in flight the order of a frame decides little: then it is the lean one.
    """
    small = scheduler.run(network.order(lean), found.schedule.groups)
    if small is not None and wanted.setting.objective is Objective.THROUGHPUT:
        return evolve(small, machines=found.schedule.machines)
    fast = scheduler.run(found.schedule.by_start(), found.schedule.groups)
    fast = fast if fast is not None and fast.cost <= found.schedule.cost else found.schedule
    if small is None:
        return fast
    room = wanted.soc.memory(wanted.mode.workspace[0]).size // 2
    peak, least = peaks(wanted.model, network.operators(fast.order), lean)
    crowded = peak > max(room, least)
    if crowded or wanted.rules.given_up or fast.makespan > small.makespan * (1 - WORTH):
        return small
    return fast


def _problem(
    wanted: PlacementTask, candidates: CandidateTable, staying: Collection[tuple[str, str]] = ()
) -> ChainProblem:
    groups, order = _groups(wanted, candidates), execution_order(wanted.model)
    numbers = {each.name: number for number, group in enumerate(groups) for each in group.instances}
    return ChainProblem(
        model=wanted.model,
        order=order,
        groups=groups,
        computes={op.id: tuple(_quickest(candidates, op, group) for group in groups) for op in order},
        traffic=candidates.traffic,
        inputs=candidates.traffic.mask(wanted.mode.io),
        constants=candidates.traffic.mask(wanted.mode.constants),
        staying=frozenset((operator, numbers[name]) for operator, name in staying if name in numbers),
        outputs=MemoryAccess(reads=wanted.mode.io, writes=()),
    )


def _quickest(candidates: CandidateTable, operator: Operator, group: InstanceGroup) -> float | None:
    known = [candidates.answers[operator.id][instance.name].compute for instance in group.instances]
    return min((compute for compute in known if compute is not None), default=None)


def _groups(wanted: PlacementTask, candidates: CandidateTable) -> tuple[InstanceGroup, ...]:
    """The groups of interchangeable instances: instances of one accelerator whose paths cost the same.
    Any other instance is a group of its own.
    """
    names = (*wanted.order, *(arch.name for arch in wanted.soc.archs))
    ranks = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups: dict[tuple[object, ...], list[Instance]] = {}
    for instance in wanted.soc.instances:
        alone = wanted.setting.touches_whole(instance.name)
        key = (instance.arch.name, instance.name if alone else _link_costs(candidates, instance))
        groups.setdefault(key, []).append(instance)
    return tuple(
        InstanceGroup(
            instances=tuple(members),
            reach=candidates.reaches[members[0].name],
            rank=ranks[members[0].arch.name],
            host=members[0].arch.host,
            order=wanted.setting.order(members[0]),
        )
        for members in groups.values()
    )


def _link_costs(candidates: CandidateTable, instance: Instance) -> tuple[object, ...]:
    """The costs by which two instances differ: of paths between their own memories and all others."""
    there, direct = candidates.reaches[instance.name], candidates.routes.direct
    return tuple(
        (memory, number, path.bandwidth, path.setup, path.engine, path.source == memory)
        for memory in dict.fromkeys((*there.reads, *there.writes))
        for number, tile in enumerate(there.local)
        for path in (*direct(memory, tile), *direct(tile, memory))
    )


def _hopeless(problem: ChainProblem, candidates: CandidateTable) -> list[Diagnostic]:
    """One message per operator that every instance refuses."""
    found = []
    for operator in problem.order:
        answers = candidates.answers[operator.id]
        if all(answer.refusal is not None for answer in answers.values()):
            why = "; ".join(f"`{name}`: {answer.refusal}" for name, answer in answers.items())
            found.append(_nowhere(operator, why))
    return found or [
        _nowhere(op, "no copy path leads to where its neighbours are") for op in problem.order[:1]
    ]


def _nowhere(operator: Operator, why: str) -> Diagnostic:
    message = f"nothing in this SoC can run `{operator.kind}`: {why}"
    return Diagnostic(rule="unsupported-operator", place=place_of(operator), message=message)
