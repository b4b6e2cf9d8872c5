"""The operators of a model as the manifest has them: shapes, and every place with its cost or refusal."""

from collections.abc import Mapping

from attrs import asdict

from target_arch.plan.division import SliceOf
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.operators import (
    CandidateEntry,
    CopyEntry,
    CostEntry,
    DividedEntry,
    OperatorEntry,
    ShareEntry,
    SliceEntry,
)
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Candidate, Choice, Cost, PartitionGraph
from target_arch.plan.printed.reasoning import changes_to


def operator_entries(model: Model, graph: PartitionGraph) -> tuple[OperatorEntry, ...]:
    """One entry per operator, in the order of the model; costs in seconds, energy in joules."""
    choices = {choice.operator: choice for choice in graph.choices}
    return tuple(_operator(model, operator, choices.get(operator.id)) for operator in model.operators)


def _operator(model: Model, operator: Operator, choice: Choice | None) -> OperatorEntry:
    output = model.tensors[operator.output]
    return OperatorEntry(
        id=operator.id,
        kind=str(operator.kind),
        location=operator.location,
        inputs=tuple(operator.inputs),
        output=output.name,
        shape=output.shape,
        dtype=output.dtype,
        macs=model.macs(operator),
        constant_bytes=sum(model.tensors[name].bytes for name in operator.constants),
        reason="" if choice is None else choice.reason,
        way="" if choice is None else choice.way,
        candidates=() if choice is None else _candidates(choice),
        slice_of=_slice(model.slices.get(operator.id)),
        link_of=model.links.get(operator.id, ""),
    )


def divided_entries(lowered: Lowered) -> tuple[DividedEntry, ...] | None:
    """One entry per divided operator, in the order of the model; None where none is divided."""
    if lowered.whole is None:
        return None
    division = lowered.division
    ids = {(part.operator, part.start, part.stop): id for id, part in lowered.model.slices.items()}
    return tuple(
        DividedEntry(
            whole=entry,
            axis=division[entry.id].axis,
            shares=tuple(
                ShareEntry(slice=ids[entry.id, share.start, share.stop], **asdict(share))
                for share in division[entry.id].shares
            ),
        )
        for entry in operator_entries(lowered.whole.model, lowered.whole)
        if entry.id in division
    )


def _slice(part: SliceOf | None) -> SliceEntry | None:
    return None if part is None else SliceEntry(**asdict(part))


def _candidates(choice: Choice) -> tuple[CandidateEntry, ...]:
    changes = changes_to(choice)
    return tuple(_candidate(candidate, changes) for candidate in choice.candidates)


def _candidate(candidate: Candidate, changes: Mapping[str, str]) -> CandidateEntry:
    return CandidateEntry(
        instance=candidate.instance,
        cost=None if candidate.cost is None else _cost(candidate.cost),
        refusal=candidate.refusal,
        change=changes.get(candidate.instance),
    )


def _cost(cost: Cost) -> CostEntry:
    return CostEntry(
        compute=cost.compute,
        copies=tuple(CopyEntry(what=part.what, seconds=part.seconds) for part in cost.parts),
        load=cost.load,
        measured=cost.measured,
        energy=cost.energy,
    )
