"""All ways to run neighbouring operators some rows at a time, or some columns of images of one row, and the
price of each.
"""

from collections.abc import Iterator, Sequence

from attrs import define, field

from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.regions.linewise import Rowwise, closed
from target_arch.backends.plain_c.regions.price import price
from target_arch.backends.plain_c.regions.schedule import heights, in_place, in_turns, placed
from target_arch.backends.plain_c.regions.units import rowwise
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.cut import Axis, AxisCut
from target_arch.plan.regions.lines import Pass
from target_arch.plan.regions.region import Region
from target_arch.soc.words import InstructionSet


@define(kw_only=True, eq=False)
class RowRegions:
    """The regions of a model on one core that are cut along rows or columns; calls for them are made once."""

    model: Model
    axis: Axis
    isa: InstructionSet
    _known: dict[tuple[str, ...], Rowwise | None] = field(factory=dict, repr=False)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        units = self.units(operators)
        if units is None or not closed(units, self.model):
            return
        names, lines = tuple(operator.id for operator in operators), units[0].unit.image.lines
        for size in heights(lines):
            plain = in_turns([unit.unit for unit in units], size)
            if plain is None or (size > 1 and plain.scratch > room):
                return
            others = (in_place(plain, image) for image in plain.given)
            for one in (plain, *(each for each in others if each is not None)):
                if len(units) > 1 or one.over is not None:
                    yield Region(
                        operators=names,
                        cuts=(AxisCut(axis=self.axis, size=size, of=lines),),
                        scratch=one.scratch,
                        over=None if one.over is None else one.over.name,
                        instructions=price(one, units),
                    )

    def units(self, operators: Sequence[Operator]) -> list[Rowwise] | None:
        """The calls for lines of these operators; None where some have none."""
        units: list[Rowwise] = []
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
            units.append(unit)
            number += 1 + len(pair)
        return units

    def one_pass(self, region: Region, units: Sequence[Rowwise]) -> Pass:
        """The turns of the call of a region."""
        plain = in_turns([unit.unit for unit in units], region.cuts[-1].size)
        assert plain is not None
        return placed(plain, region.over)

    def _unit(self, one: Operator, after: Operator | None = None) -> Rowwise | None:
        key = (one.id,) if after is None else (one.id, after.id)
        if key not in self._known:
            self._known[key] = rowwise(one, after, self.model, self.axis, self.isa)
        return self._known[key]
