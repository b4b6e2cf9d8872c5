"""Division as a rung of the ladder: a model that fits in slices alone.

Where no placement of whole operators fits, operators are placed as if every instance had room for their
operands, and divided, at least into slices that it has room for. Slices run in the order in which fewest
bytes are live, so that a tensor between two divided operators is never whole. The division with the shortest
run that fits is improved further.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from math import inf

from attrs import evolve

from target_arch.diagnostics import listed
from target_arch.plan.division import Division
from target_arch.plan.lowered import Attempt, AttemptKind, Lowered
from target_arch.stages.division.choose import LOWERED
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.room import most_places
from target_arch.stages.division.search import LEAST, DivisionSearch, tries
from target_arch.stages.division.shares import Divisible, divisible
from target_arch.stages.division.trials import DivisionTrials, LowerGraph, Tried
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.placement.rules import EVERY

Misfit = DoesNotFitError | PlacementError
"""Why a model is not lowered undivided."""

PARTS = (1, 2, 4, 8)
"""Of which part of the memories of instances slices are, where those of a larger part do not fit."""


def divided_where_it_fits(graphs: DividedGraphs, lower: LowerGraph, refusal: Misfit | None) -> Lowered | None:
    """The lowering of a division that fits, after this refusal of the model undivided, if there was one; None
    where none is found. Its operators are placed as if instances had room for all of their operands.
    """
    if not tries(len(graphs.base.model.operators)):
        return None
    for part in PARTS:
        able = _with_room(graphs, part)
        trials = DivisionTrials(graphs, able, lambda graph, setting: lower(graphs.lean(graph), setting))
        found = _fastest(trials, _divisions(graphs, able))
        if found is not None:
            return _recorded(trials.planned(trials.refined(found)).lowered, graphs, refusal)
        if not any(each.most for each in able.values()):
            break
    return None


def slices_may_help(refusal: Misfit) -> bool:
    """Whether slices may fit after this refusal: their constants are no fewer, nor are their states."""
    return isinstance(refusal, PlacementError) or refusal.pool.shareable


def fits_in_slices(graphs: DividedGraphs, lower: LowerGraph) -> bool:
    """Whether the model is known to fit with everything divided in one way. Quicker than to look for the
    division that is taken, as no run is made shorter.
    """
    if not tries(len(graphs.base.model.operators)):
        return False
    able = _with_room(graphs, PARTS[0])
    trials = DivisionTrials(graphs, able, lambda graph, setting: lower(graphs.lean(graph), setting))
    return any(trials.tried(division) is not None for division in _alike(_search(graphs, able)))


def _with_room(graphs: DividedGraphs, part: int) -> dict[str, Divisible]:
    """The operators that may be divided, with the largest slices for which instances have room, or one of so
    many parts of it; without the instances that have none for any slice, and without channels.
    """
    model, setting, found = graphs.base.model, graphs.setting, {}
    for id, each in divisible(graphs.base, setting.part_alignments, setting.soc).items():
        limits = {
            name: most_places(each.operator, model, setting.soc.instance(name), setting, each.unit, part)
            for name in each.seconds
        }
        if limits[each.instance]:
            found[id] = evolve(
                each,
                channels=None,
                seconds={name: seconds for name, seconds in each.seconds.items() if limits[name]},
                most={name: most for name, most in limits.items() if 0 < most < each.extent},
            )
    return found


def _divisions(graphs: DividedGraphs, able: Mapping[str, Divisible]) -> Iterator[Division]:
    """The divisions to lower: the fastest by the run to expect, and everything divided in one way, the most
    slices first, of which fewest bytes are live.
    """
    search = _search(graphs, able)
    return chain(islice(search.search(), LOWERED), _alike(search))


def _search(graphs: DividedGraphs, able: Mapping[str, Divisible]) -> DivisionSearch:
    seconds = sum(choice.compute(choice.instance) for choice in graphs.base.choices)
    count = tries(len(graphs.base.model.operators))
    return DivisionSearch(graphs.setting.soc, able, graphs.seconds, inf, seconds * LEAST, count)


def _alike(search: DivisionSearch) -> list[Division]:
    """Everything divided in one way, the most slices first."""
    return sorted(search.alike(), key=lambda division: -sum(len(cut.shares) for cut in division.values()))


def _fastest(trials: DivisionTrials, divisions: Iterable[Division]) -> Tried | None:
    fitting = filter(None, map(trials.tried, divisions))
    return min(fitting, key=lambda each: each.makespan, default=None)


def _recorded(made: Lowered, graphs: DividedGraphs, refusal: Misfit | None) -> Lowered:
    """The lowering with the attempts that led to it, and the model as it was placed before."""
    attempts = made.attempts if refusal is None else (*_attempts(made, graphs, refusal), *made.attempts)
    return evolve(made, attempts=attempts, whole=graphs.base)


def _attempts(made: Lowered, graphs: DividedGraphs, refusal: Misfit) -> Iterator[Attempt]:
    needed = sorted(graphs.needed)
    reason = f"no room for all operands of {listed(needed)}"
    if isinstance(refusal, DoesNotFitError):
        yield from refusal.tried
        reason = refusal.reason
    slices = made.model.slices
    yield Attempt(
        kind=AttemptKind.DIVIDE,
        operator=EVERY,
        instance=", ".join(dict.fromkeys(choice.instance for choice in graphs.base.choices)),
        reason=reason,
        outcome=f"{len({part.operator for part in slices.values()})} operators in {len(slices)} slices",
    )
