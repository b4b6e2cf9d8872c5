"""Partitions cut into smaller ones, where one did not fit as a whole."""

from attrs import evolve

from target_arch.plan.partitions import Partition, PartitionGraph

Cuts = frozenset[tuple[str, str]]
"""Operators (id) before which a partition on an instance is cut: (operator, instance)."""


def middle(partition: Partition) -> tuple[str, str] | None:
    """Where to cut a partition into halves; None where it is one operator."""
    if len(partition.operators) < 2:
        return None
    return partition.operators[len(partition.operators) // 2].id, partition.instance


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
