"""Partitions cut into smaller ones, where one did not fit as a whole."""

from collections.abc import Sequence

from attrs import evolve

from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Partition, PartitionGraph

Cuts = frozenset[tuple[str, str]]
"""Operators (id) before which a partition on an instance is cut: (operator, instance)."""


def middle(partition: Partition, model: Model) -> tuple[str, str] | None:
    """Where to cut a partition in two; None where it is one operator.

    This is the place near the middle that the fewest bytes cross: after the cut, these tensors need a memory
    outside the kernels.
    """
    operators, count = partition.operators, len(partition.operators)
    if count < 2:
        return None
    places = range(max(count // 4, 1), count - count // 4)
    best = min(places, key=lambda place: (_passed(operators, place, model), abs(2 * place - count), place))
    return operators[best].id, partition.instance


def _passed(operators: Sequence[Operator], place: int, model: Model) -> int:
    """Bytes that the operators before a place make for those after it."""
    made = {operator.output for operator in operators[:place]}
    read = {name for operator in operators[place:] for name in operator.inputs}
    return sum(model.tensors[name].bytes for name in made & read)


def cut(graph: PartitionGraph, cuts: Cuts) -> PartitionGraph:
    """The graph with its partitions cut. Pieces of `p3` are `p3_0`, `p3_1`, … in order of execution."""
    if not cuts:
        return graph
    pieces = (piece for partition in graph.partitions for piece in _pieces(partition, cuts))
    return evolve(graph, partitions=tuple(pieces))


def _pieces(partition: Partition, cuts: Cuts) -> tuple[Partition, ...]:
    starts = [
        number
        for number, operator in enumerate(partition.operators)
        if number and (operator.id, partition.instance) in cuts
    ]
    if not starts:
        return (partition,)
    ends = (*starts, len(partition.operators))
    reason = f"{partition.reason}; split, as it does not fit as a whole"
    return tuple(
        evolve(
            partition,
            id=f"{partition.id}_{number}",
            operators=partition.operators[start:end],
            reason=reason,
        )
        for number, (start, end) in enumerate(zip((0, *starts), ends, strict=True))
    )
