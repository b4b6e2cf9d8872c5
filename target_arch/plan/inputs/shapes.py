"""Extents of open dimensions and values of inputs, as the user fixes them.

Readers ask `InputShapes.fixed` for the shape of every input; the command line makes one of `--input-shape`,
`--batch` and `--input-value`. Tests: `tests/plan/inputs/test_shapes.py`.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen

from target_arch.diagnostics import (
    Blank,
    Diagnostic,
    DiagnosticError,
    Entries,
    Keyword,
    advice,
    listed,
    name_hint,
)
from target_arch.plan.inputs.cut import WHOLE, ModelCut

Extent = int | str | None
"""Of one dimension: a number, or open, with the name that the model gives it or without."""

Shape = tuple[int, ...]


@frozen(kw_only=True)
class ModelInput:
    """An input as a model file declares it; `extents` is None where not even the rank is known."""

    name: str
    extents: tuple[Extent, ...] | None


@frozen(kw_only=True)
class InputShapes:
    """Wanted shapes of inputs by name, and the extent of every open first dimension.

    An extent given for a dimension that has a name in the file counts for all dimensions of that name. An
    input with one of the `values` is a constant, all of whose elements are that number: the model that is
    compiled has it no more. Inputs are those of the part that a `cut` leaves of the model.
    """

    shapes: Mapping[str, Shape] = field(factory=dict)
    batch: int | None = None
    values: Mapping[str, float] = field(factory=dict)
    cut: ModelCut = WHOLE

    def __bool__(self) -> bool:
        return bool(self.shapes or self.values or self.cut) or self.batch is not None

    def fixed(self, place: str, inputs: Sequence[ModelInput]) -> dict[str, Shape]:
        """The shape of every input. DiagnosticError with the options to add where one stays open, and for
        every wish that the model cannot have.
        """
        wrong = (*_contradictions(self, place, inputs), *_two_extents(self, place, inputs))
        if wrong:
            raise DiagnosticError(wrong)
        named = _named(self, inputs)
        found = {one.name: _extents(self, one, named) for one in inputs}
        shapes = {
            name: extents for name, extents in found.items() if extents is not None and _closed(extents)
        }
        if len(shapes) < len(inputs):
            raise DiagnosticError([_still_open(place, inputs, found)])
        return {
            name: tuple(int(extent) for extent in extents if extent is not None)
            for name, extents in shapes.items()
        }


AS_IN_FILE = InputShapes()
"""Nothing fixed: every input has the shape that the file gives it."""


def _contradictions(wanted: InputShapes, place: str, inputs: Sequence[ModelInput]) -> Iterable[Diagnostic]:
    """Everything in a wish that the model's inputs do not allow."""
    known = {one.name: one.extents for one in inputs}
    for name, shape in wanted.shapes.items():
        extents = known.get(name)
        if name not in known:
            yield _refused(place, f"the model has no input `{name}`", name_hint(name, known, "it has"))
        elif extents is not None and len(extents) != len(shape):
            yield _refused(
                place, f"input `{name}` has {len(extents)} dimensions ({_text(extents)}), not {len(shape)}"
            )
        elif extents is not None:
            for number, (has, asked) in enumerate(zip(extents, shape, strict=True)):
                if isinstance(has, int) and has != asked:
                    yield _refused(place, f"dimension {number} of input `{name}` is {has}, not {asked}")
    for name in sorted(wanted.values.keys() - known.keys()):
        yield _refused(place, f"the model has no input `{name}`", name_hint(name, known, "it has"))
    if wanted.batch is not None and not any(_takes_batch(one, wanted.batch) for one in inputs):
        yield _refused(place, f"no input has an open first dimension that could become {wanted.batch}")


def _two_extents(wanted: InputShapes, place: str, inputs: Sequence[ModelInput]) -> Iterable[Diagnostic]:
    """Dimensions of one name that two shapes would give two extents."""
    first: dict[str, tuple[int, str]] = {}
    for one in inputs:
        for extent, asked in zip(one.extents or (), wanted.shapes.get(one.name, ()), strict=False):
            if not isinstance(extent, str):
                continue
            known, where = first.setdefault(extent, (asked, one.name))
            if known != asked:
                both = f"{known} in input `{where}` and {asked} in input `{one.name}`"
                yield _refused(place, f"dimension `{extent}` is to be {both}")


