"""Placements without a bundle, and the reasons for them."""

from collections.abc import Collection

from target_arch.pipeline.frames import wanted_frames
from target_arch.pipeline.planning import placed_as_asked, placed_for_slices, plan
from target_arch.pipeline.preparation import PreparedModel, prepare
from target_arch.pipeline.request import CompileRequest
from target_arch.pipeline.resolve import rules
from target_arch.pipeline.reuse import Reuse
from target_arch.plan.division import Divide, ShareChoice
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.division.explained import share_choices
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.errors import NOT_LOWERED, PlacementError
from target_arch.stages.frames.cores import spare_cores
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.steps.expected import with_runs


def partition_model(request: CompileRequest) -> PartitionGraph:
    """Only the first half: import and place, nothing is lowered. Raises as `compile_model` does.

    `run` is simulated, with stand-ins for kernels.
    """
    return explain_model(request, ())


def explain_model(
    request: CompileRequest, operators: Collection[str], reuse: Reuse | None = None
) -> PartitionGraph:
    """As `partition_model`; candidates of these operators have the run if the operator went there. The
    imported model is taken from `reuse`, and kept there.
    """
    prepared = prepare(request, reuse)
    model, setting = prepared.model, prepared.setting
    graph = _placed(prepared, request)
    grouping = Grouping(model=model, setting=setting, backends=prepared.backends)
    return with_runs(graph, grouping, operators)


def _placed(prepared: PreparedModel, request: CompileRequest) -> PartitionGraph:
    """The placement of whole operators; of those that may be divided, where there is none."""
    setting, wishes = prepared.setting, rules(request)
    try:
        return placed_as_asked(prepared, setting, wishes)
    except PlacementError:
        sliced = placed_for_slices(prepared, setting, wishes) if request.divide is Divide.AUTO else None
        if sliced is None:
            raise
        return sliced


def explain_turns(
    request: CompileRequest, operators: Collection[str], reuse: Reuse | None = None
) -> tuple[PartitionGraph, tuple[str, ...]] | None:
    """The placement with which frames take turns on equal cores, and these cores, if they would in a bundle;
    the rest as in `explain_model`. Everything is lowered where there are such cores and frames are wanted.
    None where frames take no turns, or the model does not fit.
    """
    if wanted_frames(request) is None or not any(spare_cores(request.soc)):
        return None
    prepared = prepare(request, reuse)
    try:
        lowered = plan(prepared, request.soc, advised=False)
    except NOT_LOWERED:
        return None
    if lowered.frames is None or not lowered.frames.cores:
        return None
    grouping = Grouping(model=prepared.model, setting=prepared.setting, backends=prepared.backends)
    return with_runs(lowered.whole or lowered.graph, grouping, operators), lowered.frames.cores


def explain_shares(
    request: CompileRequest, operators: Collection[str], reuse: Reuse | None = None
) -> tuple[ShareChoice, ...]:
    """Of operators of the model that may be divided, the expected run with other shares of each alone. Raises
    as `compile_model` does: everything is lowered. `reuse` as for `explain_model`.
    """
    prepared = prepare(request, reuse)
    lowered = plan(prepared, request.soc)
    graphs = DividedGraphs(
        base=lowered.whole or lowered.graph,
        setting=prepared.setting,
        backends=prepared.backends,
        rules=rules(request),
    )
    return tuple(share_choices(lowered.division, graphs, operators))
