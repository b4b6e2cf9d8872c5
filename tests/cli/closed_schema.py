"""Values beside the schema of what a command prints, in which no key may be missing."""

from typing import Any

import jsonschema

from target_arch.cli.commands.schema import printed_schema


def require_described(name: str, value: Any) -> None:
    """The value follows the schema of the name, which describes every key of it."""
    schema = printed_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(value, closed(schema))


def closed(schema: Any) -> Any:
    """The schema in which objects have no keys but those it describes."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items()}
    shape = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {"additionalProperties": False, **inner} if shape else inner
