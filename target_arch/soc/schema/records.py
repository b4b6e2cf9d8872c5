"""Records: classes that say which keys a table of JSON or TOML has.

A record is a frozen attrs class whose fields are the keys: the type of a field says what the value is, and a
text beside the type what it means. From the class a table is judged and read (`read_record`, or key by key
where what is right counts although something else is wrong: `table_values`), written (`to_json`) and
documented (`key_table`, `default_table`).

    @frozen(kw_only=True)
    class Stack:
        reserved: Annotated[int, "bytes of the stack"]
        path: Annotated[tuple[str, ...], "the calls that need most of it"]

A key whose field has a default may be missing. One whose field is not an argument of the class follows from
the others: it is written and must be there, and nothing more. A table may have further keys, since newer
versions may add some, unless its record is a `ClosedRecord`.
Tests: `tests/soc/schema/test_records.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs
from attrs import Attribute, frozen

from target_arch.soc.faults import Fault, Path
from target_arch.soc.schema.kinds import Faults, Flag, OneOf, out_of_range, wrong_type
from target_arch.soc.schema.tables import TableDraft, required_value, unknown_keys

_R = TypeVar("_R")
_RULE = "bad-record"


class ClosedRecord:
    """Base of a record whose table has no other keys: those that it does not have are mistakes."""

    __slots__ = ()


class ValueKind(Protocol):
    """How a value of one type is judged and read; `name` is its type in words."""

    @property
    def name(self) -> str: ...

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        """The value, converted; None where something usable is not left, with the mistakes in `faults`."""


class _Inline:
    """See `INLINE`."""


class _Marker:
    """See `WHERE_THERE`, `NO_KEY` and `REQUIRED`."""


@frozen
class KeyName:
    """Beside the type of a field: the name of its key, where that is no name of Python's or another word."""

    text: str


WHERE_THERE = _Marker()
"""Beside the type of a field with a default: the key is not written where the value is the default."""

NO_KEY = _Marker()
"""Beside the type of a field with a default: it is no key of the table."""

REQUIRED = _Marker()
"""Beside the type of a field with a default: a table has to have the key."""

INLINE = _Inline()
"""Beside the type of a field that is a record or None: the keys of the record stand in the table itself, and
it is None where not one of them does.
"""


@frozen
class Printed:
    """Text, also an empty one."""

    name: str = "text"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        return value if isinstance(value, str) else wrong_type(path, "text", value, faults)


@frozen
class PathInside:
    """A path that stays in its folder; a plain name where `plain`."""

    plain: bool = False
    name: str = "text"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, str):
            return wrong_type(path, "a path", value, faults)
        parts = value.split("/")
        if not value.isprintable() or {"", ".", ".."} & {*parts} or (self.plain and len(parts) > 1):
            what = "plain name of a file" if self.plain else "path inside of this folder"
            return _refused(path, f"`{value}` is no {what}", faults)
        return value


@frozen
class Whole:
    """An integer of at least `least`."""

    least: int = 0
    name: str = "integer"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            return wrong_type(path, "an integer", value, faults)
        if value < self.least:
            return out_of_range(path, f"`{path[-1]}` must be at least {self.least}", faults)
        return value


@frozen
class Real:
    """A number that is not negative, unless it may be `signed`. Whole numbers stay integers. It is written
    with so many `digits`; with all of them where they are 0.
    """

    signed: bool = False
    digits: int = 0
    name: str = "number"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return wrong_type(path, "a number", value, faults)
        if value < 0 and not self.signed:
            return out_of_range(path, f"`{path[-1]}` must not be negative", faults)
        return value

    def written(self, value: float) -> float:
        return float(f"{value:.{self.digits}g}") if self.digits else value


@frozen
class WordKind:
    """One of a few words, read as `member` makes it."""

    words: tuple[str, ...]
    member: Callable[[str], str] = str
    name: str = "text"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, str):
            return wrong_type(path, "text", value, faults)
        word = OneOf(words=self.words).read(path, value, faults)
        return None if word is None else self.member(word)


@frozen
class OrNull:
    """Null, or a value of the kind."""

    of: ValueKind

    @property
    def name(self) -> str:
        return self.of.name

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        return None if value is None else self.of.read(path, value, faults)


@frozen
class ListKind:
    """A list of values of one kind, read as a tuple."""

    of: ValueKind

    @property
    def name(self) -> str:
        return (
            "list"
            if isinstance(self.of, RecordKind)
            else f"list of {self.of.name.replace('integer', 'integers')}"
        )

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, list):
            return wrong_type(path, "a list", value, faults)
        return tuple(self.of.read((*path, index), item, faults) for index, item in enumerate(value))


