"""Scales that are no positive numbers: a file may say any."""

from pathlib import Path

import numpy as np
import pytest

from conformance.tflite_files import TfliteFile
from target_arch.relax.importer import import_model
from tests.relax.models import helper, onnx_model, save
from tests.relax.readers.tflite_operators.refusals import reasons


@pytest.mark.parametrize("scale", [np.nan, np.inf, -0.5])
@pytest.mark.parametrize("end", ["input", "output"])
def test_a_tflite_model_is_refused(end: str, scale: float, tmp_path: Path) -> None:
    file = TfliteFile()
    scales = {"input": 0.1, "output": 0.1, end: scale}
    x = file.input((1, 16), "int8", scales["input"])
    file.operator("RELU_0_TO_1", [x], [file.output((1, 16), "int8", scales["output"])])
    name = {"input": "t0", "output": "t1"}[end]
    assert reasons(file.content(), tmp_path) == [
        f"`RELU_0_TO_1` once, at `t1`: a scale of tensor `{name}` is no positive number"
    ]


@pytest.mark.parametrize("scale", [np.nan, np.inf])
@pytest.mark.parametrize("end", ["before", "after"])
def test_an_operator_of_onnx_is_none_on_integers(end: str, scale: float, tmp_path: Path) -> None:
    """It is computed in floats, as the file says."""
    scales = {"before": 0.1, "after": 0.1, end: scale}
    model = onnx_model(
        [
            helper.make_node("QuantizeLinear", ["x", "before", "zero"], ["a"]),
            helper.make_node("DequantizeLinear", ["a", "before", "zero"], ["b"]),
            helper.make_node("Relu", ["b"], ["c"]),
            helper.make_node("QuantizeLinear", ["c", "after", "zero"], ["d"]),
            helper.make_node("DequantizeLinear", ["d", "after", "zero"], ["y"]),
        ],
        {"x": (1, 16)},
        {"y": (1, 16)},
        {**{name: np.array(each, np.float32) for name, each in scales.items()}, "zero": np.array(3, np.int8)},
    )
    made, _ = import_model(save(model, tmp_path / "scales.onnx"))
    assert "relu" in {operator.kind for operator in made.operators}
    assert all("activation_min" not in operator.attributes for operator in made.operators)
