"""All ways to run neighbouring operators as one region, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import define, field

from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.stripes.convolution import StripedConvolution
from target_arch.backends.plain_c.stripes.price import price_of_channels, price_of_rows
from target_arch.backends.plain_c.stripes.rowwise import Rowwise
from target_arch.backends.plain_c.stripes.schedule import heights, in_place, stripes
from target_arch.backends.plain_c.stripes.units import rowwise
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.region import Axis, Region
from target_arch.plan.regions.stripes import Channels, Stripes
from target_arch.soc.words import InstructionSet

_GROUP = 8
"""Channels that a kernel computes together at least."""


@define(kw_only=True, eq=False)
class Regions:
    """The regions of a model on one core; the calls for rows are made once."""

    model: Model
    isa: InstructionSet
    _known: dict[tuple[str, ...], Rowwise | None] = field(factory=dict, repr=False)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        if len(operators) == 2 and self._pair(*operators):
            yield self._usual(*operators)
        units = self.units(operators)
        if units is None or not self._closed(units):
            return
        names = tuple(operator.id for operator in operators)
        yield from self._channels(units, room)
        for size in heights(units[0].unit.image.rows):
            plain = stripes([unit.unit for unit in units], size)
            if plain is None or (size > 1 and plain.scratch > room):
                return
            placed = (in_place(plain, image) for image in plain.given)
            for plan in (plain, *(each for each in placed if each is not None)):
                if len(units) > 1 or plan.over is not None:
                    yield self._region(names, plan, size, price_of_rows(plan, units))

    def units(self, operators: Sequence[Operator]) -> list[Rowwise] | None:
        """The calls for rows of these operators; None where some have none."""
        found: list[Rowwise] = []
        number = 0
        while number < len(operators):
            one, after = operators[number], operators[number + 1 : number + 2]
            pair = [*after] if after and self._pair(one, after[0]) and self._unit(one, after[0]) else []
            unit = self._unit(one, *pair)
            if unit is None:
                return None
            found.append(unit)
            number += 1 + len(pair)
        return found

    def plan(self, region: Region, units: Sequence[Rowwise]) -> Stripes | Channels:
        """The steps of the call of a region."""
        if region.axis is Axis.CHANNELS:
            (unit,) = units
            assert isinstance(unit, StripedConvolution)
            return self._channels_of(unit, region.size)
        plain = stripes([unit.unit for unit in units], region.size)
        assert plain is not None
        if region.over is None:
            return plain
        image = next(image for image in plain.given if image.name == region.over)
        placed = in_place(plain, image)
        assert placed is not None
        return placed

    def _pair(self, one: Operator, after: Operator) -> bool:
        """Whether the two become one function outside of a region, too."""
        return self.model.uses[one.output] == 1 and joinable(one, after, self.model)

    def _usual(self, one: Operator, after: Operator) -> Region:
        other = next(name for name in after.inputs if name != one.output)
        alike = self.model.tensors[other].dtype == self.model.tensors[after.output].dtype
        return Region(operators=(one.id, after.id), usual=True, over=other if alike else None)

    def _unit(self, one: Operator, after: Operator | None = None) -> Rowwise | None:
        key = (one.id,) if after is None else (one.id, after.id)
        if key not in self._known:
            self._known[key] = rowwise(one, after, self.model, self.isa)
        return self._known[key]

    def _closed(self, units: Sequence[Rowwise]) -> bool:
        """True if no other operator reads a tensor in between, and each is read."""
        read = [window.tensor.name for unit in units for window in unit.unit.reads]
        kept = set(self.model.kept)
        names = [unit.unit.image.name for unit in units[:-1]]
        return all(
            name not in kept and read.count(name) and read.count(name) == self.model.uses[name]
            for name in names
        )

    def _region(self, names: tuple[str, ...], plan: Stripes, size: int, price: int) -> Region:
        over = None if plan.over is None else plan.over.name
        return Region(operators=names, size=size, scratch=plan.scratch, over=over, instructions=price)

    def _channels(self, units: Sequence[Rowwise], room: int) -> Iterator[Region]:
        """A depthwise convolution of an image to one of the same size, some channels at a time."""
        (unit, *others) = units
        if others or not isinstance(unit, StripedConvolution) or not unit.depthwise or unit.after is not None:
            return
        x, out = (self.model.tensors[name] for name in (unit.operator.inputs[0], unit.unit.image.name))
        if x.shape != out.shape or x.dtype != out.dtype:
            return
        for size in (_GROUP, *range(2 * _GROUP, x.shape[3] // 2 + 1, 2 * _GROUP)):
            plan = self._channels_of(unit, size)
            if size > _GROUP and plan.scratch > room:
                return
            yield Region(
                operators=unit.unit.operators,
                axis=Axis.CHANNELS,
                size=size,
                scratch=plan.scratch,
                over=x.name,
                instructions=price_of_channels(plan),
            )

    def _channels_of(self, unit: StripedConvolution, size: int) -> Channels:
        x = self.model.tensors[unit.operator.inputs[0]]
        return Channels(
            operator=unit.operator.id,
            tensor=x.name,
            output=unit.unit.image.name,
            pixels=x.shape[1] * x.shape[2],
            channels=x.shape[3],
            size=min(size, x.shape[3]),
        )
