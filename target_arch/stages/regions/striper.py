"""The rung of the ladder for cores: neighbours run stripe by stripe where their tensors overflow a memory."""

from collections.abc import Iterable

from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.regions.choose import Chosen, Regions, choose, with_regions
from target_arch.stages.setting import Setting

TRIES = 6
"""How often regions are chosen again, as the plan with them needs more than was estimated."""

_Identity = tuple[str, str, tuple[str, ...]]


def _identities(partitions: Iterable[Partition]) -> frozenset[_Identity]:
    """Name, instance and operators of each: placement and cuts give a name to other operators."""
    return frozenset((p.id, p.instance, tuple(operator.id for operator in p.operators)) for p in partitions)


class Striper:
    """The regions of one model on its way up the ladder."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._regions: Regions = {}
        self._striped: frozenset[_Identity] = frozenset()
        self._capacity: int | None = None
        self._tries = 0

    def striped(self, graph: PartitionGraph) -> PartitionGraph:
        """A graph without regions gets those so far; none, where one of their partitions has changed since:
        if that does not fit, regions are chosen again.
        """
        if self._striped and not self._striped <= _identities(graph.partitions):
            self._regions, self._striped, self._capacity = {}, frozenset(), None
        return with_regions(graph, self._regions)

    def further(self, graph: PartitionGraph, refusal: DoesNotFitError) -> Attempt:
        """Choose regions, or such that need fewer bytes. Raises the refusal where there are none."""
        capacity = refusal.available
        if self._capacity is not None:
            capacity = self._capacity - refusal.missing
        self._tries += 1
        if not refusal.pool.shareable or not self._setting.regions or self._tries > TRIES or capacity <= 0:
            raise refusal
        chosen = choose(graph, self._setting, refusal.memory, capacity)
        if chosen.regions == self._regions and capacity >= chosen.peak > 1:
            # The plan needs more than the estimate: others that are estimated to need less may fit.
            capacity = chosen.peak - 1
            chosen = choose(graph, self._setting, refusal.memory, capacity)
        if not chosen.regions or chosen.regions == self._regions:
            raise refusal
        self._regions, self._capacity = chosen.regions, capacity
        self._striped = _identities(each for each in graph.partitions if each.id in chosen.regions)
        return _attempt(graph, refusal, chosen)


def _attempt(graph: PartitionGraph, refusal: DoesNotFitError, chosen: Chosen) -> Attempt:
    """The regions as an attempt: the first of them says where."""
    partition = next(each for each in graph.partitions if each.id in chosen.regions)
    regions = [region for found in chosen.regions.values() for region in found]
    saved = f"{chosen.whole - chosen.peak:,} B less of `{refusal.memory}` by estimate"
    listed = "; ".join(str(region) for region in regions)
    return Attempt(
        kind=AttemptKind.STRIPE,
        operator=regions[0].operators[0],
        instance=partition.instance,
        reason=f"`{refusal.memory}` needs {refusal.needed:,} B, {refusal.available:,} B are available",
        outcome=f"{saved}, about {chosen.instructions:,} instructions more ({listed})",
    )
