"""All ways to run neighbouring operators some rows at a time, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import define, field

from target_arch.backends.plain_c.kernels.joining import few_operands, joinable
from target_arch.backends.plain_c.stripes.price import RowTurns
from target_arch.backends.plain_c.stripes.rowwise import Rowwise
from target_arch.backends.plain_c.stripes.schedule import heights, in_place, stripes
from target_arch.backends.plain_c.stripes.units import rowwise
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.region import Region
from target_arch.plan.regions.stripes import Stripes
from target_arch.soc.words import InstructionSet


@define(kw_only=True, eq=False)
class RowRegions:
    """The regions of a model on one core that run some rows at a time; the calls for rows are made once."""

    model: Model
    isa: InstructionSet
    _known: dict[tuple[str, ...], Rowwise | None] = field(factory=dict, repr=False)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        units = self.units(operators)
        if units is None or not self.joins(units):
            return
        names = tuple(operator.id for operator in operators)
        for size in heights(units[0].unit.image.rows):
            plain = stripes([unit.unit for unit in units], size)
            if plain is None or (size > 1 and plain.scratch > room):
                return
            placed = (in_place(plain, image) for image in plain.given)
            for plan in (plain, *(each for each in placed if each is not None)):
                if len(units) > 1 or plan.over is not None:
                    yield self._region(names, plan, size, RowTurns.of(plan).price(units))

    def units(self, operators: Sequence[Operator]) -> list[Rowwise] | None:
        """The calls for rows of these operators; None where some have none."""
        found: list[Rowwise] = []
        number = 0
        while number < len(operators):
            one, after = operators[number], operators[number + 1 : number + 2]
            pair = (
                [*after]
                if after and joinable(one, after[0], self.model) and self._unit(one, after[0])
                else []
            )
            unit = self._unit(one, *pair)
            if unit is None:
                return None
            found.append(unit)
            number += 1 + len(pair)
        return found

    def plan(self, region: Region, units: Sequence[Rowwise]) -> Stripes:
        """The steps of the call of a region."""
        plain = stripes([unit.unit for unit in units], region.size)
        assert plain is not None
        if region.over is None:
            return plain
        image = next(image for image in plain.given if image.name == region.over)
        placed = in_place(plain, image)
        assert placed is not None
        return placed

    def _unit(self, one: Operator, after: Operator | None = None) -> Rowwise | None:
        key = (one.id,) if after is None else (one.id, after.id)
        if key not in self._known:
            self._known[key] = rowwise(one, after, self.model, self.isa)
        return self._known[key]

    def joins(self, units: Sequence[Rowwise]) -> bool:
        """True if these can be one call: no other operator reads a tensor in between, each is read, and the
        call has no more operands than any may.
        """
        read = [window.tensor.name for unit in units for window in unit.unit.reads]
        kept = set(self.model.kept)
        names = [unit.unit.image.name for unit in units[:-1]]
        return few_operands({*read} - {*names}, units) and all(
            name not in kept and read.count(name) and read.count(name) == self.model.uses[name]
            for name in names
        )

    def _region(self, names: tuple[str, ...], plan: Stripes, size: int, price: int) -> Region:
        over = None if plan.over is None else plan.over.name
        return Region(operators=names, size=size, scratch=plan.scratch, over=over, instructions=price)
