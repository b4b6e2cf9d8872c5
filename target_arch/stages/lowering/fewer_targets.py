"""The last rung: the whole model on fewer target_archs.

Operators that move one by one may end in a placement that does not fit although another does. So the model is
placed again on every subset of the target_archs, or, where these are many, on each alone and on all but one;
and on the host alone. The placement that the search takes for the fastest is first.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from attrs import evolve, field, frozen

from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, OrderError, PlacementError, StepError
from target_arch.stages.lowering.climb import MOVES_AND_STRIPES, Climb, Climber
from target_arch.stages.placement.rules import EVERY, Rules

FEW = 4
"""The most target_archs beside the host of which all subsets are tried."""

Place = Callable[[Rules], PartitionGraph]


@frozen(kw_only=True)
class Refusals:
    """No placement fits: the refusal of the one that misses the fewest bytes, with all attempts, and the
    rules under which it was made.
    """

    nearest: DoesNotFitError
    rules: Rules = field(repr=False)


@frozen(kw_only=True)
class OnFewer:
    """The target_archs that may take operators, the rules that say so, and where operators go under them."""

    targets: tuple[str, ...]
    rules: Rules = field(repr=False)
    graph: PartitionGraph

    @property
    def instances(self) -> list[str]:
        """The instances of the operators, in order of execution."""
        return [choice.instance for choice in self.graph.choices]

    @property
    def seconds(self) -> float:
        """The time of a run, as the search expects it."""
        return 0.0 if self.graph.facts is None else self.graph.facts.search_makespan

    def __str__(self) -> str:
        return ", ".join(self.targets)


def on_fewer_targets(
    soc: SoC,
    rules: Rules,
    placements: Sequence[OnFewer],
    climb: Climber,
    refusal: DoesNotFitError,
) -> Climb | Refusals:
    """The first placement that fits, after this refusal of the one on all target_archs that the rules allow.

    `climb` lowers and plans the model under rules that gave it this placement. Raises what it raises, except
    DoesNotFitError, and the errors of an order of lowering or of steps that is wrong for a placement.
    """
    tried, reason, found = list(refusal.tried), refusal.reason, Refusals(nearest=refusal, rules=rules)
    before = ", ".join(allowed(soc, rules))
    for placement in placements:
        tried.append(_attempt(before, reason, f"on {placement}"))
        before = str(placement)
        try:
            made = climb(placement.rules, placement.graph, MOVES_AND_STRIPES)
        except DoesNotFitError as again:
            tried, reason = [*tried, *again.tried], again.reason
            if again.missing < found.nearest.missing:
                found = Refusals(nearest=again, rules=placement.rules)
        except (OrderError, StepError) as wrong:
            reason = wrong.diagnostics[0].message
        else:
            return made.after(tried)
    last = [_attempt(before, reason, "")] if placements else []
    return evolve(found, nearest=found.nearest.after((*tried, *last)))


def _attempt(targets: str, reason: str, outcome: str) -> Attempt:
    """The whole model does not fit on these target_archs."""
    return Attempt(kind=AttemptKind.TARGETS, operator=EVERY, instance=targets, reason=reason, outcome=outcome)


def allowed(soc: SoC, rules: Rules) -> tuple[str, ...]:
    """The target_archs that may take operators, the host last."""
    return (*(a.name for a in soc.archs if not a.host and a.name not in rules.left_out), soc.host.name)


def placements(soc: SoC, rules: Rules, place: Place) -> list[OnFewer]:
    """The placements to try, the fastest first. Of larger subsets with one placement, one stays."""
    found: dict[tuple[str, ...], OnFewer] = {}
    for chosen in _subsets(allowed(soc, rules)[:-1]):
        left_out = rules.left_out | {a.name for a in soc.archs if not a.host and a.name not in chosen}
        wishes = evolve(rules, left_out=left_out)
        try:
            graph = place(wishes)
        except PlacementError:
            continue
        key = chosen if len(chosen) < 2 else tuple(choice.instance for choice in graph.choices)
        found.setdefault(key, OnFewer(targets=(*chosen, soc.host.name), rules=wishes, graph=graph))
    return sorted(found.values(), key=lambda placement: placement.seconds)


def _subsets(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The proper subsets to try, none of them twice, the smallest first."""
    for count in range(len(names)):
        if len(names) <= FEW or count < 2 or count == len(names) - 1:
            yield from combinations(names, count)
