"""A class says what a table has: it is judged with all faults at once, read, written and documented."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from attrs import field, frozen

from target_arch.soc.faults import Path
from target_arch.soc.schema.kinds import Faults
from target_arch.soc.schema.records import (
    INLINE,
    REQUIRED,
    WHERE_THERE,
    ClosedRecord,
    PathInside,
    Real,
    Whole,
    default_table,
    key_paths,
    key_table,
    kind_of,
    read_record,
    table_values,
    to_json,
)
from target_arch.soc.schema.tables import TableDraft


class Colour(StrEnum):
    RED = "red"


@frozen(kw_only=True)
class Inner:
    size: Annotated[int, Whole(least=1), "bytes of it"]
    offset: Annotated[float, Real(signed=True)] = 0.0


@frozen(kw_only=True)
class Extra:
    first: str
    second: int


@frozen(kw_only=True)
class Later:
    size: Annotated[int | None, WHERE_THERE] = None


@frozen(kw_only=True)
class Outer:
    name: Annotated[str, "its name"]
    colour: Colour
    word: Literal["a", "b"]
    files: tuple[Annotated[str, PathInside()], ...]
    parts: Mapping[str, Inner]
    maybe: Annotated[bool | None, "whether it may be"] = None
    extra: Annotated[Extra | None, INLINE] = None
    total: Annotated[int, "of the parts"] = field(init=False)

    @total.default
    def _total(self) -> int:
        return sum(part.size for part in self.parts.values())

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        if self.name in self.parts:
            yield ("parts", self.name), "a part has the name of the whole"


@frozen(kw_only=True)
class Closed(ClosedRecord):
    size: Annotated[int, "bytes of it"]
    engine: Annotated[str, REQUIRED, "who copies"] = "cpu"
    lines: Annotated[int, "of a cache"] = 64
    cached: bool = False
    base: int | None = None


TABLE: dict[str, Any] = {
    "name": "n",
    "colour": "red",
    "word": "a",
    "files": ["x/y.c"],
    "parts": {"p": {"size": 4, "offset": -1}},
    "maybe": None,
    "total": 4,
}
WHOLE = Outer(
    name="n", colour=Colour.RED, word="a", files=("x/y.c",), parts={"p": Inner(size=4, offset=-1)}, maybe=None
)


def faults(table: object) -> list[tuple[Path, str]]:
    mistakes: Faults = []
    assert read_record(Outer, table, mistakes) is None
    return [(fault.path, fault.message) for fault in mistakes]


def test_a_table_is_read_and_written() -> None:
    assert read_record(Outer, TABLE, []) == WHOLE
    assert to_json(WHOLE) == TABLE


def test_a_key_with_a_default_may_be_missing_and_further_keys_are_accepted() -> None:
    table = {key: value for key, value in TABLE.items() if key != "maybe"} | {"new": [{}]}
    assert read_record(Outer, table, []) == WHOLE


def test_none_is_not_written_where_a_key_is_written_where_there() -> None:
    for table in ({"size": 3}, {}):
        assert to_json(read_record(Later, table, [])) == table


def test_keys_of_an_inner_record_stand_in_the_table() -> None:
    table = TABLE | {"first": "f", "second": 2}
    whole = read_record(Outer, table, [])
    assert whole is not None
    assert whole.extra == Extra(first="f", second=2)
    assert to_json(whole) == table
    assert faults(TABLE | {"first": "f"}) == [(("second",), "this file lacks `second`")]


def test_all_faults_at_once_with_their_paths() -> None:
    table = TABLE | {"name": 1, "colour": "blue", "word": "c", "files": ["../x"], "parts": {"p": {"size": 0}}}
    table |= {"maybe": 1, "total": "4"}
    assert faults(table) == [
        (("name",), "`name` must be text, not an integer"),
        (("colour",), "`colour` cannot be `blue`"),
        (("word",), "`word` cannot be `c`"),
        (("files", 0), "`../x` is no path inside of this folder"),
        (("parts", "p", "size"), "`size` must be at least 1"),
        (("maybe",), "`maybe` must be true or false, not an integer"),
        (("total",), "`total` must be an integer, not text"),
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the file is no table"),
        ({}, "this file lacks `name`"),
        (TABLE | {"parts": 1}, "`parts` must be a table, not an integer"),
        (TABLE | {"parts": {"p": None}}, "`p` must be a table, not null"),
        (TABLE | {"files": "x"}, "`files` must be a list, not text"),
        (TABLE | {"files": [1]}, "`files[0]` must be a path, not an integer"),
        (TABLE | {"parts": {"p": {"size": True}}}, "`size` must be an integer, not true or false"),
        (TABLE | {"parts": {"p": {"size": 1, "offset": "0"}}}, "`offset` must be a number, not text"),
        (TABLE | {"parts": {"n": {"size": 1}}}, "a part has the name of the whole"),
    ],
)
def test_faults(value: object, message: str) -> None:
    assert message in [said for _, said in faults(value)]


def test_the_table_of_keys() -> None:
    assert key_table(Outer).splitlines() == [
        "| key | | |",
        "|---|---|---|",
        "| `name` | text | its name |",
        "| `colour` | text | |",
        "| `word` | text | |",
        "| `files` | list of text | |",
        "| `parts` | table | |",
        "| `maybe` | true or false | whether it may be |",
        "| `first` | text | |",
        "| `second` | integer | |",
        "| `total` | integer | of the parts |",
    ]


def test_the_table_of_keys_with_defaults() -> None:
    assert default_table(Closed).splitlines() == [
        "| key | value | default | |",
        "|---|---|---|---|",
        "| `size` | integer | required | bytes of it |",
        "| `engine` | text | required | who copies |",
        "| `lines` | integer | `64` | of a cache |",
        "| `cached` | true or false | `false` | |",
        "| `base` | integer | | |",
    ]


def test_what_is_right_counts_beside_what_is_wrong() -> None:
    draft = TableDraft()
    table = {"size": 4, "lines": "many", "engine": "dma", "base": None}
    assert table_values(("memory",), table, Closed, draft, elsewhere=("engine",)) == {"size": 4, "base": None}
    assert [fault.message for fault in draft.faults] == ["`lines` must be an integer, not text"]


def test_a_misspelt_key_is_not_missing_too() -> None:
    draft = TableDraft()
    assert table_values((), {"sise": 4}, Closed, draft) == {}
    assert [fault.message for fault in draft.faults] == ["unknown key `sise`", "this file lacks `engine`"]
    assert draft.wrong == [("size",)]


def test_every_key_by_its_path() -> None:
    assert list(key_paths(Outer)) == [
        ("name", "text"),
        ("colour", "text"),
        ("word", "text"),
        ("files", "list of text"),
        ("parts", "table"),
        ("parts.NAME.size", "integer"),
        ("parts.NAME.offset", "number"),
        ("maybe", "true or false, or null"),
        ("first", "text"),
        ("second", "integer"),
        ("total", "integer"),
    ]


def test_a_type_that_no_json_has() -> None:
    with pytest.raises(KeyError):
        kind_of(bytes)
    with pytest.raises(KeyError):
        kind_of(list[int])
