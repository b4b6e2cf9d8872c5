"""Which operator of a model goes where, and why: nothing is lowered yet."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Unpack

from attrs import asdict, field, frozen

from target_arch.api.model_file import Model, model_file
from target_arch.api.options import CompileOptions, requested
from target_arch.api.shown import Shown
from target_arch.emit.manifest import execution_entry, placement_entry
from target_arch.plan.division import Divide, ShareChoice, ShareRun
from target_arch.plan.partitions import Candidate, Choice, Partition, PartitionGraph
from target_arch.plan.printed import text
from target_arch.plan.printed.reasoning import changes_to, require_operators
from target_arch.soc import SoC
from target_arch.soc.schema.records import to_json


@frozen(kw_only=True, repr=False)
class Partitioning:
    """A model cut into partitions, each with its place."""

    graph: PartitionGraph
    soc: SoC = field(repr=False)
    shares: tuple[ShareChoice, ...] = field(default=(), repr=False)
    """Of operators that were asked for and may be divided, the run with other shares."""

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
        return explained(self.graph, operators, self.shares)

    def to_json(self) -> dict[str, object]:
        """The partitions, the estimates of the placement and the simulated run, as in a manifest."""
        graph = self.graph
        facts = {
            "placement": to_json(placement_entry(graph)),
            "execution": to_json(execution_entry(graph.run)),
        }
        return {"partitions": [_partition(each, self.soc) for each in graph.partitions], **facts}

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
    is lowered, the run with other shares.
    """
    with model_file(model) as file:
        request = requested(file, soc, options)
        from target_arch.pipeline import explain_model, explain_shares

        graph, divided = explain_model(request, runs_of), request.divide is Divide.AUTO and runs_of
        shares = explain_shares(request, runs_of) if divided else ()
        return Partitioning(graph=graph, soc=request.soc, shares=shares)


def explained(
    graph: PartitionGraph, operators: Sequence[str], shares: Sequence[ShareChoice] = ()
) -> list[Shown[Choice]]:
    """The choices that were made for operators. DiagnosticError with every one that the model lacks."""
    require_operators(operators, graph.model, "explain")
    divided = {each.operator: each for each in shares}
    return [_explained(graph, operator, divided.get(operator)) for operator in operators]


def _explained(graph: PartitionGraph, operator: str, shares: ShareChoice | None) -> Shown[Choice]:
    choice = graph.choice(operator)
    return Shown(
        title=f"{operator} on {choice.instance}: {choice.reason}",
        value=choice,
        text=text.explanation(graph, operator) + ("" if shares is None else text.share_choice(shares)),
        json=partial(_choice, choice, shares),
    )


def _partition(part: Partition, soc: SoC) -> dict[str, object]:
    """As in the manifest."""
    operators = [operator.id for operator in part.operators]
    about = {"id": part.id, "instance": part.instance, "operators": operators, "reason": part.reason}
    return {**about, "target_arch": soc.instance(part.instance).arch.name}


def _choice(choice: Choice, shares: ShareChoice | None) -> dict[str, object]:
    changes = changes_to(choice)
    candidates = [
        {**_candidate(candidate), "change": changes.get(candidate.instance)}
        for candidate in choice.candidates
    ]
    about = {"operator": choice.operator, "instance": choice.instance, "reason": choice.reason}
    division = None if shares is None else _division(shares)
    return {**about, "way": choice.way, "candidates": candidates, "division": division}


def _division(shares: ShareChoice) -> dict[str, object]:
    return {
        "axis": shares.axis,
        "extent": shares.extent,
        **_shares(shares.chosen),
        "others": [_shares(each) for each in shares.others],
    }


def _shares(tried: ShareRun) -> dict[str, object]:
    shares = () if tried.cut is None else tried.cut.shares
    return {"shares": [asdict(each) for each in shares], "run": tried.run}


def _candidate(candidate: Candidate) -> dict[str, object]:
    cost = candidate.cost
    about = {"instance": candidate.instance, "refusal": candidate.refusal, "run": candidate.run}
    if cost is None:
        return {**about, "seconds": None, "measured": False, "joules": None}
    seconds: dict[str, object] = {"compute": cost.compute, "copy": cost.copy, "load": cost.load}
    seconds["total"] = cost.total
    seconds["copies"] = [{"what": part.what, "seconds": part.seconds} for part in cost.parts]
    return {**about, "seconds": seconds, "measured": cost.measured, "joules": cost.energy}
