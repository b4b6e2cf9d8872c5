"""Lowering, and the attempts to make partitions fit that do not.

A pass (`one_pass`) lowers every partition in order, each with the budget that the ledger promises. A
partition that does not fit climbs a ladder: it is lowered again with a smaller budget, then split, then
placed elsewhere (on another instance, another kind, the host, in this order). Where the tensors of cores
overflow, cores run neighbours stripe by stripe (`stages.regions`). Every attempt is recorded. If no rung is
left, the whole model climbs again on fewer target_archs (`fewer_targets`): on every subset of them where
these are few, always on each alone beside the host, and on the host alone. The fastest placement is first. If
none fits, the model is refused, and the error names the cheapest changes found that make it fit.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial

from attrs import define, evolve, field

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.kernels import Kernel
from target_arch.plan.lowered import Attempt, AttemptKind, Lowered
from target_arch.plan.model import Model
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import Candidate, PartitionGraph
from target_arch.soc.model import Instance, SoC
from target_arch.stages.check.meaning.check import Judged, check_meaning
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.lowering.climb import MOVES_AND_STRIPES, STRIPES, Climb, Relief, after
from target_arch.stages.lowering.fewer_targets import Refusals, on_fewer_targets, placements
from target_arch.stages.lowering.improve import improved, trials
from target_arch.stages.lowering.off_memory import ROUNDS, Leaving, leaving
from target_arch.stages.lowering.one_pass import Kept, Key, Known, Lower, Passed, Passes, key_of
from target_arch.stages.lowering.refusals import Refused
from target_arch.stages.lowering.remedy import remedy
from target_arch.stages.lowering.split import Cuts, cut, middle
from target_arch.stages.placement.place import NO_RULES
from target_arch.stages.placement.rules import Rules, targets
from target_arch.stages.regions.replay import check_stripes
from target_arch.stages.regions.striper import Striper
from target_arch.stages.setting import Setting
from target_arch.stages.steps.fit import Fitted

__all__ = ["Attempt", "Lower", "Lowered", "lower_in_order"]

RETILES = 3
"""How often a partition is lowered again with a smaller budget."""


def lower_in_order(
    *,
    setting: Setting,
    place: Callable[[Rules], PartitionGraph],
    order: Callable[[PartitionGraph], LoweringOrder],
    lower: Lower,
    rules: Rules = NO_RULES,
    kept: Kept | None = None,
    advised: bool = True,
) -> Lowered:
    """Place, order, lower, plan and check.

    `place` is called again with operators excluded from targets or target_archs left out, and `order` with
    every new graph. What is `kept` takes partitions to phases before the last, if the order has slots for
    them. Unless `advised`, a refusal has no hint, which costs as much as several compilations. Raises
    PlacementError, OrderError, StepError; DoesNotFitError where no placement fits; and CheckError where the
    plan is wrong.
    """
    climbs = _Climbs(setting=setting, place=place, order=order, lower=lower, kept=kept or Kept())
    climb, fewer = partial(climbs.on, setting.soc), cache(lambda: placements(setting.soc, rules, place))
    try:
        found: Climb | Refusals = climb(rules, None, MOVES_AND_STRIPES)
    except DoesNotFitError as refusal:
        found = on_fewer_targets(setting.soc, rules, fewer(), climb, refusal)
    if isinstance(found, Climb):
        better = trials(found, setting.soc, climb, fewer)
        return improved(found, better if found.moved else ()).lowered
    raise remedy(found.nearest, setting.soc, found.rules, climbs.fits) if advised else found.nearest


@define(kw_only=True, eq=False)
class _Climbs:
    """The climbs of one model, which share their kernels."""

    setting: Setting
    place: Callable[[Rules], PartitionGraph]
    order: Callable[[PartitionGraph], LoweringOrder]
    lower: Lower
    kept: Kept
    known: Known = field(factory=dict)

    def on(self, chip: SoC, wishes: Rules, placed: PartitionGraph | None, relief: Relief) -> Climb:
        """A climb on a chip under rules, from the placement if one is given; where moves lead nowhere, once
        more without them. Raises DoesNotFitError.
        """
        own = self.setting if chip is self.setting.soc else evolve(self.setting, soc=chip)
        passes = Passes(own, self.lower, self.kept.advance, self.known)
        ladder = _Ladder(chip, self.place, wishes, passes, placed, relief)
        try:
            return Climb(
                lowered=_climbed(ladder, passes, self.order, self.kept.judged),
                rules=ladder.rules,
                start=wishes,
                origin=ladder.origin,
                moved=tuple(ladder.moved),
                able=tuple(ladder.able.values()),
            )
        except DoesNotFitError as refusal:
            if not ladder.moved:
                raise refusal.after(ladder.attempts) from None
        return after(ladder.attempts, lambda: self.on(chip, wishes, ladder.origin, relief & STRIPES))

    def fits(self, chip: SoC, wishes: Rules) -> bool:
        """Whether the model fits a chip under rules."""
        try:
            self.on(chip, wishes, None, MOVES_AND_STRIPES)
        except DiagnosticError:
            return False
        return True


def _climbed(
    ladder: "_Ladder",
    passes: Passes,
    order: Callable[[PartitionGraph], LoweringOrder],
    judged: Judged,
) -> Lowered:
    """Run passes until no partition is refused. Raises DoesNotFitError where no rung is left."""
    graph, soc = ladder.graph(), passes.setting.soc
    while True:
        slots = order(graph)
        try:
            passed = passes.run(graph, slots)
        except DoesNotFitError as refusal:
            ladder.relieve(graph, refusal)
            graph = ladder.graph()
            continue
        if passed.settled is not None:
            settled, known = passed.settled, sizes(graph, passed.kernels)
            check(soc, settled.steps, settled.plan, known, parts(graph.model), graph.model.states)
            check_meaning(soc, graph, passed.kernels, settled.steps, settled.plan, judged)
            check_stripes(graph, passed.kernels)
            return _lowered(graph, slots, passed, settled, tuple(ladder.attempts))
        ladder.climb(graph.model, passed.refused)
        graph = ladder.graph()


def sizes(graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> dict[str, int]:
    """The bytes of every tensor, and of every buffer that a kernel keeps for itself, by name."""
    found = {tensor.name: tensor.bytes for tensor in graph.model.tensors.values()}
    for kernel in kernels.values():
        found |= {tensor.name: tensor.bytes for tensor in kernel.constants}
        found |= {f"{kernel.partition}.{buffer.name}": buffer.bytes for buffer in kernel.buffers}
    return found


def _lowered(
    graph: PartitionGraph,
    order: LoweringOrder,
    passed: Passed,
    settled: Fitted,
    attempts: tuple[Attempt, ...],
) -> Lowered:
    return Lowered(
        graph=graph,
        lowering=order,
        kernels=passed.kernels,
        budgets=passed.budgets,
        steps=settled.steps,
        plan=settled.plan,
        execution=settled.execution,
        attempts=attempts,
    )


class _Ladder:
    """The attempts so far, and the graph that follows from them. The first is `placed`, if it is given."""

    def __init__(
        self,
        soc: SoC,
        place: Callable[[Rules], PartitionGraph],
        rules: Rules,
        passes: Passes,
        placed: PartitionGraph | None,
        relief: Relief,
    ) -> None:
        self.attempts: list[Attempt] = []
        self.moved: list[Leaving] = []
        """The operators that left a memory which overflowed."""
        self.able: dict[str, Leaving] = {}
        """Those that could leave it at first, by id."""
        self.rules, self.origin = rules, placed
        self._soc, self._place, self._passes = soc, place, passes
        self._relief, self._rounds = relief, 0
        self._striping = Striper(passes.setting)
        self._able: dict[str, tuple[Candidate, ...]] = {}
        self._cuts: Cuts = frozenset()
        self._retiled: dict[Key, int] = {}
        self._refusal: DoesNotFitError | None = None
        self._placed = placed
        self._left: dict[str, list[tuple[str, str]]] = {}
        self._sent: dict[str, str | None] = {}
        """Where each operator goes next, None if placement decides. `_left` are the targets it is excluded
        from, with reasons.
        """

    def graph(self) -> PartitionGraph:
        """The partitions to try next. Raises the refusal where no placement is left."""
        if self._placed is None:
            before = self.attempts
            try:
                self._placed = self._place(self.rules)
            except PlacementError:
                if self._refusal is None:
                    raise
                raise self._refusal from None
            self.origin = self.origin or self._placed
            self.attempts = [_with_outcome(attempt, self._placed) for attempt in before]
        return self._striping.striped(cut(self._placed, self._cuts))

    def relieve(self, graph: PartitionGraph, refusal: DoesNotFitError) -> None:
        """Place operators off the memory that overflows; where none can leave it, let cores run neighbours
        stripe by stripe, where that leaves enough. Raises the refusal else.
        """
        able = AttemptKind.REPLACE in self._relief and self._rounds < ROUNDS
        groups = leaving(graph, self._passes.setting, refusal) if able else ()
        if groups:
            self._leave(groups, refusal)
            return
        if AttemptKind.STRIPE not in self._relief:
            raise refusal
        self.attempts.append(self._striping.further(graph, refusal))

    def _leave(self, groups: tuple[tuple[Leaving, ...], ...], refusal: DoesNotFitError) -> None:
        """Move the first group; later ones may leave in its place."""
        found = groups[0]
        if not self._rounds:
            self.able = {move.operator: move for group in groups for move in group}
        self._rounds, self._refusal = self._rounds + 1, refusal
        self.moved += found
        self._placed = None
        for move in found:
            self.rules = move.under(self.rules)
            self.attempts.append(move.attempt)

    def climb(self, model: Model, refused: tuple[Refused, ...]) -> None:
        """Take the next rung for every refused partition; placement follows once, after all of them."""
        for refusal in refused:
            self._refusal = refusal.error
            kind, outcome = self._retile(refusal) or self._split(model, refusal) or self._give_up(refusal)
            self.attempts.append(
                Attempt(
                    kind=kind,
                    operator=refusal.operator,
                    instance=refusal.partition.instance,
                    reason=refusal.reason,
                    outcome=outcome,
                )
            )
        if self._left:
            found = ((id, *pair) for id, pairs in self._left.items() for pair in pairs)
            self.rules = self.rules.giving_up(found).sending(self._sent)
            self._left, self._sent, self._placed = {}, {}, None

    def _retile(self, refused: Refused) -> tuple[AttemptKind, str] | None:
        key = key_of(refused.partition)
        if refused.limit is None or self._retiled.get(key, 0) >= RETILES:
            return None
        memory, size = refused.limit
        limits = self._passes.limits.setdefault(key, {})
        known = limits.get(memory)
        if known is not None and known <= size:
            size = known // 2
        self._retiled[key] = self._retiled.get(key, 0) + 1
        limits[memory] = size
        return AttemptKind.RETILE, f"with {size:,} B of `{memory}`"

    def _split(self, model: Model, refused: Refused) -> tuple[AttemptKind, str] | None:
        place = middle(refused.partition, model) if refused.divisible else None
        if place is None:
            return None
        self._cuts |= {place}
        return AttemptKind.SPLIT, f"before `{place[0]}`"

    def _give_up(self, refused: Refused) -> tuple[AttemptKind, str]:
        """Exclude the operator from the instance, and where no other buffer is in the way, from all instances
        of its kind.
        """
        operator, instance = refused.operator, self._soc.instance(refused.partition.instance)
        target = instance.name if refused.crowded else instance.arch.name
        self._left.setdefault(operator, []).append((target, refused.reason))
        self._sent[operator] = self._next(operator, instance)
        return AttemptKind.REPLACE, ""

    def _next(self, operator: str, instance: Instance) -> str | None:
        """The instance to try next: another of the same kind, another kind, the host, in this order, and the
        cheapest of each; None where there is no choice.
        """
        if self._placed is None:
            return None
        choice = self._placed.choice(operator)
        able = self._able.setdefault(operator, tuple(c for c in choice.candidates if c.cost is not None))
        left = [c for c in able if not self._tried(operator, self._soc.instance(c.instance))]

        def rank(candidate: Candidate) -> tuple[int, float]:
            other = self._soc.instance(candidate.instance).arch
            kind = 2 if other.host else int(other.name != instance.arch.name)
            return kind, candidate.cost.total if candidate.cost is not None else 0.0

        return min(left, key=rank).instance if len(left) > 1 else None

    def _tried(self, operator: str, instance: Instance) -> bool:
        """True if the operator did not fit there, in this climb or an earlier one."""
        now = any(targets(target, instance) for target, _ in self._left.get(operator, ()))
        return now or self.rules.unfit(operator, instance) is not None


def _with_outcome(attempt: Attempt, graph: PartitionGraph) -> Attempt:
    """The attempt with the instance on which the operator was placed."""
    if attempt.kind != AttemptKind.REPLACE or attempt.outcome:
        return attempt
    return evolve(attempt, outcome=f"on `{graph.choice(attempt.operator).instance}`")
