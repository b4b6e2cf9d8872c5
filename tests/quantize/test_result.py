"""The result as text and as JSON of its schema."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from attrs import evolve

from target_arch.explore.outcome import PointOutcome, Status
from target_arch.quantize.price import ModelPrice
from target_arch.quantize.result import QuantizedToFit
from target_arch.quantize.search import quantize_to_fit
from tests.quantize.tiny import frames, request, written

pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[quantize]'")
SCHEMA = json.loads((files("target_arch.quantize") / "result.schema.json").read_text())


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> QuantizedToFit:
    folder = tmp_path_factory.mktemp("tiny")
    asked = request(folder, "flash=2600B")
    written(folder, x=frames(), labels=np.arange(24) % 4)
    return quantize_to_fit(asked)


@pytest.mark.slow
def test_json_follows_its_schema(result: QuantizedToFit) -> None:
    value = json.loads(json.dumps(result.to_json()))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(value, SCHEMA)
    assert value["models"][-1]["name"] == "chosen"
    assert value["models"][-1]["bytes"]["flash"] <= value["limits"]["bytes.flash"] == 2600
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**value, "more": 1}, SCHEMA)


def test_the_table(result: QuantizedToFit) -> None:
    lines = str(result).splitlines()
    assert lines[0].split() == ["model", "accuracy", "distance", "flash", "tcm", "time", "within"]
    assert [line.strip().split("  ")[0] for line in lines[1:6]] == [row.name for row in result.rows]
    assert lines[7].split("  ")[1] == "layer"
    assert lines[-2].startswith("onnxruntime, ")
    assert lines[-2].endswith(", 24 frames; within flash=2600B")


@pytest.mark.slow
def test_without_labels_there_is_no_accuracy(tmp_path: Path) -> None:
    result = quantize_to_fit(request(tmp_path, "flash=1MiB"))
    assert str(result).split()[:3] == ["model", "distance", "flash"]
    jsonschema.validate(json.loads(json.dumps(result.to_json())), SCHEMA)


def test_a_float_model_that_the_chip_refuses(result: QuantizedToFit) -> None:
    outcome = PointOutcome(
        status=Status.REFUSED, reason="m: error: too large\nhint: less", rule="does-not-fit"
    )
    refused = evolve(result.rows[0], price=ModelPrice(outcome=outcome), keeps=False)
    shown = evolve(result, rows=(refused, *result.rows[1:]))
    assert "no: m: error: too large" in str(shown).splitlines()[1]
    jsonschema.validate(json.loads(json.dumps(shown.to_json())), SCHEMA)
