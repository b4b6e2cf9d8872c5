"""The second part of a compilation: a model placed, lowered and planned on what others leave of the chip."""

from collections.abc import Callable, Collection, MutableMapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve

from target_arch.pipeline.costs_used import costs_used
from target_arch.pipeline.fewer_composites import alike, on_fewer, without_composites
from target_arch.pipeline.frames import wanted_frames, with_frames
from target_arch.pipeline.lowerer import Lowerer
from target_arch.pipeline.more_frames import NO_LIMITS, Limits, with_halves, with_host_slices
from target_arch.pipeline.objectives import lowered_for, most_often, with_choice
from target_arch.pipeline.preparation import PreparedModel, imported
from target_arch.pipeline.request import CompileRequest
from target_arch.pipeline.resolve import partitioning_order, programmed, rules
from target_arch.plan.division import Divide
from target_arch.plan.lowered import Lowered
from target_arch.plan.objective import Objective
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.check import check_imported
from target_arch.stages.division.choose import divided_where_faster, fastest
from target_arch.stages.division.fitting import Misfit, divided_where_it_fits
from target_arch.stages.division.graphs import DividedGraphs, as_placed
from target_arch.stages.division.room import only_in_slices
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.lowering.budgets.budget import limited
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.aims import PLAIN, PlacementTrial
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting


def plan(prepared: PreparedModel, chip: SoC, *, advised: bool = True) -> Lowered:
    """The second part: place, lower and plan, on the part of the chip that other models leave. Unless
    `advised`, a refusal has no hint.
    """
    asked = prepared.request
    request = evolve(asked, soc=programmed(asked, chip))
    ready = evolve(prepared, request=request)
    fewer = without_composites(request, prepared.backends)
    if not fewer:
        return _lower(ready, advised=advised)
    try:
        return _lower(ready, advised=False)
    except DoesNotFitError as refusal:
        found = _on_fewer_composites(ready, fewer, refusal)
    return _lower(ready, advised=advised) if found is None else found


def _on_fewer_composites(
    prepared: PreparedModel, fewer: Sequence[CompileRequest], refusal: DoesNotFitError
) -> Lowered | None:
    """The lowering of the first of these requests under which the model has other operators, and they fit;
    None if none does.
    """
    for request in fewer:
        (model, program), shared = imported(request, prepared.backends, prepared.plug_ins, prepared.reuse)
        if alike(model, prepared.model):
            continue
        ready = evolve(prepared, request=request, model=model, program=program, shared=shared)
        try:
            made = _lower(ready, advised=False)
        except (DoesNotFitError, PlacementError):
            continue
        return evolve(made, attempts=(*on_fewer(prepared.request, request, refusal), *made.attempts))
    return None


def _lower(prepared: PreparedModel, *, advised: bool = True) -> Lowered:
    """Unless `advised`, a refusal has no hint."""
    setting = prepared.setting
    request, backends, model = prepared.request, prepared.backends, prepared.model
    wishes = rules(request)

    def lower(
        place: Callable[[Rules], PartitionGraph],
        shared: MutableMapping[object, Any],
        setting: Setting = setting,
        limits: Limits = NO_LIMITS,
        *,
        advised: bool,
    ) -> Lowered:
        wish, policies = request.lowering_order or None, prepared.plug_ins.policies
        lowerer = Lowerer(request.soc, backends, prepared.program, request.tuning, request.optimize, shared)
        return lower_in_order(
            setting=setting,
            place=place,
            order=lambda graph: lowering_order(graph, setting.soc, setting.codegens, wish, policies),
            lower=lambda graph, partition, budget: lowerer.lower(graph, partition, limited(budget, limits)),
            rules=wishes,
            advance=lowerer.advance,
            advised=advised,
        )

    def again(graph: PartitionGraph, chip: Setting = setting, limits: Limits = NO_LIMITS) -> Lowered:
        return lower(partial(as_placed, graph, wishes), {}, chip, limits, advised=False)

    def graphs(base: PartitionGraph) -> DividedGraphs:
        return DividedGraphs(base=base, setting=setting, backends=backends, rules=wishes)

    several = len(setting.soc.instances) > 1
    divides = request.divide is Divide.AUTO and several

    def in_slices(trial: PlacementTrial, refusal: Misfit | None = None) -> Lowered | None:
        """Operators in slices after this refusal of whole ones, or where instances have room for slices
        alone. None where there are none, or none fit.
        """
        if refusal is None and not only_in_slices(model, setting):
            return None
        base = placed_for_slices(prepared, setting, wishes, trial)
        if base is None or not (refusal or graphs(base).needed):
            return None
        return divided_where_it_fits(graphs(base), again, refusal)

    def fitted(trial: PlacementTrial) -> Lowered:
        """Whole operators where they fit, else slices of them."""
        placed = partial(placed_as_asked, prepared, setting, trial=trial)
        if divides:
            try:
                return lower(placed, prepared.shared, advised=False)
            except (DoesNotFitError, PlacementError) as refusal:
                found = in_slices(trial, refusal)
            if found is not None:
                return found
        return lower(placed, prepared.shared, advised=advised)

    def in_flight(made: Lowered) -> Lowered:
        check_imported(model, made.graph)
        return with_frames(setting, made, wanted_frames(request))

    def tried(trial: PlacementTrial) -> Lowered:
        lowered = fitted(trial)
        made = [lowered]
        if divides and not lowered.division:
            ways = (divided_where_faster(lowered, graphs(lowered.graph), again), in_slices(trial))
            made = with_choice(setting, lowered, fastest(lowered, ways))
        best = most_often([partial(in_flight, each) for each in made])
        if setting.objective is Objective.THROUGHPUT:
            best = with_halves(best, setting.soc, again, in_flight)
        if request.divide is Divide.HOST and several:
            best = with_host_slices(best, graphs(lowered.graph), again, in_flight)
        return best

    lowered = lowered_for(setting, tried)
    return evolve(lowered, costs=costs_used(lowered, setting, backends), program=prepared.program)


def placed_as_asked(
    prepared: PreparedModel,
    setting: Setting,
    rules: Rules,
    trial: PlacementTrial = PLAIN,
    *,
    in_slices: Collection[tuple[str, str]] = (),
) -> PartitionGraph:
    """The placement by the request and these rules; `in_slices` are operators and instances where only slices
    need room.
    """
    request = prepared.request
    return place(
        prepared.model,
        setting,
        prepared.backends,
        rules,
        order=partitioning_order(request),
        searched=prepared.reuse.searches,
        shared=prepared.shared,
        trial=evolve(trial, exact=request.exact),
        in_slices=in_slices,
    )


def placed_for_slices(
    prepared: PreparedModel, setting: Setting, rules: Rules, trial: PlacementTrial = PLAIN
) -> PartitionGraph | None:
    """The placement where instances may have room for slices of operators alone; None where there is none."""
    try:
        pairs = only_in_slices(prepared.model, setting)
        return placed_as_asked(prepared, setting, rules, trial, in_slices=pairs)
    except PlacementError:
        return None
