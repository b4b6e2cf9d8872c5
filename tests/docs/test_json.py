"""The table of docs/json.md is that of the schemas (`pytest --update-golden` writes it)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from target_arch.cli.commands.schema import printed_schema, schema_names

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
MARKED = re.compile(r"(<!-- schemas -->\n).*?(<!-- end -->)", re.DOTALL)
KEYS = 12
"""The most keys that stand in a row."""


def lines() -> Iterator[str]:
    yield "| schema | | | keys |\n|---|---|---|---|\n"
    for name in schema_names():
        schema = printed_schema(name)
        shape = resolved(schema, schema)
        said = schema.get("description") or shape.get("description", schema["title"])
        value = resolved(shape.get("items", shape), schema)
        kind = {"array": "list", "object": "table"}[shape["type"]]
        yield f"| `{name}` | {kind} | {' '.join(said.split())} | {keys(value)} |\n"


def resolved(shape: Any, schema: Any) -> Any:
    """What a schema refers to, or the first of its choices."""
    while "$ref" in shape or "anyOf" in shape:
        shape = schema["$defs"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape["anyOf"][0]
    return shape


def keys(shape: Any) -> str:
    names = [f"`{name}`" for name in shape.get("properties", {})]
    more = f" and {len(names) - KEYS} more" if len(names) > KEYS else ""
    return ", ".join(names[:KEYS]) + more


def test_the_table_is_that_of_the_schemas(pytestconfig: pytest.Config) -> None:
    text = PAGE.read_text()
    written = MARKED.sub(lambda found: found[1] + "".join(lines()) + found[2], text)
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(text := written)
    assert text == written