@frozen
class TableKind:
    """A table of values of one kind, by names of the kind `names`."""

    of: ValueKind
    names: ValueKind = Printed()
    name: str = "table"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return wrong_type(path, "a table", value, faults)
        for key in value:
            self.names.read((*path, key), key, faults)
        return {key: self.of.read((*path, key), item, faults) for key, item in value.items()}


@frozen
class RecordKind:
    """A table with the keys of a record, which may have `contradictions` of its own between them."""

    record: Any
    name: str = "table"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return wrong_type(path, "a table", value, faults)
        before = len(faults)
        values = table_values(path, value, self.record, TableDraft(faults=faults))
        if len(faults) > before:
            return None
        made = self.record(**values)
        for place, message in getattr(made, "contradictions", tuple)():
            _refused((*path, *place), message, faults)
        return made


@frozen
class Key:
    """A key of a record: the field, the kind of its values, its meaning; `inline` where it stands for all
    keys of another record.
    """

    name: str
    field: "Attribute[Any]"
    kind: ValueKind
    meaning: str
    inline: bool
    where_there: bool
    needed: bool

    @property
    def default(self) -> Any:
        """The value without the key; attrs.NOTHING where it has to be there."""
        default: Any = self.field.default
        if self.needed or not self.field.init:
            return attrs.NOTHING
        return default.factory() if hasattr(default, "factory") else default

    @property
    def required(self) -> bool:
        return self.default is attrs.NOTHING

    @property
    def record(self) -> Any:
        """The record whose keys an inline one stands for."""
        return cast(RecordKind, cast(OrNull, self.kind).of).record


def one_table(
    path: Path, value: object, record: Any, draft: TableDraft, expected: str = "a table"
) -> dict[str, Any]:
    """The good values of a table by field of its record; a fault where the value is no table."""
    if isinstance(value, dict):
        return table_values(path, value, record, draft)
    wrong_type(path, expected, value, draft.faults)
    return {}


