"""All ways to run neighbouring operators as one region, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.kernels.layout import Layout
from target_arch.backends.plain_c.stripes.price import price_of_channels, price_of_rows
from target_arch.backends.plain_c.stripes.schedule import heights, in_place, stripes
from target_arch.backends.plain_c.stripes.units import Rowwise, rowwise
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.region import Axis, Region
from target_arch.plan.regions.stripes import Channels, Stripes

_GROUP = 8
"""Channels that a kernel computes together at least."""


@frozen(kw_only=True)
class Regions:
    """The regions of a model on one core, whose kernels have weights in that layout."""

    model: Model
    layout: Layout
    _known: dict[tuple[str, ...], Rowwise | None] = field(factory=dict, repr=False)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        units = self.units(operators)
        if units is None or not self._closed(units):
            return
        names = tuple(operator.id for operator in operators)
        if len(units) == 1 and len(names) == 2 and units[0].after is not None:
            over = units[0].after.other.name if units[0].after.over else None
            yield Region(operators=names, usual=True, over=over)
        yield from self._channels(units, room)
        for size in heights(units[0].unit.image.rows):
            plain = stripes([unit.unit for unit in units], size)
            if plain is None or (size > 1 and plain.scratch > room):
                return
            placed = (in_place(plain, image) for image in plain.given)
            for plan in (plain, *(each for each in placed if each is not None)):
                if len(units) > 1 or plan.over is not None:
                    yield self._region(names, plan, size, price_of_rows(plan, units, self.model))

    def units(self, operators: Sequence[Operator]) -> list[Rowwise] | None:
        """The calls for rows of these operators; None where some have none."""
        found: list[Rowwise] = []
        number = 0
        while number < len(operators):
            one, after = operators[number], operators[number + 1 : number + 2]
            pair = (
                [*after] if after and self.model.uses[one.output] == 1 and self._joins(one, after[0]) else []
            )
            unit = self._unit(one, *pair)
            if unit is None:
                return None
            found.append(unit)
            number += 1 + len(pair)
        return found

    def plan(self, region: Region, units: Sequence[Rowwise]) -> Stripes | Channels:
        """The steps of the call of a region."""
        if region.axis is Axis.CHANNELS:
            return self._channels_of(units[0], region.size)
        plain = stripes([unit.unit for unit in units], region.size)
        assert plain is not None
        if region.over is None:
            return plain
        image = next(image for image in plain.given if image.name == region.over)
        placed = in_place(plain, image)
        assert placed is not None
        return placed

    def _joins(self, one: Operator, after: Operator) -> bool:
        return joinable(one, after, self.model) and self._unit(one, after) is not None

    def _unit(self, one: Operator, after: Operator | None = None) -> Rowwise | None:
        key = (one.id,) if after is None else (one.id, after.id)
        if key not in self._known:
            self._known[key] = rowwise(one, after, self.model, self.layout)
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
        x, out = (self.model.tensors[name] for name in (unit.operator.inputs[0], unit.unit.image.name))
        if (
            others
            or not unit.depthwise
            or unit.after is not None
            or x.shape != out.shape
            or x.dtype != out.dtype
        ):
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

    def _channels_of(self, unit: Rowwise, size: int) -> Channels:
        x = self.model.tensors[unit.operator.inputs[0]]
        return Channels(
            operator=unit.operator.id,
            tensor=x.name,
            output=unit.unit.image.name,
            pixels=x.shape[1] * x.shape[2],
            channels=x.shape[3],
            size=min(size, x.shape[3]),
        )
