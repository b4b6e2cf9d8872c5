"""All ways to run neighbouring operators as one region, and the C of each."""

from collections.abc import Iterator, Sequence
from math import ceil

from attrs import define, evolve, field, frozen

from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.kernels.pick import predicted
from target_arch.backends.plain_c.regions.channels import ChannelRegions
from target_arch.backends.plain_c.regions.channels_text import ChannelsText
from target_arch.backends.plain_c.regions.linewise import CHANNELS_HEADER, ROWS_HEADER, Linewise
from target_arch.backends.plain_c.regions.patches import PatchRegions
from target_arch.backends.plain_c.regions.rows import RowRegions
from target_arch.backends.plain_c.regions.rows_text import RowsText, patches_text
from target_arch.backends.plain_c.regions.schedule import turns_of
from target_arch.backends.plain_c.regions.text import RegionText
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.regions.cut import Axis
from target_arch.plan.regions.lines import Pass, RegionPlan
from target_arch.plan.regions.region import Region
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
    columns: RowRegions = field(init=False)
    channels: ChannelRegions = field(init=False)
    patches: PatchRegions = field(init=False)
    _alone: dict[str, float] = field(factory=dict, repr=False)

    def __attrs_post_init__(self) -> None:
        model, isa = self.model, self.isa
        self.rows = RowRegions(model=model, axis=Axis.ROWS, isa=isa)
        self.columns = RowRegions(model=model, axis=Axis.COLUMNS, isa=isa)
        self.channels = ChannelRegions(model=model, isa=isa)
        self.patches = PatchRegions(rows=self.rows)

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
        if region.patches > 1:
            return self._in_patches(region, operators)
        return self._in_rows(region, operators)

    def _in_rows(self, region: Region, operators: Sequence[Operator]) -> RegionCode:
        ways = self.columns if region.axis is Axis.COLUMNS else self.rows
        units = ways.units(operators)
        assert units is not None
        one = ways.one_pass(region, units)
        body = RowsText(plan=one, units=units, model=self.model).body()
        return self._code("stripes", region, ROWS_HEADER, [(one, units)], body)

    def _in_channels(self, region: Region, operators: Sequence[Operator]) -> RegionCode:
        units = self.channels.units(operators)
        assert units is not None
        one = self.channels.one_pass(region, units)
        body = ChannelsText(plan=one, units=units, model=self.model).body()
        return self._code("channels", region, CHANNELS_HEADER, [(one, units)], body)

    def _in_patches(self, region: Region, operators: Sequence[Operator]) -> RegionCode:
        patches = self.patches.patches(region, operators)
        texts = [
            RowsText(
                plan=patch.turns,
                units=patch.rows,
                model=self.model,
                skipped=[unit.skipped for unit in patch.units],
            )
            for patch in patches
        ]
        passes = [(patch.turns, patch.rows) for patch in patches]
        return self._code("patches", region, ROWS_HEADER, passes, patches_text(texts))

    def _code(
        self,
        kind: str,
        region: Region,
        header: str,
        passes: Sequence[tuple[Pass, Sequence[Linewise]]],
        body: Iterator[str],
    ) -> RegionCode:
        """The code of a region from its passes, each with its units. All are passed the constants of the
        first.
        """
        packed = [tuple(tensor for unit in units for tensor in unit.packed) for _, units in passes]
        assert all(each == packed[0] for each in packed)
        plan, first = RegionPlan(cuts=region.cuts, passes=tuple(one for one, _ in passes)), passes[0][1]
        headers = (header, *(name for _, units in passes for unit in units for name in unit.headers))
        callees = (
            each
            for one, units in passes
            for unit in units
            for each in unit.functions(turns_of(one)[unit.unit.image.name])
        )
        return RegionCode(
            plan=plan,
            function=RegionText(plan=plan, units=first, model=self.model).function(kind, headers, body),
            callees=tuple({each.name: each for each in callees}.values()),
            constants=tuple(name for unit in first for name in unit.constants),
            packed=packed[0],
        )

    def _usual(self, one: Operator, after: Operator) -> Region:
        other = next(name for name in after.inputs if name != one.output)
        alike = self.model.tensors[other].dtype == self.model.tensors[after.output].dtype
        return Region(operators=(one.id, after.id), usual=True, over=other if alike else None)