def table_values(
    path: Path, table: Mapping[str, Any], record: Any, draft: TableDraft, elsewhere: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The good values of a table by field of its record; `elsewhere` are keys that others read."""
    if issubclass(record, ClosedRecord):
        unknown_keys(path, table, tuple(key.name for key in _documented(record)), draft)
    values = {}
    for key in record_keys(record):
        before = len(draft.faults)
        read = attrs.NOTHING if key.name in elsewhere else _value(path, table, key, draft)
        missing = read is attrs.NOTHING or (read is None and len(draft.faults) > before)
        if key.field.init and not missing:
            values[key.field.name] = read
    return values


def _value(path: Path, table: Mapping[str, Any], key: Key, draft: TableDraft) -> Any:
    """The value of a key in a table; attrs.NOTHING where it has none, with a fault if it has to."""
    if key.inline:
        there = any(each.name in table for each in record_keys(key.record))
        return RecordKind(key.record).read(path, table, draft.faults) if there else None
    if key.name in table:
        return key.kind.read((*path, key.name), table[key.name], draft.faults)
    if key.required:
        required_value(path, table, key.name, draft)
    return attrs.NOTHING


def read_record(record: type[_R], value: object, faults: Faults) -> _R | None:
    """The record in the value of a file; None with every mistake in `faults` where it is not one."""
    if not isinstance(value, dict):
        return cast(None, _refused((), "the file is no table", faults))
    before = len(faults)
    made = RecordKind(record).read((), value, faults)
    return cast(_R, made) if len(faults) == before else None


def to_json(value: Any, kind: Any = None) -> Any:
    """The value as JSON: a record as a table of its keys, and what its `kind` writes otherwise so."""
    kind = kind.of if isinstance(kind, OrNull) else kind
    if value is not None and hasattr(kind, "written"):
        return kind.written(value)
    if value is None or isinstance(value, str | int | float):  # asked first, as most are
        return value
    if attrs.has(type(value)):
        return dict(_written(value))
    of = getattr(kind, "of", None)
    if isinstance(value, tuple):
        return [to_json(each, of) for each in value]
    if isinstance(value, Mapping):
        return {name: to_json(each, of) for name, each in value.items()}
    return value


def _written(record: Any) -> Iterator[tuple[str, Any]]:
    for key in record_keys(cast(Any, type(record))):
        value = getattr(record, key.field.name)
        if key.where_there and value == key.default:
            continue
        if not key.inline:
            yield key.name, to_json(value, key.kind)
        elif value is not None:
            yield from _written(value)


def key_table(record: Any) -> str:
    """The keys of a record as a table of Markdown: name, type, meaning."""
    rows = (_row(f"`{key.name}`", key.kind.name, key.meaning) for key in _documented(record))
    return "".join((_row("key", "", ""), _row("---", "---", "---").replace(" ", ""), *rows))


def default_table(record: Any) -> str:
    """The keys of a record as a table of Markdown: name, type, value without it, meaning."""
    rows = (
        _row(f"`{key.name}`", key.kind.name, _default_text(key.default), key.meaning)
        for key in _documented(record)
    )
    rule = _row("---", "---", "---", "---").replace(" ", "")
    return "".join((_row("key", "value", "default", ""), rule, *rows))


def _row(*cells: str) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|\n"


def _default_text(default: Any) -> str:
    """A default as it would be written; nothing where a key that is not there means nothing."""
    if default is attrs.NOTHING:
        return "required"
    if isinstance(default, bool):
        return f"`{default}`".lower()
    if isinstance(default, str | int | float) and default:
        return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"
    return ""


def key_paths(record: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key below a record by its path, with the type of its value in words: `parts.NAME.size`,
    `steps[].what`.
    """
    for key in _documented(record):
        kind: Any = key.kind
        null = isinstance(kind, OrNull)
        kind = kind.of if null else kind
        below = f"{path}.{key.name}".lstrip(".")
        yield below, kind.name + (", or null" if null else "")
        while isinstance(kind, ListKind | TableKind):
            below += "[]" if isinstance(kind, ListKind) else ".NAME"
            kind = kind.of
        if isinstance(kind, RecordKind):
            yield from key_paths(kind.record, below)


def _documented(record: Any) -> Iterator[Key]:
    for key in record_keys(record):
        yield from _documented(key.record) if key.inline else (key,)


@cache
def record_keys(record: Any) -> tuple[Key, ...]:
    """The keys of a record, in the order of its fields."""
    hints = get_type_hints(record, include_extras=True)
    keys = (_key(field, hints[field.name]) for field in attrs.fields(record))
    return tuple(key for key in keys if key is not None)


def record_key(record: Any, name: str) -> Key:
    """The key of that name. KeyError where the record has none."""
    key = next((key for key in record_keys(record) if key.name == name), None)
    if key is None:
        raise KeyError(name)
    return key


def _key(field: "Attribute[Any]", hint: Any) -> Key | None:
    beside = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if NO_KEY in beside:
        return None
    name = next((each.text for each in beside if isinstance(each, KeyName)), field.name)
    meaning = next((each for each in beside if isinstance(each, str)), "")
    return Key(
        name=name,
        field=field,
        kind=kind_of(hint),
        meaning=meaning,
        inline=INLINE in beside,
        where_there=WHERE_THERE in beside,
        needed=REQUIRED in beside,
    )


@cache
def kind_of(hint: Any) -> ValueKind:
    """The kind of values that a type stands for. KeyError for a type that no value of JSON has."""
    if get_origin(hint) is Annotated:
        own = (each for each in hint.__metadata__ if not isinstance(each, str | _Inline | _Marker | KeyName))
        return cast(ValueKind, next(own, None)) or kind_of(get_args(hint)[0])
    if get_origin(hint) is not None:
        return _composed(get_origin(hint), get_args(hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return WordKind(tuple(hint), hint)
    if isinstance(hint, type) and attrs.has(hint):
        return RecordKind(hint)
    plain: dict[Any, ValueKind] = {str: Printed(), int: Whole(), float: Real(), bool: Flag()}
    return plain[hint]


def _composed(origin: Any, inner: tuple[Any, ...]) -> ValueKind:
    """The kind of `origin[inner]`."""
    if origin is Literal:
        return WordKind(inner)
    first, *others = map(kind_of, (each for each in inner if each not in (..., NoneType)))
    if origin in (Union, UnionType) and not others:
        return OrNull(first)
    if origin is tuple and inner[1:] == (...,):
        return ListKind(first)
    if origin is Mapping:
        return TableKind(of=others[0], names=first)
    raise KeyError(origin)


def _refused(path: Path, message: str, faults: Faults) -> Any:
    faults.append(Fault(rule=_RULE, path=path, message=message))
    return None
