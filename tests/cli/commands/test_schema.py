"""What commands print with `--format json` follows the schema that `target-arch schema` prints."""

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from target_arch.cli import main
from target_arch.cli.arguments.parser import parser
from target_arch.cli.commands.schema import FAILURE, printed_schema, schema_names
from target_arch.explore.outcome import PointOutcome, PrintedOutcome
from tests.cli.closed_schema import require_described
from tests.explore.spaces import space_file

DIGITS = str(Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.onnx")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digits model, compiled for zynq_edge with weights in a file."""
    folder = tmp_path_factory.mktemp("schemas") / "digits"
    words = ["compile", DIGITS, "--soc", "zynq_edge", "--constants", "file", "-o", str(folder)]
    assert main(words) == 0
    return str(folder)


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """What a command prints, which is as its schema says."""
    capsys.readouterr()
    assert main([*words, "--format", "json"]) == code
    value = json.loads(capsys.readouterr().out)
    require_described(FAILURE if code == 2 and isinstance(value, dict) else words[0], value)
    return value


def test_every_command_with_json_has_a_schema() -> None:
    _, commands = parser()
    with_json = {name for name, one in commands.items() if "--format" in one._option_string_actions}
    assert {*schema_names()} == with_json | {FAILURE, "soc"}


@pytest.mark.parametrize("name", schema_names())
def test_schemas(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", name]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == printed_schema(name)
    assert schema["$id"] == f"urn:target-arch:{name}"
    assert schema["title"]
    jsonschema.Draft202012Validator.check_schema(schema)


def test_names_are_listed_and_a_wrong_one_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == [*schema_names()]
    assert main(["schema", "explan"]) == 2
    assert capsys.readouterr().err == (
        "command line: error: `explan` has no schema [unknown-schema]\nhint: did you mean `explain`?\n"
    )


def test_chips_and_backends(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("schema = 1\nname = 2\n")
    right, refused = printed(capsys, "check", "zynq_edge", str(wrong), code=2)
    assert right["ok"]
    assert refused["diagnostics"][0]["line"] == 1
    for command in ("chips", "backends"):
        assert printed(capsys, command)
    assert len(printed(capsys, "show", "zynq_edge", "mcu_m55", "stm32h7a3")) == 3
    assert printed(capsys, "show", "nowhere", code=2)["diagnostics"]


@pytest.mark.long
def test_models(capsys: pytest.CaptureFixture[str]) -> None:
    zynq = (DIGITS, "--soc", "zynq_edge")
    assert printed(capsys, "operators", DIGITS)
    assert printed(capsys, "partition", *zynq)["partitions"]
    assert len(printed(capsys, "explain", *zynq)) == 10
    (divided,) = printed(capsys, "explain", *zynq, "conv2d_2", "--divide", "auto")
    assert divided["division"]["others"]
    assert printed(capsys, "explain", "no-host")["name"] == "no-host"


def test_bundles(bundle: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = str(tmp_path / "mcu")
    assert printed(capsys, "compile", DIGITS, "--soc", "mcu_m55", "-o", other)["soc"] == "mcu_m55"
    assert printed(capsys, "report", bundle)["soc"] == "zynq_edge"
    assert printed(capsys, "weights", bundle)["constants"] == "file"
    (compared,) = printed(capsys, "compare", bundle, other)
    assert compared["moved"]


@pytest.mark.slow
def test_runs(bundle: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert printed(capsys, "run", bundle, "--times")["times"]["steps"]
    assert printed(capsys, "run", bundle, "-o", str(tmp_path))
    result = printed(capsys, "verify", DIGITS, "--soc", "zynq_edge", "--count", "2", "--layers")
    assert result["digits_int8"]["layers"]
    assert printed(capsys, "report", bundle)["models"][0]["self_test"]


@pytest.mark.slow
def test_many_chips(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert len(printed(capsys, "explore", str(space_file(tmp_path)), "--workers", "1")["points"]) == 4
    assert printed(capsys, "fit", DIGITS, "--soc", "mcu_m7", "--shrink", "sram")["shrunk"]
    chips = ("--soc", "mcu_m7", "--soc", "mcu_m55", "--limit", "bytes.sram=1KiB", "--workers", "1")
    assert len(printed(capsys, "choose", DIGITS, *chips, code=0)) == 2


def test_outcomes_have_the_keys_of_their_class() -> None:
    fields = {field.name: field.default is attrs.NOTHING for field in attrs.fields(PointOutcome)}
    assert PrintedOutcome.__annotations__.keys() | {"status"} == fields.keys()
    assert {name for name, required in fields.items() if required} == PrintedOutcome.__required_keys__
