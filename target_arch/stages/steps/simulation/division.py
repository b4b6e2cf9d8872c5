"""A lower bound of the time of any division of operators over a chip.

Operators are divided among all instances that accept them or slices of them, in any shares, and copies are
free. A run then takes the least time in which no instance has too much to do: the linear program of divisible
work on unrelated machines. By its duality any weights of the instances give a bound: a second on an instance
costs its weight, all instances together offer the sum of the weights in a second, and an operator costs no
less than where it is cheapest. The simplex method, whose columns are assignments of all operators, finds the
weights with which that is the most. The bound is computed from them in whole numbers: it holds whatever the
weights are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from target_arch.plan.partitions import Choice, Partition
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.search.dual_weights import Numbers, dual_weights
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.simulation.times import Times

_WHOLE = 2**32
"""The largest weight in whole numbers."""


def division_bound(work: PartialLowering, order: StepOrder, times: Times) -> int:
    """The picoseconds that no division of the placed operators goes below, by the costs of their placement.
    Where the steps of a partition take less than the costs of its operators, they count instead.
    """
    spent = Counter[str]()
    for step in order.steps:
        if isinstance(step, Dispatch):
            spent[step.partition] += times.run(step.partition, step.operator)
    placed = {choice.operator: choice for choice in work.graph.choices}
    costs: list[dict[str, int]] = []
    for part in work.graph.partitions:
        choices = [placed[operator.id] for operator in part.operators if operator.id in placed]
        costs += _costs(work, part, choices, spent[part.id])
    return divided(costs)


def divided(operators: Sequence[Mapping[str, int]]) -> int:
    """The picoseconds that no division of these operators goes below. Each has its picoseconds by the
    instances that accept it.
    """
    names = sorted({name for costs in operators for name in costs})
    alike = Counter(tuple(costs.get(name) for costs in operators) for name in names)
    kinds, counts = [*alike], np.array([*alike.values()], dtype=float)
    if not kinds:
        return 0
    rates = np.array([[np.inf if cost is None else cost for cost in kind] for kind in kinds], dtype=float)
    shares = _weights(rates / counts[:, None]) / counts
    weights = [round(share / max(shares) * _WHOLE) for share in shares.tolist()]
    least: Iterator[int] = (
        min(weight * cost for weight, cost in zip(weights, costs, strict=True) if cost is not None)
        for costs in zip(*kinds, strict=True)
    )
    offered: int = sum(weight * count for weight, count in zip(weights, alike.values(), strict=True))
    return sum(least) // offered


def _costs(
    work: PartialLowering, partition: Partition, choices: Sequence[Choice], spent: int
) -> Iterator[dict[str, int]]:
    """The picoseconds of each operator of a partition by instance: those of the kind on which it is are no
    more than was spent there.
    """
    arch = work.instance(partition).arch
    expected = sum(_pico(choice.compute(partition.instance)) for choice in choices)
    for choice in choices:
        costs = {}
        for each in choice.candidates:
            seconds = each.cost.compute if each.in_slices is None and each.cost else each.in_slices
            if seconds is not None:
                costs[each.instance] = _pico(seconds)
        if spent < expected:
            own = [name for name in costs if work.soc.instance(name).arch == arch]
            costs |= {name: costs[name] * spent // expected for name in own}
        if costs:
            yield costs


def _pico(seconds: float) -> int:
    return round(seconds * PICO)


def _weights(rates: Numbers) -> Numbers:
    """The weights of instances with which the bound is the largest. `rates` have by instance and operator the
    time of the operator there, infinite where it is not accepted.
    """
    scaled = rates / (rates.min(axis=0).sum() or 1.0)
    return dual_weights(len(rates), lambda prices: _cheapest(scaled, prices))


def _cheapest(rates: Numbers, prices: Numbers) -> Numbers:
    """The loads of the instances where every operator is where it is cheapest."""
    priced = np.where(np.isinf(rates), np.inf, np.where(np.isinf(rates), 0.0, rates) * prices[:, None])
    chosen = priced.argmin(axis=0)
    loads = np.zeros(len(rates))
    np.add.at(loads, chosen, rates[chosen, np.arange(len(chosen))])
    return loads
