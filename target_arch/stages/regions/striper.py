"""The rung of the ladder for cores: neighbours run stripe by stripe where their tensors overflow a memory."""

from collections.abc import Iterable

from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.printed.reasoning import duration
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.regions.choose import Chosen, Regions, choose, with_regions
from target_arch.stages.setting import Setting

TRIES = 6
"""How often regions are chosen again, as the plan with them needs more than was estimated: as often without
any that compute elements twice, and then with these.
"""

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
        self._twice = False

    def striped(self, graph: PartitionGraph) -> PartitionGraph:
        """A graph without regions gets those so far; none, where one of their partitions has changed since:
        if that does not fit, regions are chosen again.
        """
        if self._striped and not self._striped <= _identities(graph.partitions):
            self._regions, self._striped, self._capacity = {}, frozenset(), None
        return with_regions(graph, self._regions)

    def further(self, graph: PartitionGraph, refusal: DoesNotFitError) -> Attempt:
        """Choose regions, or such that need fewer bytes. Raises the refusal where there are none."""
        if not refusal.pool.shareable or not self._setting.regions:
            raise refusal
        chosen = self._other(graph, refusal)
        if chosen is None and not self._twice:
            self._twice, self._capacity, self._tries = True, None, 0
            chosen = self._other(graph, refusal)
        if chosen is None:
            raise refusal
        self._regions = chosen.regions
        self._striped = _identities(each for each in graph.partitions if each.id in chosen.regions)
        return _attempt(graph, refusal, chosen)

    def _other(self, graph: PartitionGraph, refusal: DoesNotFitError) -> Chosen | None:
        """Other regions than those so far; None where there are none, or enough were tried."""
        capacity = refusal.available
        if self._capacity is not None:
            capacity = self._capacity - refusal.missing
        self._tries += 1
        if self._tries > TRIES or capacity <= 0:
            return None
        chosen = choose(graph, self._setting, refusal.memory, capacity, twice=self._twice)
        if chosen.regions == self._regions and capacity >= chosen.peak > 1:
            # The plan needs more than the estimate: others that are estimated to need less may fit.
            capacity = chosen.peak - 1
            chosen = choose(graph, self._setting, refusal.memory, capacity, twice=self._twice)
        self._capacity = capacity
        known = chosen.regions == self._regions or (self._twice and not _some_patches(chosen))
        return None if known or not chosen.regions else chosen


def _some_patches(chosen: Chosen) -> bool:
    """Whether anything is computed twice: other regions were chosen from before."""
    return any(region.patches > 1 for found in chosen.regions.values() for region in found)


def _attempt(graph: PartitionGraph, refusal: DoesNotFitError, chosen: Chosen) -> Attempt:
    """The regions as an attempt: the first of them says where."""
    partition = next(each for each in graph.partitions if each.id in chosen.regions)
    regions = [region for found in chosen.regions.values() for region in found]
    saved = f"{chosen.whole - chosen.peak:,} B less of `{refusal.memory}` by estimate"
    listed = "; ".join(str(region) for region in regions)
    striped = with_regions(graph, chosen.regions)
    added = sum(striped.added(region) for region in regions)
    return Attempt(
        kind=AttemptKind.STRIPE,
        operator=regions[0].operators[0],
        instance=partition.instance,
        reason=f"`{refusal.memory}` needs {refusal.needed:,} B, {refusal.available:,} B are available",
        outcome=f"{saved}, {_price(chosen.instructions, added)} ({listed})",
    )


def _price(instructions: int, seconds: float) -> str:
    """The price of regions in a run; without its time where nothing says how long their operators take."""
    time = f", {duration(seconds)}" if seconds else ""
    return f"about {instructions:,} instructions more{time}"
