"""A space of chips and what is asked of them: the value of a space file, which `space_file.py` reads.

A point of the space is one value of every variation, by its number.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from math import prod
from pathlib import Path as File
from typing import Any

from attrs import field, frozen

from target_arch.explore.formula import Formula, FormulaError, Number
from target_arch.explore.keys import key_path, value_in
from target_arch.plan.objective import Objective
from target_arch.soc.faults import Path
from target_arch.soc.files.edited import EditableToml
from target_arch.soc.files.toml_writer import quantity
from target_arch.soc.schema.kinds import Kind, Quantity, Scalar

Point = tuple[int, ...]
"""The number of the value of each variation, in the order of the space."""


@frozen(kw_only=True)
class VariedValue:
    """One value of a variation: as the TOML file has it, as a table shows it, and for formulas."""

    literal: str
    shown: str
    number: Number


@frozen(kw_only=True)
class Variation:
    """Values under one name. `paths` are the keys of the SoC file that have the value together; there
    are none for the variations of the program: which chip, memory mode, goal of the code, objective, or model
    file.
    """

    name: str
    paths: tuple[Path, ...] = ()
    settings: tuple[VariedValue, ...]


@frozen(kw_only=True)
class Tie:
    """A key of the SoC file whose value is a formula."""

    path: Path
    kind: Kind = field(repr=False)
    formula: Formula


@frozen(kw_only=True)
class Limit:
    """The most that a measure of a good point may be, in the measure's base unit."""

    measure: str
    most: float
    shown: str


@frozen(kw_only=True, eq=False)
class BaseChip:
    """A SoC file that points are made from: its name, its text, its values, and its folder."""

    name: str
    shown: str
    folder: File
    toml: EditableToml = field(repr=False, eq=False)
    document: Mapping[str, Any] = field(repr=False, eq=False)


@frozen(kw_only=True)
class SpaceModel:
    """A model, in one file or in several: variants, such as precisions, of which a point has one."""

    name: str
    files: tuple[File, ...]


CHIP, MODE, OPTIMIZE, OBJECTIVE = "soc", "mode", "optimize", "objective"
"""The names of the variations of the program; those of models have the model's name."""


@frozen(kw_only=True, slots=False)
class Space:
    """Variations, what is wanted, and what must hold.

    `where` are formulas that a point has to fulfil to be one. Placement has the `objective`. `minimize` names
    measures (see `measures.py`) and `formulas`. A point is good if it keeps the `limits`.
    """

    name: str
    models: tuple[SpaceModel, ...]
    chips: tuple[BaseChip, ...]
    variations: tuple[Variation, ...]
    ties: tuple[Tie, ...] = ()
    where: tuple[Formula, ...] = ()
    formulas: Mapping[str, Formula] = field(factory=dict)
    objective: Objective = Objective.LATENCY
    minimize: tuple[str, ...]
    limits: tuple[Limit, ...] = ()

    @property
    def size(self) -> int:
        """How many points there are before `where` leaves some out."""
        return prod(len(each.settings) for each in self.variations)

    def points(self) -> Iterator[Point]:
        """Every point that `where` keeps, in order. Raises FormulaError."""
        return filter(self.has, itertools.product(*(range(len(v.settings)) for v in self.variations)))

    def number(self, point: Point) -> int:
        """The point's number, by which a user names it: the place in the order of all points."""
        number = 0
        for variation, index in zip(self.variations, point, strict=True):
            number = number * len(variation.settings) + index
        return number

    def point(self, number: int) -> Point | None:
        """The point of that number; None where there is none, or `where` leaves it out."""
        if not 0 <= number < self.size:
            return None
        point = self.at(number)
        return point if self.has(point) else None

    def at(self, number: int) -> Point:
        """The values of that number below the size, also where `where` leaves them out."""
        indices = []
        for variation in reversed(self.variations):
            number, index = divmod(number, len(variation.settings))
            indices.append(index)
        return tuple(reversed(indices))

    def has(self, point: Point) -> bool:
        """Whether a point fulfils `where`."""
        names = self.names(point)
        return all(each.value(names) for each in self.where)

    def setting(self, point: Point, name: str) -> VariedValue | None:
        """The value of the variation of that name; None where it does not vary."""
        number = self._numbers.get(name)
        return None if number is None else self.variations[number].settings[point[number]]

    def settings(self, point: Point) -> dict[str, VariedValue]:
        """The values of a point by name."""
        return {v.name: v.settings[number] for v, number in zip(self.variations, point, strict=True)}

    def of_program(self, point: Point, name: str) -> str | None:
        """The value of a variation of the program: memory mode, goal or objective; None where that does not
        vary.
        """
        number = self._numbers.get(name)
        if number is None or self.variations[number].paths:
            return None
        return self.variations[number].settings[point[number]].shown

    def shown(self, point: Point) -> str:
        """The point in words: `tcm = 64 KiB, engines = 2`."""
        return ", ".join(f"{name} = {each.shown}" for name, each in self.settings(point).items())

    def chip(self, point: Point) -> BaseChip:
        """The SoC file that the point is made from."""
        setting = self.setting(point, CHIP)
        return self.chips[0] if setting is None else self._chips[setting.shown]

    def files(self, point: Point) -> dict[str, File]:
        """The file of every model at this point, by the model's name."""
        return {model.name: model.files[self._variant(point, model.name)] for model in self.models}

    def names(self, point: Point) -> Callable[[str], Number]:
        """The values of names and keys at a point, for formulas. FormulaError where a key has none."""
        settings, document = self.settings(point), self.chip(point).document

        def value(name: str) -> Number:
            if name in settings:
                return settings[name].number
            path = key_path(name) or ()
            varied = next((v.name for v in self.variations if path in v.paths), None)
            if varied is not None:
                return settings[varied].number
            tie = next((tie for tie in self.ties if tie.path == path), None)
            if tie is not None:
                return tie.formula.value(value)
            number = value_in(document, path)
            if number is None:
                raise FormulaError(f"`{name}` has no value in `{self.chip(point).name}`")
            return number

        return value

    def literals(self, point: Point) -> dict[Path, str]:
        """The values that a point puts into its SoC file. Raises FormulaError."""
        names = self.names(point)
        literals: dict[Path, str] = {}
        for variation, setting in zip(self.variations, self.settings(point).values(), strict=True):
            literals |= dict.fromkeys(variation.paths, setting.literal)
        for tie in self.ties:
            literals[tie.path] = literal(tie.formula.value(names), tie.kind)
        return literals

    def _variant(self, point: Point, model: str) -> int:
        number = self._numbers.get(model)
        return 0 if number is None else point[number]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {each.name: number for number, each in enumerate(self.variations)}

    @cached_property
    def _chips(self) -> dict[str, BaseChip]:
        return {each.name: each for each in self.chips}


def counted_points(count: int) -> str:
    """So many points, in words."""
    return "1 point" if count == 1 else f"{count:,} points"


def literal(value: Number, kind: Kind) -> str:
    """A computed value as the TOML file has it."""
    if isinstance(kind, Quantity) and not isinstance(value, str):
        return json.dumps(quantity(value, kind))
    if isinstance(value, float) and value.is_integer() and not isinstance(kind, Scalar):
        value = int(value)
    return json.dumps(value)
