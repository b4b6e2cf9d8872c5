"""`schema`: the JSON Schema of what a command prints for programs.

Tests: `tests/cli/commands/test_schema.py`.
"""

import argparse
from collections.abc import Mapping
from typing import Annotated, Any

from target_arch.api.schemas.result_schemas import RESULTS, WRITTEN, schema_of
from target_arch.cli.commands.describe import CheckedFile, ListedBackend
from target_arch.cli.text.output import PrintedFailure, data, json_data
from target_arch.diagnostics import name_hint, refusal

FAILURE = "failure"
"""The name of what every command prints that ends with messages."""

PRINTED: Mapping[str, Any] = {
    **RESULTS,
    "backends": Annotated[list[ListedBackend], "the backends that were found"],
    "check": Annotated[list[CheckedFile], "an entry for each SoC file"],
    FAILURE: PrintedFailure,
}
"""The type of what a command prints with `--format json`, by its name."""


def schema(options: argparse.Namespace) -> int:
    """Print the schema of a command, or the names that have one."""
    names = schema_names()
    if options.name is None:
        data("\n".join(names))
        return 0
    if options.name not in names:
        said = f"`{options.name}` has no schema"
        raise refusal("unknown-schema", "command line", said, name_hint(options.name, names, "there are"))
    json_data(printed_schema(options.name))
    return 0


def schema_names() -> tuple[str, ...]:
    """The names that have a schema, in the order of the alphabet: those of commands, and two others."""
    return tuple(sorted((*PRINTED, *WRITTEN)))


def printed_schema(name: str) -> dict[str, Any]:
    """The schema of a name. KeyError for one that has none."""
    title = f"What `target-arch {'COMMAND' if name == FAILURE else name} --format json` prints"
    schema = WRITTEN[name]() if name in WRITTEN else schema_of(PRINTED[name], title)
    return {"$id": f"urn:target-arch:{name}", **schema}