def _takes_batch(one: ModelInput, batch: int) -> bool:
    first = one.extents[0] if one.extents else None
    return bool(one.extents) and (not isinstance(first, int) or first == batch)


def _named(wanted: InputShapes, inputs: Sequence[ModelInput]) -> dict[str, int]:
    """The extents of the dimensions that have names; a shape goes before the batch."""
    found: dict[str, int] = {}
    for one in inputs:
        for extent, asked in zip(one.extents or (), wanted.shapes.get(one.name, ()), strict=False):
            if isinstance(extent, str):
                found.setdefault(extent, asked)
    for one in inputs:
        first = one.extents[0] if one.extents else None
        if isinstance(first, str) and wanted.batch is not None:
            found.setdefault(first, wanted.batch)
    return found


def _extents(wanted: InputShapes, one: ModelInput, named: Mapping[str, int]) -> tuple[Extent, ...] | None:
    if one.name in wanted.shapes or one.extents is None:
        return wanted.shapes.get(one.name)
    extents = [named.get(extent, extent) if isinstance(extent, str) else extent for extent in one.extents]
    if extents and extents[0] is None:
        extents[0] = wanted.batch
    return tuple(extents)


def _closed(extents: Iterable[Extent] | None) -> bool:
    return extents is not None and all(isinstance(extent, int) for extent in extents)


def _still_open(
    place: str, inputs: Sequence[ModelInput], found: Mapping[str, tuple[Extent, ...] | None]
) -> Diagnostic:
    """The refusal of a model with open inputs; its hint has the options to add to the command."""
    rest = {one.name: found[one.name] for one in inputs if not _closed(found[one.name])}
    message = ", ".join(f"`{name}` ({_text(extents)})" for name, extents in rest.items())
    only_batch = all(extents and _closed(extents[1:]) for extents in rest.values())
    shapes = Entries(tuple((name, _wanted(extents)) for name, extents in rest.items()))
    wanted = Keyword("batch", 1) if only_batch else Keyword("input_shapes", shapes)
    numbers = "" if only_batch else f", with a number for {listed(_blanks(rest.values()))}"
    subject = "an input has" if len(rest) == 1 else f"{len(rest)} inputs have"
    return Diagnostic(
        rule="dynamic-shape",
        place=place,
        message=f"{subject} open dimensions: {message}",
        hint=advice("add ", wanted, numbers),
    )


def _wanted(extents: tuple[Extent, ...] | None) -> tuple[int | Blank, ...] | Blank:
    """The extents to ask for: 1 for an open first dimension, a blank for others."""
    if extents is None:
        return Blank("SHAPE")
    return tuple(
        1 if not number and not isinstance(extent, int) and len(extents) > 1 else _blank(number, extent)
        for number, extent in enumerate(extents)
    )


def _blank(number: int, extent: Extent) -> int | Blank:
    """A number, else the author's name in capitals, else a letter and the number of the dimension."""
    if isinstance(extent, int):
        return extent
    letters = "".join(character for character in extent or "" if character.isascii() and character.isalnum())
    return Blank(letters.upper() if letters and not letters[0].isdigit() else f"D{number}")


def _blanks(rest: Iterable[tuple[Extent, ...] | None]) -> set[str]:
    wanted = (_wanted(extents) for extents in rest)
    words = (each for one in wanted for each in (one if isinstance(one, tuple) else (one,)))
    return {word.text for word in words if isinstance(word, Blank)}


def _text(extents: tuple[Extent, ...] | None) -> str:
    """`Nx3x?`: the names that the model gives, a question mark where it gives none."""
    if extents is None:
        return "of any rank"
    return "x".join("?" if extent is None else str(extent) for extent in extents) or "a scalar"


def _refused(place: str, message: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(rule="input-shape", place=place, message=message, hint=hint)
