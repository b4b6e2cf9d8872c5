"""Shares of an operator for instances: equal ones for instances that are as fast, else in proportion to their
speed.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, gcd, lcm, prod

from attrs import evolve, field, frozen

from target_arch.plan.division import Cut, Division, Share
from target_arch.plan.model import DTYPE_BYTES, Model, Operator
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.division.axes import DivisionAxis, axis_of, channels_of
from target_arch.stages.placement.rules import EVERY

PIECES = (2, 4, 8)
"""In how many pieces one instance computes an operator, so that its neighbours begin before it ends."""
SLOWEST = 16.0
"""How many times as long as on the fastest one an instance may take for an operator of which it gets a share.
"""
_CHANNELS = 16
"""Slices of channels are multiples of so many, which are a line of a cache in float32."""


@frozen(kw_only=True)
class Divisible:
    """An operator that may be divided: the axis, how many places that has, and in multiples of how many it is
    divided so that slices begin at aligned bytes. `seconds` are those of the whole operator by instance.
    `most` are the places of the largest slice that an instance has room for, where it has none for the whole.
    `channels` is the same along another axis, where cores share a cache and weights are large.
    """

    operator: Operator
    axis: int
    extent: int
    unit: int
    instance: str
    seconds: Mapping[str, float] = field(repr=False)
    most: Mapping[str, int] = field(factory=dict)
    channels: "Divisible | None" = None

    def cut(self, instances: Sequence[str], weights: Sequence[float]) -> Cut | None:
        """Shares in that order of the instances and in proportion to the weights; without those that would be
        empty, and in more than one slice where an instance has no room for the whole share. None where that
        leaves no division.
        """
        units, total = self.extent // self.unit, sum(weights)
        ends, done = [], 0.0
        for weight in weights:
            done += weight
            ends.append(round(units * done / total) * self.unit)
        ends[-1] = self.extent
        pairs = zip(instances, (0, *ends), ends, strict=False)
        shares = tuple(share for each, a, b in pairs for share in self._slices(each, a, b))
        return Cut(operator=self.operator.id, axis=self.axis, shares=shares) if len(shares) > 1 else None

    def along(self, axis: int) -> "Divisible":
        """The same along that axis, which is this one's or that of channels."""
        return self.channels if self.channels is not None and axis == self.channels.axis else self

    def _slices(self, instance: str, start: int, stop: int) -> Iterator[Share]:
        """A share in as few slices about alike as the instance has room for; none where it is empty."""
        count = ceil((stop - start) / self.most.get(instance, self.extent))
        if count:
            yield from self._parts(Share(instance=instance, start=start, stop=stop), count)

    @property
    def whole(self) -> Cut:
        """All of it on the instance on which it is."""
        share = Share(instance=self.instance, start=0, stop=self.extent)
        return Cut(operator=self.operator.id, axis=self.axis, shares=(share,))

    def finer(self, cut: Cut, counts: Sequence[int]) -> Cut:
        """The shares of a cut, each in so many slices about alike, as far as it has units for these."""
        shares = tuple(
            piece
            for share, count in zip(cut.shares, counts, strict=True)
            for piece in self._parts(share, count)
        )
        return Cut(operator=cut.operator, axis=cut.axis, shares=shares)

    def _parts(self, share: Share, count: int) -> Iterator[Share]:
        length = ceil((share.stop - share.start) / count / self.unit) * self.unit
        for first in range(share.start, share.stop, length):
            yield Share(instance=share.instance, start=first, stop=min(first + length, share.stop))

    def pieces(self, count: int) -> Cut | None:
        """So many equal pieces for the instance on which it is."""
        return self.cut([self.instance] * count, [1.0] * count)

    def spread(self, instances: Sequence[str], pieces: int = 1) -> Cut | None:
        """Shares for these instances by their speed, each in so many pieces."""
        weights = [1 / max(self.seconds[name], 1e-12) for name in instances]
        names = [name for name in instances for _ in range(pieces)]
        return self.cut(names, [weight / pieces for weight in weights for _ in range(pieces)])

    @property
    def able(self) -> tuple[str, ...]:
        """The instances that may get a share, the fastest first; its own goes before others as fast."""
        limit = min(self.seconds.values()) * SLOWEST
        ranked = sorted(self.seconds, key=lambda name: (self.seconds[name], name != self.instance))
        return tuple(name for name in ranked if self.seconds[name] <= limit)


