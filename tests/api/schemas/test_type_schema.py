"""Schemas of types: records, attrs classes, typed dictionaries, and what they consist of."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from attrs import frozen

from target_arch.api.schemas.type_schema import type_schema
from target_arch.soc.schema.records import INLINE, WHERE_THERE


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@frozen
class Size:
    """The size of a part."""

    high: int
    wide: Annotated[int, "in bytes"]


@frozen
class Part:
    """A part."""

    name: Annotated[str, "of the part"]
    note: Annotated[str | None, WHERE_THERE] = None
    size: Annotated[Size | None, INLINE] = None


class Told(TypedDict):
    """A part that is told."""

    part: Part
    price: NotRequired[float]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (bool, {"type": "boolean"}),
        (Annotated[float, "seconds"], {"type": "number", "description": "seconds"}),
        (str | None, {"type": ["string", "null"]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Mapping[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Colour, {"enum": ["red", "blue"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (list[str] | str, {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}),
    ],
)
def test_types(hint: Any, schema: dict[str, Any]) -> None:
    assert type_schema(hint) == schema


def test_classes_are_defined_once() -> None:
    part = {
        "description": "A part.",
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "of the part"},
            "note": {"type": ["string", "null"]},
            "high": {"type": "integer"},
            "wide": {"type": "integer", "description": "in bytes"},
        },
        "required": ["name"],
    }
    told = {
        "description": "A part that is told.",
        "type": "object",
        "properties": {"part": {"$ref": "#/$defs/Part"}, "price": {"type": "number"}},
        "required": ["part"],
    }
    assert type_schema(list[Told]) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Told"},
        "$defs": {"Part": part, "Told": told},
    }


def test_two_classes_of_one_name_are_a_defect() -> None:
    other = frozen(type("Size", (), {"__doc__": "Another.", "__annotations__": {"deep": int}}))
    with pytest.raises(AssertionError, match="two classes are called `Size`"):
        type_schema(dict[str, Size] | other)


@pytest.mark.parametrize("hint", [bytes, set[int], tuple[int, str]])
def test_types_that_are_not_printed(hint: Any) -> None:
    with pytest.raises(KeyError):
        type_schema(hint)
