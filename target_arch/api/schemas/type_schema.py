"""The JSON Schema (draft 2020-12) of a type whose values are printed as JSON.

Types are those of records (`soc.schema.records`), of other attrs classes, which are printed with all of their
fields, and of typed dictionaries. A class becomes an entry of `$defs`; texts beside types are descriptions.
Objects may have further keys, since newer versions may add some.
Tests: `tests/api/schemas/test_type_schema.py`.
"""

import inspect
from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import attrs

from target_arch.soc.schema.records import INLINE, WHERE_THERE

Schema = dict[str, Any]


_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    object: {},
}


def type_schema(hint: Any) -> Schema:
    """The schema of a type, with its classes in `$defs`. KeyError for a type that is not printed."""
    classes: dict[str, Schema] = {}
    schema = _schema(hint, classes)
    return {**schema, "$defs": dict(sorted(classes.items()))} if classes else schema


def _schema(hint: Any, classes: dict[str, Schema]) -> Schema:
    if get_origin(hint) is Annotated:
        inner, *beside = get_args(hint)
        texts = [each for each in beside if isinstance(each, str)]
        return _schema(inner, classes) | ({"description": texts[0]} if texts else {})
    if get_origin(hint) is not None:
        return _composed(get_origin(hint), get_args(hint), classes)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [str(member) for member in hint]}
    if attrs.has(hint) or is_typeddict(hint):
        return _reference(hint, classes)
    return dict(_PLAIN[hint])


def _composed(origin: Any, inner: tuple[Any, ...], classes: dict[str, Schema]) -> Schema:
    """The schema of `origin[inner]`."""
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is NotRequired:
        return _schema(inner[0], classes)
    if origin in (Union, UnionType):
        return _any_of([_schema(each, classes) for each in inner])
    if origin in (list, tuple) and inner[1:] in ((), (...,)):
        return {"type": "array", "items": _schema(inner[0], classes)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1], classes)}
    raise KeyError(origin)


def _any_of(choices: list[Schema]) -> Schema:
    """One of several: as a list of types where they are nothing but types."""
    if all(choice.keys() == {"type"} for choice in choices):
        return {"type": [choice["type"] for choice in choices]}
    return {"anyOf": choices}


def _reference(cls: Any, classes: dict[str, Schema]) -> Schema:
    """A reference to a class, which is in `classes` then."""
    name = cls.__name__
    schema = {"description": inspect.cleandoc(cls.__doc__), **_object(cls, classes)}
    assert classes.setdefault(name, schema) == schema, f"two classes are called `{name}`"
    return {"$ref": f"#/$defs/{name}"}


def _object(cls: Any, classes: dict[str, Schema]) -> Schema:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, hint, there in _fields(cls):
        beside = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        if INLINE in beside:
            properties |= _object(_record(hint), classes)["properties"]
            continue
        properties[name] = _schema(hint, classes)
        if there and WHERE_THERE not in beside:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _record(hint: Any) -> Any:
    """The record in `Annotated[Record | None, INLINE]`."""
    return next(each for each in get_args(get_args(hint)[0]) if each is not NoneType)


def _fields(cls: Any) -> Iterator[tuple[str, Any, bool]]:
    """The fields of a class: name, type, and whether it is always there."""
    hints = get_type_hints(cls, include_extras=True)
    if is_typeddict(cls):
        yield from ((name, hint, name in cls.__required_keys__) for name, hint in hints.items())
    else:
        yield from ((field.name, hints[field.name], True) for field in attrs.fields(cls))
