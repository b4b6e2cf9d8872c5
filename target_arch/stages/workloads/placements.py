"""The placements of the models of a workload: of some of each, those with the best responses.

Placed alone, a model goes to all devices that make its run shorter, and keeps them from others. On fewer of
them it takes longer, and runs at once with models on the others.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations, product
from math import prod

from target_arch.plan.workloads.answers import Analysis
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.choice import chosen, is_better

_FEW = 300
"""Ways of which all are compared."""


def together(choices: Sequence[Sequence[TimedTask]]) -> tuple[int, ...]:
    """The number of the choice for each model. All ways are compared where these are few, and of those that
    are as good one with few devices in common is taken; else one model after the other has another choice
    than its first while that is better.
    """
    times = [[task_times(task) for task in each] for each in choices]
    first = tuple(0 for _ in choices)
    picks, best = first, _answer(choices, times, first)
    ways = [range(len(each)) for each in choices]
    if prod(map(len, choices)) <= _FEW:
        for draft in sorted(product(*ways), key=partial(_in_common, times)):
            found = _answer(choices, times, draft)
            if is_better(found, best):
                picks, best = draft, found
        return picks
    while True:
        drafts = (
            (*picks[:model], number, *picks[model + 1 :])
            for model, each in enumerate(ways)
            for number in each
        )
        answers = ((draft, _answer(choices, times, draft)) for draft in drafts)
        better = next((each for each in answers if is_better(each[1], best)), None)
        if better is None:
            return picks
        picks, best = better


def _in_common(times: Sequence[Sequence[TaskTimes]], picks: Sequence[int]) -> int:
    """How often two models use one device or channel: jobs on different ones run at once, even where their
    worst responses are no better for it.
    """
    lines = [each[pick].flights.keys() for each, pick in zip(times, picks, strict=True)]
    return sum(len(one & other) for one, other in combinations(lines, 2))


def _answer(
    choices: Sequence[Sequence[TimedTask]], times: Sequence[Sequence[TaskTimes]], picks: Sequence[int]
) -> Analysis:
    return chosen(
        [each[pick] for each, pick in zip(choices, picks, strict=True)],
        [each[pick] for each, pick in zip(times, picks, strict=True)],
    )
