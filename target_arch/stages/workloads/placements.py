"""The placements of the models of a workload: of some of each, those with the best responses.

Placed alone, a model goes to all devices that make its run shorter, and keeps them from others. On fewer of
them it takes longer, and runs at once with models on the others.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations, product
from math import inf, log, prod

from target_arch.plan.workloads.answers import Analysis
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.choice import chosen

_FEW = 300
"""Ways of which all are compared."""
_SAME = log(1.01)
"""Of two logarithms of responses, as near as this."""


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


def is_better(one: Analysis, other: Analysis) -> bool:
    """Whether fewer tasks may be late, or the largest part of a deadline that a response takes is less, or
    with the same largest one the next, and so on. What differs by about a hundredth is the same.
    """
    return _rank(one) < _rank(other)


def _answer(
    choices: Sequence[Sequence[TimedTask]], times: Sequence[Sequence[TaskTimes]], picks: Sequence[int]
) -> Analysis:
    return chosen(
        [each[pick] for each, pick in zip(choices, picks, strict=True)],
        [each[pick] for each, pick in zip(times, picks, strict=True)],
    )


def _rank(answer: Analysis) -> tuple[int, list[float]]:
    parts = (
        inf if each.worst is None else round(log(each.worst / each.task.timing.deadline) / _SAME)
        for each in answer.responses
    )
    return sum(not each.met for each in answer.responses), sorted(parts, reverse=True)