def divisible(graph: PartitionGraph, alignments: Mapping[str, int], soc: SoC) -> dict[str, Divisible]:
    """The operators of a placed model that may be divided, by id; over what the rules of the SoC allow."""
    found = {}
    for choice in graph.choices:
        operator = graph.operator(choice.operator)
        axis = axis_of(operator, graph.model)
        able = [each for each in choice.candidates if may_share(soc, operator, each.instance)]
        seconds = {each.instance: each.cost.compute for each in able if each.cost is not None}
        if axis is not None and seconds:
            fastest = min(seconds, key=lambda name: (seconds[name], name))
            each = Divisible(
                operator=operator,
                axis=axis.axis,
                extent=axis.extent,
                unit=_unit(operator, graph.model, axis.axis, lcm(*alignments.values())),
                instance=choice.instance if choice.instance in seconds else fastest,
                seconds=seconds,
            )
            beside = channels_of(operator, graph.model) if line(soc) else None
            found[operator.id] = each if beside is None else _with_channels(each, beside)
    return found


def _with_channels(each: Divisible, beside: DivisionAxis) -> Divisible:
    """The same with its channels, in multiples of those that kernels take at once."""
    return evolve(each, channels=evolve(each, axis=beside.axis, extent=beside.extent, unit=_CHANNELS))


def line(soc: SoC) -> float:
    """The seconds for a line of the cache that another core wrote; 0 where that is unknown."""
    return max(arch.line for arch in soc.archs)


def host_pieces(able: Mapping[str, Divisible], host: str, longest: float) -> Division:
    """Equal pieces of every operator that is on the host and takes longer there than so many seconds."""
    cuts = (
        each.pieces(ceil(each.seconds[host] / longest))
        for each in able.values()
        if each.instance == host and each.seconds[host] > longest
    )
    return {cut.operator: cut for cut in cuts if cut is not None}


def may_share(soc: SoC, operator: Operator, instance: str) -> bool:
    """Whether the rules of the SoC let an instance compute slices of an operator: a rule of its kind goes
    before that of every kind.
    """
    wanted = soc.divide.get(operator.kind, soc.divide.get(EVERY))
    return wanted is None or bool({instance, soc.instance(instance).arch.name} & {*wanted})


def _unit(operator: Operator, model: Model, axis: int, alignment: int) -> int:
    """The fewest places whose bytes are a multiple of the alignment; 1 where that leaves no division."""
    out = model.tensors[operator.output]
    place = prod(out.shape[axis + 1 :]) * DTYPE_BYTES[out.dtype]
    unit = alignment // gcd(alignment, place)
    return unit if 2 * unit <= out.shape[axis] else 1


def alike(soc: SoC, name: str) -> tuple[str, ...]:
    """The instances of the same target_arch."""
    arch = soc.instance(name).arch
    return tuple(each.name for each in soc.instances if each.arch.name == arch.name)


def cuts(each: Divisible, soc: SoC) -> Iterator[Cut]:
    """Ways to divide an operator, each once: among instances alike, among unlike ones, in pieces, which wait
    for nothing else where cores share a cache.
    """
    seen: set[Cut] = set()
    for cut in _every(each, soc):
        if cut is not None and cut not in seen:
            seen.add(cut)
            yield cut


def _every(each: Divisible, soc: SoC) -> Iterator[Cut | None]:
    group = [name for name in alike(soc, each.instance) if name in each.seconds]
    if len(group) > 1:
        yield each.spread(group)
        yield each.spread(group, 2)
    able = each.able
    for count in range(2, len(able) + 1):
        yield each.spread(able[:count])
        if each.channels is not None:
            yield each.channels.spread(able[:count])
    if len(able) == 1 or not line(soc):
        for count in (1, *PIECES):
            yield each.pieces(count)
