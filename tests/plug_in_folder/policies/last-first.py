"""The policy `last-first`: what runs last is lowered first."""

from collections.abc import Mapping

from target_arch.backend.policy import Policy, Wishes
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC


def _wishes(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, str]) -> Wishes:
    ranks = {partition.id: -number for number, partition in enumerate(graph.partitions)}
    return Wishes(reasons=dict.fromkeys(ranks, "it runs later"), ranks=ranks)


policy = Policy(name="last-first", description="what runs last is lowered first", wishes=_wishes)
