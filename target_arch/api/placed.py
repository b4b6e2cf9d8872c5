"""Which operator of a model goes where, and why: nothing is lowered yet."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict, Unpack

from attrs import field, frozen

from target_arch.api.model_file import Model, model_file
from target_arch.api.options import CompileOptions, requested
from target_arch.api.shown import Shown
from target_arch.emit.manifest import execution_entry, placement_entry
from target_arch.plan.division import Divide, Share, ShareChoice, ShareRun
from target_arch.plan.manifest.model import ExecutionEntry, PlacementEntry
from target_arch.plan.partitions import Candidate, Choice, Cost, CostItem, Partition, PartitionGraph
from target_arch.plan.printed import text
from target_arch.plan.printed.frames import frames_on_cores
from target_arch.plan.printed.reasoning import changes_to, require_operators
from target_arch.soc import SoC
from target_arch.soc.schema.records import to_json


class PlacedPartition(TypedDict):
    """A piece of the model on one instance, as in the manifest."""

    id: str
    instance: str
    target_arch: Annotated[str, "the kind of the instance"]
    operators: Annotated[list[str], "ids in the order of execution"]
    reason: Annotated[str, "why it is there"]


class PlacedParts(TypedDict):
    """A model cut into partitions, with the estimates of the placement and the simulated run."""

    partitions: list[PlacedPartition]
    placement: PlacementEntry
    execution: ExecutionEntry | None


class CandidateSeconds(TypedDict):
    """Seconds of an operator on an instance."""

    compute: float
    copy: Annotated[float, "of all copies"]
    order: Annotated[float, "of the host, to start the operator and to see its end"]
    load: Annotated[float, "to bring up the instance, once; not in the total"]
    total: Annotated[float, "computing, copies and order"]
    copies: Annotated[list[CostItem], "each copy, and the order"]


class ExplainedCandidate(TypedDict):
    """An instance that was considered for an operator."""

    instance: str
    refusal: Annotated[str | None, "why it cannot take the operator; null where it can"]
    run: Annotated[
        float | None, "seconds of the run with the operator there; null where that was not asked for"
    ]
    seconds: Annotated[CandidateSeconds | None, "null where it is refused"]
    measured: Annotated[bool, "whether the seconds of computing are no estimate"]
    joules: Annotated[float | None, "null where that is not known"]
    change: Annotated[str | None, "what would have to change for it to be chosen; null where nothing is said"]


class ExplainedRun(TypedDict):
    """The run with an operator in shares."""

    shares: Annotated[list[Share], "empty where it is whole"]
    along: Annotated[int | None, "the axis of the shares; null where it is whole"]
    run: Annotated[float | None, "seconds; null where an instance does not take its share"]


class ExplainedDivision(ExplainedRun):
    """The shares of an operator as they are, and the run with others."""

    axis: Annotated[int, "along which shares usually are"]
    extent: Annotated[int, "places along the axis"]
    others: list[ExplainedRun]


class ExplainedOperator(TypedDict):
    """Why an operator is where it is, and nowhere else."""

    operator: str
    instance: str
    reason: str
    way: Annotated[str, "how it is computed there; empty where the backend does not say"]
    candidates: Annotated[list[ExplainedCandidate], "every instance of the SoC"]
    division: Annotated[ExplainedDivision | None, "null where shares were not asked for"]
    turns: Annotated[
        tuple[str, ...] | None,
        "equal cores, the instance among them, that compute a whole frame each, in turns; null elsewhere",
    ]


@frozen(kw_only=True, repr=False)
class Partitioning:
    """A model cut into partitions, each with its place."""

    graph: PartitionGraph
    soc: SoC = field(repr=False)
    shares: tuple[ShareChoice, ...] = field(default=(), repr=False)
    """Of operators that were asked for and may be divided, the run with other shares."""
    turns: tuple[str, ...] = ()
    """Equal cores on which frames in flight take turns; `graph` places the operators on the first one."""

    @property
    def operators(self) -> tuple[str, ...]:
        """The ids of the model's operators, in the order of execution."""
        return tuple(operator.id for operator in self.graph.model.operators)

    def explain(self, operator: str) -> Shown[Choice]:
        """Why an operator (by id) is where it is and nowhere else. DiagnosticError for an unknown one."""
        (found,) = self.explain_all([operator])
        return found

    def explain_all(self, operators: Sequence[str]) -> list[Shown[Choice]]:
        """As `explain`, of several operators; DiagnosticError with every unknown one."""
        return explained(self.graph, operators, self.shares, self.turns)

    def to_json(self) -> PlacedParts:
        """The partitions, the estimates of the placement and the simulated run, as in a manifest."""
        graph = self.graph
        return {
            "partitions": [_partition(each, self.soc) for each in graph.partitions],
            "placement": to_json(placement_entry(graph)),
            "execution": to_json(execution_entry(graph.run)),
        }

    def __repr__(self) -> str:
        return f"<partitioning of {self.graph.model.name}: {text.placed_operators(self.graph)}>"

    def __str__(self) -> str:
        graph = self.graph
        run = "" if graph.run is None else text.simulated_run(graph.run, graph.facts, lowered=False)
        return text.partition_table(graph) + run


