"""Faster placements that fit, too, after one was found by moving operators off a memory.

Operators leave a memory together, and their neighbours follow: so each that left is tried where it was, the
most expensive move first; then other operators leave alone, the cheapest move first; then stripes instead of
moves; then fewer target_archs, where the search expects a faster run of them. The simulated run decides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import field, frozen

from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.printed.reasoning import duration
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, OrderError, PlacementError, StepError
from target_arch.stages.lowering.climb import MOVES_AND_STRIPES, NO_RELIEF, STRIPES, Climb, Climber
from target_arch.stages.lowering.fewer_targets import OnFewer, allowed
from target_arch.stages.lowering.off_memory import Leaving
from target_arch.stages.placement.rules import EVERY, Rules

RETURNS = 6
"""The most operators that are tried where they were."""
ALONE = 4
"""The most operators that are tried as the only ones to leave at first."""
SUBSETS = 3
"""The most sets of target_archs that are tried."""


@frozen(kw_only=True)
class Trial:
    """A placement to try: an operator and the instance where it goes, or `*` and all target_archs. `climb`
    gets the fastest so far; `expected` are the seconds of a run as the search expects it.
    """

    operator: str
    where: str
    climb: Callable[[Climb], Climb] = field(repr=False)
    how: str = ""
    expected: float = 0.0


def improved(first: Climb, trials: Iterable[Trial]) -> Climb:
    """The fastest of the first and the trials, with all of them among its attempts."""
    best, tried = first, list(first.lowered.attempts)
    for trial in trials:
        if trial.expected >= best.makespan:
            continue
        try:
            made = trial.climb(best)
        except DoesNotFitError as refusal:
            tried.append(_attempt(trial, best, f"does not fit: {refusal.reason}"))
        except (OrderError, PlacementError, StepError) as wrong:
            tried.append(_attempt(trial, best, wrong.diagnostics[0].message))
        else:
            tried.append(_attempt(trial, best, duration(made.makespan)))
            if made.makespan < best.makespan:
                tried += made.lowered.attempts
                best = made
    return best.with_attempts(tried)


def _attempt(trial: Trial, best: Climb, outcome: str) -> Attempt:
    return Attempt(
        kind=AttemptKind.IMPROVE,
        operator=trial.operator,
        instance=trial.where,
        reason=f"fits, {duration(best.makespan)}",
        outcome=f"{trial.how}{outcome}",
    )


def trials(
    first: Climb, soc: SoC, climb: Climber, placements: Callable[[], Sequence[OnFewer]]
) -> Iterator[Trial]:
    """The trials after a climb that moved operators. Of the placements on fewer target_archs, those that are
    expected to be slower than one that does not fit were not tried yet.
    """
    rules = first.start
    together = first.moved if len(first.moved) > 1 else ()
    for move in sorted(together, key=lambda move: -move.price)[:RETURNS]:
        yield Trial(operator=move.operator, where=move.instance, climb=_back(move, climb))
    gone = {move.operator for move in first.moved}
    others = sorted((m for m in first.able if m.operator not in gone), key=lambda move: move.price)
    for move in others[:ALONE]:
        alone = _alone(move, rules, climb)
        yield Trial(operator=move.operator, where=move.instance, climb=alone, how="leaves alone, ")
    yield Trial(
        operator=EVERY,
        where=", ".join(allowed(soc, rules)),
        climb=lambda _: climb(rules, first.origin, STRIPES),
        how="without moves, ",
    )
    for placement in _untried(first, placements()):
        where, seconds = str(placement), placement.seconds
        yield Trial(operator=EVERY, where=where, climb=_on(placement, climb), expected=seconds)


def _untried(first: Climb, placements: Sequence[OnFewer]) -> Sequence[OnFewer]:
    """The placements after that of the climb itself, without those that do not differ from it."""
    tried = [number for number, each in enumerate(placements, start=1) if each.rules == first.start]
    origin = None if first.origin is None else first.origin.choices
    same = None if origin is None else [choice.instance for choice in origin]
    further = (each for each in placements[max(tried, default=0) :] if each.instances != same)
    return tuple(further)[:SUBSETS]


def _back(move: Leaving, climb: Climber) -> Callable[[Climb], Climb]:
    return lambda best: climb(move.back(best.rules), None, NO_RELIEF)


def _alone(move: Leaving, rules: Rules, climb: Climber) -> Callable[[Climb], Climb]:
    return lambda _: climb(move.under(rules), None, MOVES_AND_STRIPES)


def _on(placement: OnFewer, climb: Climber) -> Callable[[Climb], Climb]:
    return lambda _: climb(placement.rules, placement.graph, MOVES_AND_STRIPES)
