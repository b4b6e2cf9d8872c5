"""The regions of a graph whose tensors do not fit: the cheapest ones that need no more than the capacity.

A partition is cut into segments, each one operator or a region. The bytes that are live while a segment runs
depend on it alone: so the least peak, and then the least price for a peak, follow segment by segment. All
tensors count as if they were in the memory that is short; the memory plan has the last word.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from attrs import evolve, field, frozen

from target_arch.plan.memory import IoOwner
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.regions.region import Region, Striping
from target_arch.soc.rounding import round_up
from target_arch.stages.memory.packing.live_sums import live_sums
from target_arch.stages.setting import Setting

MOST = 24
"""Operators of a region."""

Regions = Mapping[str, tuple[Region, ...]]
"""By partition."""


@frozen(kw_only=True)
class Chosen:
    """Regions, the most bytes that are live with them, by estimate, and without any."""

    regions: Regions
    peak: int
    whole: int

    @property
    def instructions(self) -> int:
        """An estimate of the instructions that they add."""
        return sum(region.instructions for found in self.regions.values() for region in found)


def choose(
    graph: PartitionGraph, setting: Setting, memory: str, capacity: int, *, twice: bool = False
) -> Chosen:
    """The cheapest regions with which no more bytes are live than the capacity; where none are enough, those
    with the least peak. Regions that compute elements `twice` are among them only if asked for.
    """
    lives = _Lives.of(graph, setting.alignments[memory], setting.io)
    found: dict[str, tuple[Region, ...]] = {}
    peak, start, whole = 0, 0, 0
    for partition in graph.partitions:
        plain = [lives.plain(number) for number in range(start, start + len(partition.operators))]
        whole = max(whole, *plain)
        owned = memory in setting.soc.instance(partition.instance).memory
        if max(plain) > capacity and owned and partition.instance in setting.regions:
            striping = setting.regions[partition.instance](graph.model)
            segments = _Segments.of(partition, striping, lives, start, capacity, twice=twice)
            regions, plain = segments.cheapest(capacity)
            found[partition.id] = tuple(evolve(region, memory=memory) for region in regions)
        peak = max(peak, *plain)
        start += len(partition.operators)
    return Chosen(regions={name: each for name, each in found.items() if each}, peak=peak, whole=whole)


def with_regions(graph: PartitionGraph, regions: Regions) -> PartitionGraph:
    """A graph without regions, whose partitions get these."""
    if not regions:
        return graph
    partitions = (
        evolve(each, regions=regions[each.id]) if each.id in regions else each for each in graph.partitions
    )
    return evolve(graph, partitions=tuple(partitions))


@frozen(kw_only=True)
class _Lives:
    """When the tensors of a graph are live, in operators of its order."""

    model: Model = field(repr=False)
    operators: tuple[Operator, ...] = field(repr=False)
    first: Mapping[str, int] = field(repr=False)
    last: Mapping[str, int] = field(repr=False)
    before: Sequence[int] = field(repr=False)
    """By operator, the bytes of tensors that are made before it, and needed by it or later."""
    unit: int
    lent: frozenset[str]
    """Tensors in memory of the caller, which need no bytes of an arena."""

    @classmethod
    def of(cls, graph: PartitionGraph, unit: int, io: IoOwner) -> "_Lives":
        model = graph.model
        lent = frozenset((*model.inputs, *model.outputs) if io is IoOwner.CALLER else ())
        operators = tuple(each for partition in graph.partitions for each in partition.operators)
        first, last = dict.fromkeys(model.given, -1), dict.fromkeys(model.given, -1)
        for number, operator in enumerate(operators):
            first[operator.output] = last[operator.output] = number
            for name in operator.inputs:
                last[name] = number
        last |= dict.fromkeys(model.kept, len(operators))
        lives = [
            ((first[name] + 1, last[name]), round_up(model.tensors[name].bytes, unit))
            for name in first
            if name not in lent
        ]
        before = live_sums(lives, len(operators)).tolist()
        return cls(
            model=model, operators=operators, first=first, last=last, before=before, unit=unit, lent=lent
        )

    def bytes(self, name: str) -> int:
        """The bytes of an arena that a tensor needs, in whole units."""
        return 0 if name in self.lent else round_up(self.model.tensors[name].bytes, self.unit)

    def plain(self, number: int) -> int:
        """The bytes live while one operator runs."""
        return self.before[number] + self.bytes(self.operators[number].output)

    def with_region(self, start: int, end: int, region: Region) -> int:
        """The bytes live while the operators from `start` to `end` run as a region."""
        output = self.operators[end].output
        over = region.over
        ended = over is not None and self.last[over] <= end
        shared = ended and over not in self.lent and over not in self.model.kept
        more = 0 if shared else self.bytes(output)
        return self.before[start] + more + round_up(region.scratch, self.unit)


@frozen(kw_only=True)
class _Segments:
    """All segments of a partition: first and last operator, the bytes live, and the region, None for one
    operator alone.
    """

    count: int
    ending: Mapping[int, Sequence[tuple[int, int, Region | None]]] = field(repr=False)

    @classmethod
    def of(
        cls,
        partition: Partition,
        striping: Striping,
        lives: _Lives,
        start: int,
        capacity: int,
        *,
        twice: bool,
    ) -> "_Segments":
        count = len(partition.operators)
        ending: dict[int, list[tuple[int, int, Region | None]]] = {
            end: [(end, lives.plain(start + end), None)] for end in range(count)
        }
        over = [number for number in range(count) if lives.plain(start + number) > capacity]
        for begin, end in _spans(over, count):
            operators = partition.operators[begin : end + 1]
            for region in striping(operators, capacity - lives.before[start + begin], twice):
                peak = lives.with_region(start + begin, start + end, region)
                ending[end].append((begin, peak, region))
        return cls(count=count, ending=ending)

    def cheapest(self, capacity: int) -> tuple[list[Region], list[int]]:
        """The regions with the least price of those within the capacity, or within the least peak there is;
        and the bytes live in each segment.
        """
        least = [0.0]
        for end in range(self.count):
            least.append(min(max(least[begin], peak) for begin, peak, _ in self.ending[end]))
        limit = max(float(capacity), least[-1])
        price, way = [0.0], list[tuple[int, int, Region | None]]()
        for end in range(self.count):
            able = [each for each in self.ending[end] if each[1] <= limit and price[each[0]] < inf]
            costs = [price[begin] + (0 if r is None else r.instructions) for begin, _, r in able]
            best = min(range(len(able)), key=lambda n: (costs[n], -able[n][0], able[n][1]), default=None)
            price.append(inf if best is None else costs[best])
            way.append(self.ending[end][0] if best is None else able[best])
        return _followed(way, self.count)


def _followed(way: Sequence[tuple[int, int, Region | None]], count: int) -> tuple[list[Region], list[int]]:
    regions, peaks, end = list[Region](), list[int](), count
    while end:
        end, peak, region = way[end - 1]
        peaks.append(peak)
        if region is not None and not region.usual:
            regions.append(region)
    return regions[::-1], peaks[::-1]


def _spans(over: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """First and last operator of the segments that hold one of those that do not fit."""
    marks = set(over)
    for begin in range(count):
        there = False
        for end in range(begin, min(begin + MOST, count)):
            there = there or end in marks
            if there:
                yield begin, end