def partition(
    model: Model,
    soc: str | Path | SoC,
    *,
    runs_of: Sequence[str] = (),
    **options: Unpack[CompileOptions],
) -> Partitioning:
    """Place the operators of a model; options and errors as those of `compile`. Explanations of the operators
    in `runs_of` also have the run that each other place would give; and with `divide="auto"`, for which all
    is lowered, the run with other shares. With `frames` on equal cores all is lowered, too, and operators are
    placed as frames that take turns have them.
    """
    with model_file(model) as file:
        request = requested(file, soc, options)
        from target_arch.pipeline import explain_model, explain_shares, explain_turns
        from target_arch.pipeline.reuse import Reuse

        reuse, divided = Reuse(), request.divide is Divide.AUTO and runs_of
        found = explain_turns(request, runs_of, reuse)
        graph, turns = found or (explain_model(request, runs_of, reuse), ())
        shares = explain_shares(request, runs_of, reuse) if divided else ()
        return Partitioning(graph=graph, soc=request.soc, shares=shares, turns=turns)


def explained(
    graph: PartitionGraph,
    operators: Sequence[str],
    shares: Sequence[ShareChoice] = (),
    turns: tuple[str, ...] = (),
) -> list[Shown[Choice]]:
    """The choices that were made for operators, `turns` are cores on which frames take turns. DiagnosticError
    with every operator that the model lacks.
    """
    require_operators(operators, graph.model, "explain")
    divided = {each.operator: each for each in shares}
    return [_explained(graph, operator, divided.get(operator), turns) for operator in operators]


def _explained(
    graph: PartitionGraph, operator: str, shares: ShareChoice | None, turns: tuple[str, ...]
) -> Shown[Choice]:
    choice = graph.choice(operator)
    cores = turns if choice.instance in turns else None
    said = text.explanation(graph, operator) + ("" if shares is None else text.share_choice(shares))
    return Shown(
        title=f"{operator} on {choice.instance}: {choice.reason}",
        value=choice,
        text=said + ("" if cores is None else frames_on_cores(cores)),
        json=partial(_choice, choice, shares, cores),
    )


def _partition(part: Partition, soc: SoC) -> PlacedPartition:
    return {
        "id": part.id,
        "instance": part.instance,
        "target_arch": soc.instance(part.instance).arch.name,
        "operators": [operator.id for operator in part.operators],
        "reason": part.reason,
    }


def _choice(choice: Choice, shares: ShareChoice | None, turns: tuple[str, ...] | None) -> ExplainedOperator:
    changes = changes_to(choice)
    return {
        "operator": choice.operator,
        "instance": choice.instance,
        "reason": choice.reason,
        "way": choice.way,
        "candidates": [_candidate(each, changes.get(each.instance)) for each in choice.candidates],
        "division": None if shares is None else _division(shares),
        "turns": turns,
    }


def _division(shares: ShareChoice) -> ExplainedDivision:
    return {
        "axis": shares.axis,
        "extent": shares.extent,
        **_shares(shares.chosen),
        "others": [_shares(each) for each in shares.others],
    }


def _shares(tried: ShareRun) -> ExplainedRun:
    cut = tried.cut
    shares, along = ((), None) if cut is None else (cut.shares, cut.axis)
    return {"shares": to_json(shares), "along": along, "run": tried.run}


def _candidate(candidate: Candidate, change: str | None) -> ExplainedCandidate:
    cost = candidate.cost
    return {
        "instance": candidate.instance,
        "refusal": candidate.refusal,
        "run": candidate.run,
        "seconds": None if cost is None else _seconds(cost),
        "measured": cost is not None and cost.measured,
        "joules": None if cost is None else cost.energy,
        "change": change,
    }


def _seconds(cost: Cost) -> CandidateSeconds:
    return {
        "compute": cost.compute,
        "copy": cost.copy,
        "order": cost.order,
        "load": cost.load,
        "total": cost.total,
        "copies": to_json(cost.parts),
    }
