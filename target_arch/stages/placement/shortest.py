"""A lower bound of the runs of a model on a chip, without a search: no placement and no plan goes below it.

The longest chain of operators, each at the instance where it computes fastest; copies take no time. An
operator takes no less than its backend's estimate or its measured cost, whichever is less; where backends
lower whole chains, whose kernels state a time of their own, it may take none.

Tests: `tests/stages/placement/test_shortest.py`.
"""

from target_arch.plan.model import Operator
from target_arch.soc.model import Instance
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.candidates import CandidateTable, PlacementTask
from target_arch.stages.placement.operator_order import execution_order

_ROUNDING = 1000
"""Picoseconds by which the times of an operator's calls may be rounded down in all."""


def shortest_run(wanted: PlacementTask) -> float:
    """Seconds that no run takes less than; 0 where an operator has no instance. Raises PlacementError where a
    rule cannot be honoured.
    """
    candidates = CandidateTable(wanted)
    ends: dict[str, int] = {}
    for operator in execution_order(wanted.model):
        times = [
            _least(wanted, operator, instance, answer.compute)
            for instance in wanted.soc.instances
            if (answer := candidates.answers[operator.id][instance.name]).compute is not None
        ]
        ready = max((ends.get(name, 0) for name in operator.inputs), default=0)
        ends[operator.output] = ready + min(times, default=0)
    return max(ends.values(), default=0) / PICO


def _least(wanted: PlacementTask, operator: Operator, instance: Instance, expected: float) -> int:
    backend = wanted.backends[instance.arch.name]
    if backend.joins is not None:
        return 0
    least = min(expected, backend.cost(wanted.question(operator, instance)))
    return max(0, int(least * PICO) - _ROUNDING)
