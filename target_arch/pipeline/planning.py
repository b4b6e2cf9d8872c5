"""The second part of a compilation: a model placed, lowered and planned on what others leave of the chip."""

from collections.abc import Callable, Collection, MutableMapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve, frozen

from target_arch.diagnostics import Keyword
from target_arch.pipeline.costs_used import costs_used
from target_arch.pipeline.fewer_composites import alike, on_fewer, without_composites
from target_arch.pipeline.frames import wanted_frames, with_frames
from target_arch.pipeline.lowerer import Lowerer
from target_arch.pipeline.more_frames import (
    NO_LIMITS,
    Limits,
    with_halves,
    with_host_slices,
    with_room,
    with_turns,
)
from target_arch.pipeline.objectives import lowered_for, most_often, with_choice
from target_arch.pipeline.preparation import PreparedModel, imported
from target_arch.pipeline.request import CompileRequest
from target_arch.pipeline.resolve import partitioning_order, programmed, rules
from target_arch.plan.division import Divide
from target_arch.plan.lowered import Lowered
from target_arch.plan.objective import Objective
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.check import RightKernels, check_imported
from target_arch.stages.division.choose import divided_where_faster, fastest
from target_arch.stages.division.fitting import (
    Misfit,
    divided_where_it_fits,
    fits_in_slices,
    slices_may_help,
)
from target_arch.stages.division.graphs import DividedGraphs, as_placed
from target_arch.stages.division.room import only_in_slices
from target_arch.stages.errors import DoesNotFitError, PlacementError, with_way_out
from target_arch.stages.lowering.budgets.budget import limited
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.one_pass import Kept
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.aims import PLAIN, PlacementTrial
from target_arch.stages.placement.place import Remembered, place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting

_IN_SLICES = (Keyword("divide", str(Divide.AUTO)), ", which computes operators in slices")
"""A change that may make a model fit."""


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
    lowering = _Lowering(prepared=prepared, setting=setting, wishes=rules(prepared.request), advised=advised)
    lowered = lowered_for(setting, lowering.tried)
    return evolve(lowered, costs=costs_used(lowered, setting, prepared.backends), program=prepared.program)


