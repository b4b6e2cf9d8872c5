"""The division of a lowered model, where one makes its run shorter.

The search tries divisions by runs with stand-ins for kernels (`search`). The fastest of them are lowered, and
the simulated run of their steps decides; from the best of them, other shares of the operators that take
longest are lowered, too (`trials`). What is not faster than the model undivided, or does not fit, is left.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve

from target_arch.plan.division import UNDIVIDED, Division, DivisionProof
from target_arch.plan.lowered import Lowered
from target_arch.stages.division.exact import ExactDivision
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.search import LEAST, DivisionSearch, tries
from target_arch.stages.division.shares import Divisible, divisible
from target_arch.stages.division.trials import DivisionTrials, LowerGraph, Tried

LOWERED = 5
"""The most divisions of the search that are lowered."""


def divided_where_faster(
    undivided: Lowered, graphs: DividedGraphs, lower: LowerGraph, *, exact: bool = False
) -> Lowered:
    """The lowering with the shortest run, which is the `undivided` one where no division is faster. With
    `exact` it has what is proved about the expected runs of all divisions, the best of which is lowered, too.
    """
    if undivided.execution is None:
        return undivided
    able = divisible(undivided.graph, graphs.setting.part_alignments, graphs.setting.soc)
    trials = DivisionTrials(graphs, able, lower)
    first = best = Tried(division={}, lowered=undivided)
    found, proof = _searched(graphs, able, exact=exact)
    for division in found[:LOWERED]:
        best = min(best, trials.tried(division) or best, key=lambda each: each.makespan)
    best = trials.suited(trials.refined(best))
    chosen = undivided if best is first else trials.planned(best).lowered
    return chosen if proof is None else evolve(chosen, proof=proof)


def _searched(
    graphs: DividedGraphs, able: Mapping[str, Divisible], *, exact: bool
) -> tuple[list[Division], DivisionProof | None]:
    """The divisions with short runs to expect, the shortest first, and with `exact` what is proved of all."""
    count = tries(len(graphs.base.model.operators))
    before = graphs.seconds({}) if able and count else None
    if before is None:
        return [], None
    search = DivisionSearch(graphs.setting.soc, able, graphs.seconds, before, before * LEAST, count)
    found = search.search()
    if not exact:
        return found, None
    best = found[0] if found else UNDIVIDED
    every = ExactDivision(graphs.setting.soc, graphs.order, able, search.worth, graphs.seconds)
    proof = every.proof((graphs.seconds(best) if found else None) or before, best)
    shortest = [every.best] if every.best else []
    return [*shortest, *(each for each in found if each != every.best)], proof


def fastest(undivided: Lowered, ways: Iterable[Lowered | None]) -> Lowered:
    """The fastest of these lowerings of the model, with the undivided run; the undivided one where none is
    faster.
    """
    best = min((way for way in ways if way is not None), key=lambda way: way.makespan)
    if undivided.execution is None or best.makespan >= undivided.makespan:
        return undivided
    return with_bound(best, undivided)


def with_bound(lowered: Lowered, undivided: Lowered) -> Lowered:
    """The lowering with the bound of any division that the whole operators have, and the undivided run."""
    run, before = lowered.execution, undivided.execution
    assert run is not None
    assert before is not None
    bound = min(run.division_bound, before.division_bound)
    execution = evolve(run, division_bound=bound, undivided=before.makespan)
    attempts = (*undivided.attempts, *lowered.attempts)
    return evolve(lowered, execution=execution, attempts=attempts, whole=undivided.graph)
