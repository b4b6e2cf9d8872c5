"""A lowered model none of whose steps takes longer than it may: long operators are computed in slices."""

from collections.abc import Mapping, Sequence
from math import ceil

from target_arch.plan.division import Division
from target_arch.plan.lowered import Lowered
from target_arch.plan.steps import Dispatch
from target_arch.plan.workloads.workload import StepLimit
from target_arch.stages.division.choose import with_bound
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.shares import Divisible, divisible
from target_arch.stages.division.trials import LowerGraph
from target_arch.stages.errors import NOT_LOWERED
from target_arch.stages.setting import Setting
from target_arch.stages.workloads.long_steps import LongStep, long_steps

_ROUNDS = 8
"""How often slices that are still too long are cut again."""


def steps_over(limit: StepLimit, setting: Setting, lowered: Lowered) -> list[LongStep]:
    """The steps of a model over its limit, the longest first."""
    return sorted(long_steps(limit, setting, lowered), key=lambda each: (-each.takes, each.number))


def with_short_steps(lowered: Lowered, graphs: DividedGraphs, lower: LowerGraph, limit: StepLimit) -> Lowered:
    """The model with slices of the operators whose steps are too long, as far as these can be divided and
    fit.
    """
    setting, best = graphs.setting, lowered
    able = divisible(graphs.base, setting.part_alignments, setting.soc)
    for _ in range(_ROUNDS):
        division = _finer(best, steps_over(limit, setting, best), able, limit)
        graph = None if division is None else graphs.graph(division)
        if graph is None:
            break
        try:
            best = lower(graph, setting)
        except NOT_LOWERED:
            break
    return best if best is lowered or best.execution is None else with_bound(best, lowered)


def _finer(
    lowered: Lowered, over: Sequence[LongStep], able: Mapping[str, Divisible], limit: StepLimit
) -> Division | None:
    """The division of a model with finer slices where its steps take too long; None where nothing changes."""
    parts: dict[str, int] = {}
    for each in over:
        if isinstance(each.step, Dispatch):
            count = ceil(each.takes / limit.longest)
            parts[each.step.operator] = max(parts.get(each.step.operator, 1), count)
    slices, division = lowered.graph.model.slices, dict(lowered.division)
    for operator in dict.fromkeys(slices[id].operator if id in slices else id for id in parts):
        if operator not in able:
            continue
        known = division.get(operator)
        cut = able[operator].whole if known is None else known
        names = {(part.start, part.stop): id for id, part in slices.items() if part.operator == operator}
        counts = [parts.get(names.get((share.start, share.stop), operator), 1) for share in cut.shares]
        division[operator] = able[operator].finer(cut, counts)
    return None if division == lowered.division else division
