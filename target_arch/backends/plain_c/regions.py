"""All ways to run neighbouring operators as one region, and the C of each."""

from collections.abc import Iterator, Sequence
from math import ceil

from attrs import define, evolve, field, frozen

from target_arch.backends.plain_c.channels.regions import ChannelRegions
from target_arch.backends.plain_c.channels.text import ChannelsText
from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.kernels.pick import predicted
from target_arch.backends.plain_c.patches.regions import PatchRegions
from target_arch.backends.plain_c.patches.text import patches_function
from target_arch.backends.plain_c.stripes.columns import ColumnRegions
from target_arch.backends.plain_c.stripes.regions import RowRegions
from target_arch.backends.plain_c.stripes.rows_text import RowsText
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.regions.region import Axis, Region
from target_arch.plan.regions.region_plan import RegionPlan
from target_arch.soc.words import InstructionSet


@frozen(kw_only=True)
class RegionCode:
    """A region in C: its function, those that this calls, the constants passed to it, and those among them
    that are packed and not in the model.
    """

    plan: RegionPlan
    function: CFunction
    callees: tuple[CFunction, ...]
    constants: tuple[str, ...]
    packed: tuple[Tensor, ...]


@define(kw_only=True, eq=False)
class Regions:
    """The regions of a model on one core."""

    model: Model
    isa: InstructionSet
    rows: RowRegions = field(init=False)
    columns: ColumnRegions = field(init=False)
    channels: ChannelRegions = field(init=False)
    patches: PatchRegions = field(init=False)
    _alone: dict[str, float] = field(factory=dict, repr=False)

    def __attrs_post_init__(self) -> None:
        self.rows = RowRegions(model=self.model, isa=self.isa)
        self.columns = ColumnRegions(model=self.model, isa=self.isa)
        self.channels = ChannelRegions(model=self.model, isa=self.isa)
        self.patches = PatchRegions(model=self.model, isa=self.isa, rows=self.rows)

    def __call__(self, operators: Sequence[Operator], room: int, twice: bool) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        whole = ceil(sum(self._cycles(operator) for operator in operators))
        return (evolve(region, whole=whole) for region in self._ways(operators, room, twice))

    def _ways(self, operators: Sequence[Operator], room: int, twice: bool) -> Iterator[Region]:
        if len(operators) == 2 and joinable(operators[0], operators[1], self.model):
            yield self._usual(*operators)
        yield from self.channels(operators, room)
        yield from self.rows(operators, room)
        yield from self.columns(operators, room)
        if twice:
            yield from self.patches(operators, room)

    def _cycles(self, operator: Operator) -> float:
        """The cycles of an operator as placement estimates them."""
        if operator.id not in self._alone:
            self._alone[operator.id] = cycles(predicted(operator, self.model, self.isa).work, self.isa)
        return self._alone[operator.id]

    def code(self, region: Region, operators: Sequence[Operator]) -> RegionCode:
        """The C of a region that was found for these operators."""
        if region.axis is Axis.CHANNELS:
            return self._in_channels(region, operators)
        if region.axis is Axis.COLUMNS:
            return _in_rows(region, self.columns.upright(operators), self.columns.rows)
        if region.patches > 1:
            return self._in_patches(region, operators)
        return _in_rows(region, operators, self.rows)

    def _in_channels(self, region: Region, operators: Sequence[Operator]) -> RegionCode:
        chain, plan = self.channels.plan(region, operators)
        text = ChannelsText(plan=plan, chain=chain, model=self.model)
        return RegionCode(
            plan=plan,
            function=text.function(),
            callees=text.callees(),
            constants=tuple(name for unit in chain.everyone for name in unit.constants),
            packed=tuple(tensor for unit in chain.everyone for tensor in unit.packed),
        )

    def _in_patches(self, region: Region, operators: Sequence[Operator]) -> RegionCode:
        code = self.patches.code(operators, region.patches)
        packed = [tuple(tensor for unit in rows for tensor in unit.packed) for rows in code.rows]
        # All patches are passed the constants of the first.
        assert all(each == packed[0] for each in packed)
        functions = (each for rows in code.rows for unit in rows for each in unit.functions)
        return RegionCode(
            plan=code.plan,
            function=patches_function(code, self.model),
            callees=tuple({each.name: each for each in functions}.values()),
            constants=tuple(name for unit in code.rows[0] for name in unit.constants),
            packed=packed[0],
        )

    def _usual(self, one: Operator, after: Operator) -> Region:
        other = next(name for name in after.inputs if name != one.output)
        alike = self.model.tensors[other].dtype == self.model.tensors[after.output].dtype
        return Region(operators=(one.id, after.id), usual=True, over=other if alike else None)


def _in_rows(region: Region, operators: Sequence[Operator], rows: RowRegions) -> RegionCode:
    units = rows.units(operators)
    assert units is not None
    plan = rows.plan(region, units)
    return RegionCode(
        plan=plan,
        function=RowsText(plan=plan, units=units, model=rows.model).function(),
        callees=tuple(each for unit in units for each in unit.functions),
        constants=tuple(name for unit in units for name in unit.constants),
        packed=tuple(tensor for unit in units for tensor in unit.packed),
    )
