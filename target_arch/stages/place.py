"""Placement: which instance runs which operator, what it costs there, and why nowhere else.

The cost of a placement is the backends' estimates of computing plus every copy: inputs from where their
producers leave them, constants, results on their way to consumers and back to the host's memories.
"""

from collections.abc import Mapping

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Choice, Partition, PartitionGraph
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages.cover import Problem, Seat, cover
from target_arch.stages.errors import PlacementError
from target_arch.stages.execution import execution_order
from target_arch.stages.reasons import choices
from target_arch.stages.rules import Rules, check_rules
from target_arch.stages.survey import Survey, Wanted, place_of
from target_arch.stages.traffic import Reach

NO_RULES = Rules()


def place(
    model: Model,
    soc: SoC,
    backends: Mapping[str, Backend],
    rules: Rules = NO_RULES,
    *,
    order: tuple[str, ...] | None = None,
    mode: MemoryMode | None = None,
) -> PartitionGraph:
    """Give every operator an instance and cut the model into partitions.

    `backends` maps target_arch names; a target_arch without one is refused everything. `order` (target_arch
    names, by
    default the SoC's partitioning order) breaks ties of cost. Raises PlacementError where a rule names
    nothing or cannot be honoured, or where nothing supports an operator.
    """
    check_rules(rules, model, soc)
    wanted = Wanted(
        model=model,
        soc=soc,
        mode=mode or soc.mode(),
        backends=backends,
        rules=rules,
        order=order or soc.partitioning,
    )
    survey = Survey(wanted)
    problem = _problem(wanted, survey)
    seats = cover(problem)
    if seats is None:
        raise PlacementError(_hopeless(problem, survey))
    made = choices(wanted, survey, problem, seats, _share(problem, survey, seats))
    return PartitionGraph(model=model, partitions=_partitions(wanted, problem.order, made), choices=made)


def _problem(wanted: Wanted, survey: Survey) -> Problem:
    seats, order = _seats(wanted, survey), execution_order(wanted.model)
    return Problem(
        model=wanted.model,
        order=order,
        seats=seats,
        computes={op.id: tuple(_quickest(survey, op, seat) for seat in seats) for op in order},
        traffic=survey.traffic,
        inputs=survey.traffic.mask(wanted.mode.io),
        constants=survey.traffic.mask(wanted.mode.constants),
        outputs=Reach(reads=wanted.mode.io, writes=()),
    )


def _quickest(survey: Survey, operator: Operator, seat: Seat) -> float | None:
    known = [survey.answers[operator.id][instance.name].compute for instance in seat.instances]
    return min((compute for compute in known if compute is not None), default=None)


def _seats(wanted: Wanted, survey: Survey) -> tuple[Seat, ...]:
    """Instances of one accelerator whose paths cost the same are one seat; all others sit alone."""
    names = (*wanted.order, *(arch.name for arch in wanted.soc.archs))
    ranks = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups: dict[tuple[object, ...], list[Instance]] = {}
    for instance in wanted.soc.instances:
        alone = wanted.codegen(instance) == "c"
        key = (instance.arch.name, instance.name if alone else _link_costs(survey, instance))
        groups.setdefault(key, []).append(instance)
    return tuple(
        Seat(
            instances=tuple(members),
            reach=survey.reaches[members[0].name],
            rank=ranks[members[0].arch.name],
            host=members[0].arch.host,
        )
        for members in groups.values()
    )


def _link_costs(survey: Survey, instance: Instance) -> tuple[object, ...]:
    """What tells two instances apart: the paths between the memories around them and their own."""
    there, direct = survey.reaches[instance.name], survey.routes.direct
    return tuple(
        (memory, number, path.bandwidth, path.setup, path.engine, path.source == memory)
        for memory in dict.fromkeys((*there.reads, *there.writes))
        for number, tile in enumerate(there.local)
        for path in (*direct(memory, tile), *direct(tile, memory))
    )


def _share(problem: Problem, survey: Survey, seats: Mapping[str, int]) -> dict[str, Instance]:
    """Deal the operators of a seat out to its instances: the least busy one that may take it, the first of
    these.
    """
    busy = {instance.name: 0.0 for seat in problem.seats for instance in seat.instances}
    chosen = {}
    for operator in problem.order:
        answers = survey.answers[operator.id]
        able = [i for i in problem.seats[seats[operator.id]].instances if answers[i.name].compute is not None]
        instance = min(able, key=lambda able: busy[able.name])
        busy[instance.name] += answers[instance.name].compute or 0.0
        chosen[operator.id] = instance
    return chosen


def _hopeless(problem: Problem, survey: Survey) -> list[Diagnostic]:
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
    wanted: Wanted, order: tuple[Operator, ...], made: tuple[Choice, ...]
) -> tuple[Partition, ...]:
    """Runs of operators on one instance; an accelerator gets one operator at a time."""
    runs: list[list[int]] = []
    for number, choice in enumerate(made):
        same = bool(runs) and made[runs[-1][0]].instance == choice.instance
        if same and wanted.codegen(wanted.soc.instance(choice.instance)) == "c":
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


def _together(reasons: list[str]) -> str:
    """The reason of a partition: that of its first operator, and how many others there are."""
    more = len(reasons) - 1
    return reasons[0] + (f"; and {more} more operator{'s' if more > 1 else ''} there" if more else "")
