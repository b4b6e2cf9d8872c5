"""The JSON Schema that editors use agrees with the reader."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

from target_arch.resources import soc_configs
from target_arch.soc.files.json_schema import json_schema, schema_text

PACKAGE = Path(__file__).parents[3] / "target_arch"
BAD = Path(__file__).parents[1] / "bad"

SEEN_BY_A_SCHEMA = (
    "bad-choice",
    "bad-identifier",
    "bad-text",
    "bad-unit",
    "empty-list",
    "missing-key",
    "no-default-mode",
    "out-of-range",
    "repeated-name",
    "schema-version",
    "unknown-key",
    "wrong-type",
)


def test_the_shipped_file_is_up_to_date() -> None:
    assert (PACKAGE / "soc" / "schema.json").read_text() == schema_text()


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("file", sorted(soc_configs().glob("*.toml")), ids=lambda file: file.stem)
def test_shipped_files_are_valid(file: Path) -> None:
    jsonschema.validate(tomllib.loads(file.read_text()), json_schema())


@pytest.mark.parametrize("rule", SEEN_BY_A_SCHEMA)
def test_faults_of_single_values_are_seen(rule: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads((BAD / f"{rule}.toml").read_text()), json_schema())