@frozen(kw_only=True)
class _Lowering:
    """The ways in which a model is placed and lowered, the best of which is taken."""

    prepared: PreparedModel
    setting: Setting
    wishes: Rules
    advised: bool

    @property
    def _several(self) -> bool:
        return len(self.setting.soc.instances) > 1

    @property
    def _divides(self) -> bool:
        return self.prepared.request.divide is Divide.AUTO and self._several

    def tried(self, trial: PlacementTrial) -> Lowered:
        """The best lowering of a placement that is searched for in this way."""
        setting, divide = self.setting, self.prepared.request.divide
        lowered = self._fitted(trial)
        made = [lowered]
        if self._divides and not lowered.division:
            exact = self.prepared.request.exact
            faster = divided_where_faster(lowered, self._graphs(lowered.graph), self._again, exact=exact)
            lowered = evolve(lowered, proof=faster.proof)
            made = with_choice(setting, lowered, fastest(lowered, (faster, self._in_slices(trial))))
        best = most_often([partial(self._in_flight, each) for each in made])
        if setting.objective is Objective.THROUGHPUT:
            best = with_halves(best, setting.soc, self._again, self._in_flight)
            best = with_room(best, setting, self._again, self._in_flight)
        if divide is Divide.HOST and self._several:
            best = with_host_slices(best, self._graphs(lowered.graph), self._again, self._in_flight)
        if wanted_frames(self.prepared.request) is not None:
            best = with_turns(best, setting, partial(self._on_one_of, trial=trial))
        limit = self.prepared.step_limit
        if limit is not None:
            from target_arch.pipeline.short_steps import with_short_steps

            best = with_short_steps(best, self._graphs(best.whole or best.graph), self._again, limit)
        return best

    def _on_one_of(self, spare: Collection[str], trial: PlacementTrial) -> Lowered:
        """The model placed as if there were no `spare` cores, and lowered so that they are started; with its
        frames.
        """
        chip = evolve(self.setting, started=frozenset(spare))
        without = self.wishes.in_turn_on(spare)
        alone = evolve(self, wishes=without)
        placed = partial(placed_as_asked, self.prepared, self.setting, trial=trial)
        return self._in_flight(alone._lowered(placed, self.prepared.shared, chip, advised=False))

    def _fitted(self, trial: PlacementTrial) -> Lowered:
        """Whole operators where they fit, else slices of them."""
        prepared = self.prepared
        placed = partial(placed_as_asked, prepared, self.setting, trial=trial)
        if self._divides:
            try:
                return self._lowered(placed, prepared.shared, advised=False)
            except (DoesNotFitError, PlacementError) as refusal:
                found = self._in_slices(trial, refusal)
            if found is not None:
                return found
        try:
            return self._lowered(placed, prepared.shared, advised=self.advised)
        except (DoesNotFitError, PlacementError) as refusal:
            if self.advised and self._several and not self._divides and self._slices_fit(trial, refusal):
                raise with_way_out(refusal, *_IN_SLICES) from None
            raise

    def _slices_fit(self, trial: PlacementTrial, refusal: Misfit) -> bool:
        """Whether the model fits in slices, after this refusal of whole operators."""
        if not slices_may_help(refusal):
            return False
        base = placed_for_slices(self.prepared, self.setting, self.wishes, trial)
        return base is not None and fits_in_slices(self._graphs(base), self._again)

    def _in_slices(self, trial: PlacementTrial, refusal: Misfit | None = None) -> Lowered | None:
        """Operators in slices after this refusal of whole ones, or where instances have room for slices
        alone. None where there are none, or none fit.
        """
        prepared, setting = self.prepared, self.setting
        if not (slices_may_help(refusal) if refusal else only_in_slices(prepared.model, setting)):
            return None
        base = placed_for_slices(prepared, setting, self.wishes, trial)
        graphs = None if base is None else self._graphs(base)
        if graphs is None or not (refusal or graphs.needed):
            return None
        return divided_where_it_fits(graphs, self._again, refusal)

    def _graphs(self, base: PartitionGraph) -> DividedGraphs:
        backends = self.prepared.backends
        return DividedGraphs(base=base, setting=self.setting, backends=backends, rules=self.wishes)

    def _in_flight(self, made: Lowered) -> Lowered:
        check_imported(self.prepared.model, made.graph)
        return with_frames(self.setting, made, wanted_frames(self.prepared.request))

    def _again(
        self, graph: PartitionGraph, chip: Setting | None = None, limits: Limits = NO_LIMITS
    ) -> Lowered:
        """A placed model lowered for the chip, or for one that differs."""
        placed = partial(as_placed, graph, self.wishes)
        return self._lowered(placed, {}, chip or self.setting, limits, advised=False)

    def _lowered(
        self,
        place: Callable[[Rules], PartitionGraph],
        shared: MutableMapping[object, Any],
        setting: Setting | None = None,
        limits: Limits = NO_LIMITS,
        *,
        advised: bool,
    ) -> Lowered:
        chip, prepared, request = setting or self.setting, self.prepared, self.prepared.request
        wish, policies = request.lowering_order or None, prepared.plug_ins.policies
        lowerer = Lowerer(
            request.soc, prepared.backends, prepared.program, request.tuning, request.optimize, shared
        )
        return lower_in_order(
            setting=chip,
            place=place,
            order=lambda graph: lowering_order(graph, chip.soc, chip.codegens, wish, policies),
            lower=lambda graph, partition, budget: lowerer.lower(graph, partition, limited(budget, limits)),
            rules=self.wishes,
            kept=Kept(advance=lowerer.advance, judged=shared.setdefault(RightKernels, {})),
            advised=advised,
        )


def placed_as_asked(
    prepared: PreparedModel,
    setting: Setting,
    rules: Rules,
    trial: PlacementTrial = PLAIN,
) -> PartitionGraph:
    """The placement by the request and these rules."""
    request = prepared.request
    return place(
        prepared.model,
        setting,
        prepared.backends,
        rules,
        order=partitioning_order(request),
        trial=evolve(trial, exact=request.exact),
        remembered=Remembered(searches=prepared.reuse.searches, shared=prepared.shared),
    )


def placed_for_slices(
    prepared: PreparedModel, setting: Setting, rules: Rules, trial: PlacementTrial = PLAIN
) -> PartitionGraph | None:
    """The placement where instances may have room for slices of operators alone; None where there is none."""
    try:
        pairs = only_in_slices(prepared.model, setting)
        return placed_as_asked(prepared, setting, rules, evolve(trial, in_slices=pairs))
    except PlacementError:
        return None
