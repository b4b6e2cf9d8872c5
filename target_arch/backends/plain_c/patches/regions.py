"""All ways to run neighbouring operators patch by patch, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from target_arch.backends.plain_c.patches.narrow import Fused, Narrowing, NarrowUnit
from target_arch.backends.plain_c.stripes.price import RowTurns
from target_arch.backends.plain_c.stripes.regions import RowRegions
from target_arch.backends.plain_c.stripes.rowwise import Rowwise, rows_of
from target_arch.backends.plain_c.stripes.schedule import narrowed, stripes
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.patches import Columns, Patch, Patches
from target_arch.plan.regions.region import Region
from target_arch.plan.regions.stripes import Stripes
from target_arch.soc.words import InstructionSet

_COUNTS = (2, 3, 4)
"""Patches side by side: each has C of its own."""
_NARROWEST = 2
"""Columns of a patch at least."""


@frozen(kw_only=True)
class PatchCode:
    """The plan of a region in patches, and the C of the operators of each patch."""

    plan: Patches
    units: tuple[tuple[NarrowUnit, ...], ...]

    @property
    def rows(self) -> tuple[tuple[Rowwise, ...], ...]:
        """The C of the rows of each patch."""
        return tuple(tuple(unit.code for unit in units) for units in self.units)


@define(kw_only=True, eq=False)
class PatchRegions:
    """The regions of a model on one core that run patch by patch, each patch row by row."""

    model: Model
    isa: InstructionSet
    rows: RowRegions
    _narrowing: Narrowing = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._narrowing = Narrowing(model=self.model, isa=self.isa)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`: none where lines of whole
        rows and the output have room, since no column is computed twice then.
        """
        units = self.rows.units(operators)
        if units is None or len(units) < 2 or not self.rows.joins(units):
            return
        plain = stripes([unit.unit for unit in units], 1)
        if plain is None or plain.scratch + plain.output.bytes <= room:
            return
        turns = RowTurns.of(plain)
        for count in _COUNTS:
            code = self._code(operators, count, units, plain)
            if code is not None:
                yield Region(
                    operators=tuple(operator.id for operator in operators),
                    size=1,
                    patches=count,
                    scratch=code.plan.scratch,
                    instructions=_price(code, units, turns),
                )

    def code(self, operators: Sequence[Operator], count: int) -> PatchCode:
        """The plan and the C of a region of these operators in so many patches."""
        units = self.rows.units(operators)
        assert units is not None
        plain = stripes([unit.unit for unit in units], 1)
        assert plain is not None
        found = self._code(operators, count, units, plain)
        assert found is not None
        return found

    def _code(
        self, operators: Sequence[Operator], count: int, units: Sequence[Rowwise], plain: Stripes
    ) -> PatchCode | None:
        """As `code`; None where the operators are not for patches."""
        if any(producer.each != 1 for producer in plain.producers):
            return None
        fused = [[self.model.operator(id) for id in unit.unit.operators] for unit in units]
        found = [self._patch(fused, columns, plain) for columns in self._cut(operators[-1].output, count)]
        patches = [each for each in found if each is not None]
        if not patches or len(patches) < len(found):
            return None
        plan = Patches(
            patches=tuple(patch for patch, _ in patches),
            output=rows_of(self.model.tensors[operators[-1].output]),
        )
        return PatchCode(plan=plan, units=tuple(each for _, each in patches))

    def _patch(
        self, fused: Sequence[Fused], made: Columns, plain: Stripes
    ) -> tuple[Patch, tuple[NarrowUnit, ...]] | None:
        columns = self._narrowing.columns(fused, made)
        if columns is None:
            return None
        units = [self._narrowing.unit(each, columns) for each in fused]
        there = [unit for unit in units if unit is not None]
        if len(there) < len(units):
            return None
        plan = narrowed(plain, [unit.unit for unit in there])
        return Patch(stripes=plan, columns=columns, reads=tuple(unit.reads for unit in there)), tuple(there)

    def _cut(self, output: str, count: int) -> Iterator[Columns]:
        """The columns of the output in each of so many patches; none where they would be too narrow."""
        shape = self.model.tensors[output].shape
        of = shape[2] if len(shape) == 4 else 0
        if of >= count * _NARROWEST:
            for number in range(count):
                yield Columns(start=number * of // count, end=(number + 1) * of // count, of=of)


def _price(code: PatchCode, whole: Sequence[Rowwise], turns: RowTurns) -> int:
    """The instructions that patches add to those of the whole operators; none where they are estimated to be
    fewer.
    """
    each = (turns.price(rows) + sum(unit.cycles for unit in rows) for rows in code.rows)
    return max(int(sum(each) - sum(unit.cycles for unit in whole)), 0)
