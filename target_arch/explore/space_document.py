"""The tables of a space file."""

from collections.abc import Mapping
from typing import Annotated, Any

from attrs import field, frozen

from target_arch.plan.objective import Objective
from target_arch.soc.faults import Path
from target_arch.soc.schema.kinds import Faults, Integer, OneOf, OneOrMore, Text
from target_arch.soc.schema.records import ClosedRecord, KeyName, TableKind

SCHEMA = 1


@frozen
class AsInSocFile:
    """A value whose kind is that of a key of the SoC file, or of a measure, which judges it."""

    name: str = "value"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        return value


_FORMULAS = TableKind(of=Text(), name="table of formulas")


@frozen(kw_only=True)
class SpaceModelTable(ClosedRecord):
    """A model of a space file."""

    file: Annotated[tuple[str, ...], OneOrMore(), "the model file; several are variants"]


@frozen(kw_only=True)
class VariationTable(ClosedRecord):
    """A variation: a list of values, or a range of them with both of its ends."""

    key: Annotated[
        tuple[str, ...] | None,
        OneOrMore(),
        "the key of the SoC file, or several that have the value together",
    ] = None
    values: Annotated[Any, AsInSocFile("list of values"), "as the SoC file has them"] = None
    first: Annotated[Any, AsInSocFile(), KeyName("from"), "the first value of a range"] = None
    last: Annotated[Any, AsInSocFile(), KeyName("to"), "its last value, included"] = None
    step: Annotated[
        Any, AsInSocFile(), "from one value of the range to the next; 1 for numbers without a unit"
    ] = None
    factor: Annotated[float | None, AsInSocFile(), "by which the next value is larger, instead of a step"] = (
        None
    )


@frozen(kw_only=True)
class SpaceDocument(ClosedRecord):
    """A space file."""

    schema: Annotated[int, Integer(least=SCHEMA, most=SCHEMA), f"the version of this format, `{SCHEMA}`"]
    soc: Annotated[tuple[str, ...], OneOrMore(), "the SoC file, or the name of a shipped one; several vary"]
    model: Annotated[Mapping[str, SpaceModelTable], "the models by name"]
    minimize: Annotated[tuple[str, ...], OneOrMore(), "measures and formulas that are to be small"]
    objective: Annotated[
        Objective, OneOf(words=tuple(Objective)), "the [objective](placement.md#objectives) of placement"
    ] = Objective.LATENCY
    vary: Annotated[Mapping[str, VariationTable], "what varies, by a name for it"] = field(factory=dict)
    ties: Annotated[Mapping[str, str], _FORMULAS, "by key of the SoC file, the formula of its value"] = field(
        factory=dict
    )
    where: Annotated[tuple[str, ...], OneOrMore(), "formulas that hold at every point"] = ()
    formulas: Annotated[Mapping[str, str], _FORMULAS, "by a name for it, a formula"] = field(factory=dict)
    limits: Annotated[
        Mapping[str, Any], AsInSocFile("table of values"), "the most that measures and formulas may be"
    ] = field(factory=dict)
