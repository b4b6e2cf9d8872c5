"""All ways to run neighbouring operators patch by patch, and the price of each."""

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from target_arch.backends.plain_c.regions.linewise import Rowwise, closed
from target_arch.backends.plain_c.regions.narrow import Fused, Narrowing, NarrowUnit
from target_arch.backends.plain_c.regions.price import price
from target_arch.backends.plain_c.regions.rows import RowRegions
from target_arch.backends.plain_c.regions.schedule import in_turns, narrowed
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.cut import Axis, AxisCut, AxisPart
from target_arch.plan.regions.lines import Pass
from target_arch.plan.regions.region import Region

_COUNTS = (2, 3, 4)
"""Patches side by side: each has C of its own."""
_NARROWEST = 2
"""Columns of a patch at least."""


@frozen(kw_only=True)
class Patch:
    """One of them: its turns, and the C of its operators."""

    turns: Pass
    units: tuple[NarrowUnit, ...]

    @property
    def rows(self) -> tuple[Rowwise, ...]:
        """The C of its rows."""
        return tuple(unit.code for unit in self.units)


@define(kw_only=True, eq=False)
class PatchRegions:
    """The regions of a model on one core that run patch by patch, each patch row by row."""

    rows: RowRegions
    _narrowing: Narrowing = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._narrowing = Narrowing(model=self._model, isa=self.rows.isa)

    @property
    def _model(self) -> Model:
        return self.rows.model

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`: none where lines of whole
        rows and the output have room, since no column is computed twice then.
        """
        units = self.rows.units(operators)
        if units is None or len(units) < 2 or not closed(units, self._model):
            return
        plain = in_turns([unit.unit for unit in units], 1)
        if plain is None or plain.scratch + plain.output.bytes <= room:
            return
        within = AxisCut(axis=Axis.ROWS, size=1, of=units[0].unit.image.lines)
        for cut in self._cuts(operators[-1].output):
            patches = self._patches(cut, units, plain)
            if patches is not None:
                yield Region(
                    operators=tuple(operator.id for operator in operators),
                    cuts=(cut, within),
                    scratch=max(patch.turns.scratch for patch in patches),
                    instructions=_more(patches, units),
                )

    def patches(self, region: Region, operators: Sequence[Operator]) -> tuple[Patch, ...]:
        """The patches of a region of these operators."""
        units = self.rows.units(operators)
        assert units is not None
        plain = in_turns([unit.unit for unit in units], 1)
        assert plain is not None
        patches = self._patches(region.cuts[0], units, plain)
        assert patches is not None
        return patches

    def _patches(self, cut: AxisCut, units: Sequence[Rowwise], plain: Pass) -> tuple[Patch, ...] | None:
        """The parts of a cut of the output; None where the operators are not for patches."""
        if any(producer.each != 1 for producer in plain.producers):
            return None
        fused = [[self._model.operator(id) for id in unit.unit.operators] for unit in units]
        patches = [self._patch(fused, part, plain) for part in cut.spans]
        there = tuple(patch for patch in patches if patch is not None)
        return there if len(there) == len(patches) else None

    def _patch(self, fused: Sequence[Fused], made: AxisPart, plain: Pass) -> Patch | None:
        columns = self._narrowing.columns(fused, made)
        if columns is None:
            return None
        units = [self._narrowing.unit(each, columns) for each in fused]
        there = tuple(unit for unit in units if unit is not None)
        if len(there) < len(units):
            return None
        return Patch(turns=narrowed(plain, [unit.unit for unit in there]), units=there)

    def _cuts(self, output: str) -> Iterator[AxisCut]:
        """The cuts of the output into patches; none where they would be too narrow."""
        shape = self._model.tensors[output].shape
        of = shape[2] if len(shape) == 4 else 0
        for count in _COUNTS:
            cut = AxisCut.into(Axis.COLUMNS, count, of)
            if of >= count * _NARROWEST and cut.parts == count:
                yield cut


def _more(patches: Sequence[Patch], whole: Sequence[Rowwise]) -> int:
    """The instructions that patches add to those of the whole operators; none where they are estimated to be
    fewer.
    """
    each = (price(patch.turns, patch.rows) + sum(unit.cycles for unit in patch.rows) for patch in patches)
    return max(int(sum(each) - sum(unit.cycles for unit in whole)), 0)
