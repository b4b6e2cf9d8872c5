"""The JSON Schema of SoC files, for editors; made from their records and shipped as `schema.json`.

It constrains single values. `target-arch check` checks the relations between values.
"""

import json
from typing import Any

from target_arch.soc.document import SocDocument
from target_arch.soc.model import SCHEMA, LoadProcess
from target_arch.soc.schema.kinds import IDENTIFIER
from target_arch.soc.schema.records import ListKind, OrNull, RecordKind, TableKind, record_keys


def schema_text() -> str:
    """The text of `schema.json`."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """The schema (draft 2020-12)."""
    tables = _object(SocDocument)
    tables["properties"]["schema"] = {"const": SCHEMA, "description": "version of this format"}
    tables["properties"]["memory_mode"]["required"] = ["default"]
    tables["properties"]["lowering"]["minProperties"] = 1
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SoC description",
        **tables,
    }


def _object(record: Any) -> dict[str, Any]:
    """The schema of a table with the keys of a record."""
    keys = record_keys(record)
    return {
        "type": "object",
        "properties": {key.name: _of(key.kind) | {"description": key.meaning} for key in keys},
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _of(kind: Any) -> dict[str, Any]:
    """The schema of the values of a kind."""
    if isinstance(kind, OrNull):
        return _of(kind.of)
    if isinstance(kind, ListKind):
        return {"type": "array", "items": _of(kind.of)}
    if isinstance(kind, TableKind):
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^{IDENTIFIER.pattern}$"},
            "additionalProperties": _of(kind.of),
        }
    if isinstance(kind, RecordKind):
        table = _object(kind.record)
        return {"anyOf": [table["properties"]["process"], table]} if kind.record is LoadProcess else table
    schema: dict[str, Any] = kind.schema()
    return schema
