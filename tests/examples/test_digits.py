"""The committed example model is the one its script describes, and as accurate as the README says."""

from pathlib import Path

import numpy as np
import onnx
import pytest

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
LARGEST_BYTES = 100_000
FLOAT_ACCURACY = 0.9861
"""What train.py printed for the float network; the int8 one may lose half a percent."""


def test_the_model_and_its_data_are_small() -> None:
    assert sum((DIGITS / name).stat().st_size for name in ("digits_int8.onnx", "heldout.npz")) < LARGEST_BYTES


def test_the_model_is_static_int8_qdq() -> None:
    model = onnx.load(DIGITS / "digits_int8.onnx")
    onnx.checker.check_model(model)
    operators = {node.op_type for node in model.graph.node}
    assert operators == {
        "Add", "AveragePool", "Conv", "DequantizeLinear", "Flatten", "Gemm", "QuantizeLinear",
    }  # fmt: skip
    assert model.ir_version <= 10
    shape = model.graph.input[0].type.tensor_type.shape
    assert [dimension.dim_value for dimension in shape.dim] == [1, 1, 8, 8]


def test_accuracy_on_held_out_digits() -> None:
    onnxruntime = pytest.importorskip(
        "onnxruntime", reason="needs onnxruntime: pip install target-arch[verify]"
    )
    with np.load(DIGITS / "heldout.npz") as data:
        images, labels = data["images"], data["labels"]
    assert images.shape == (360, 8, 8)
    session = onnxruntime.InferenceSession(DIGITS / "digits_int8.onnx", providers=["CPUExecutionProvider"])
    inputs = images.reshape(-1, 1, 1, 8, 8).astype(np.float32) / 16
    guesses = [int(session.run(None, {"image": image})[0].argmax()) for image in inputs]
    assert np.mean(guesses == labels) >= FLOAT_ACCURACY - 0.005
