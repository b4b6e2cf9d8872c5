"""Transposed convolutions of ONNX: the kind that TFLite's have, in floats and in int8."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from target_arch.run.exact.oracle import exact
from tests.backends.c.one import Compile, run
from tests.relax.models import helper, onnx_model, onnx_reference, save

Attributes = dict[str, Any]
DRAW = np.random.default_rng(5)
W = DRAW.integers(-90, 90, (3, 5, 3, 3)).astype(np.int8)
B = DRAW.integers(-900, 900, 5).astype(np.int32)
FORMS: tuple[tuple[Attributes, tuple[int, int]], ...] = (
    ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, (8, 10)),
    ({"strides": [2, 1], "pads": [0, 1, 1, 2]}, (8, 4)),
    ({"dilations": [2, 1]}, (8, 7)),
)
IDS = ["enlarged twice", "uneven", "dilated"]


def alone(model: Model) -> Model:
    """The transposed convolution, without what is around it."""
    (operator,) = (each for each in model.operators if each.kind == "conv2d_transpose")
    return evolve(model, inputs=operator.inputs, outputs=(operator.output,), operators=(operator,))


@pytest.mark.parametrize(("attributes", "image"), FORMS, ids=IDS)
def test_floats(attributes: Attributes, image: tuple[int, int], tmp_path: Path, build: Compile) -> None:
    nodes = [helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)]
    constants = {"w": W.astype(np.float32) / 50, "b": B.astype(np.float32) / 500}
    path = save(onnx_model(nodes, {"x": (1, 3, 4, 5)}, {"y": (1, 5, *image)}, constants), tmp_path / "m.onnx")
    x = DRAW.standard_normal((1, 3, 4, 5)).astype(np.float32)
    found = run(alone(import_model(path)[0]), build, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    (expected,) = onnx_reference(path, {"x": x})
    np.testing.assert_allclose(found.reshape(1, *image, 5).transpose(0, 3, 1, 2), expected, atol=1e-5)


@pytest.mark.parametrize(("attributes", "image"), FORMS, ids=IDS)
def test_stored_values(
    attributes: Attributes, image: tuple[int, int], tmp_path: Path, build: Compile
) -> None:
    """A scale for each channel of weights. C and the oracle agree, and with onnxruntime up to a step."""
    grids = {
        "s": np.float32(0.05), "z": np.int8(3), "t": np.float32(0.4), "u": np.int8(-7),
        "ws": np.linspace(0.01, 0.03, 5, dtype=np.float32), "wz": np.zeros(5, np.int8),
    }  # fmt: skip
    grids |= {"bs": grids["s"] * grids["ws"], "bz": np.zeros(5, np.int32)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=1),
        helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], axis=0),
        helper.make_node("ConvTranspose", ["d", "wd", "bd"], ["c"], **attributes),
        helper.make_node("QuantizeLinear", ["c", "t", "u"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "t", "u"], ["y"]),
    ]
    constants = {name: np.asarray(value) for name, value in {**grids, "w": W, "b": B}.items()}
    path = save(onnx_model(nodes, {"x": (1, 3, 4, 5)}, {"y": (1, 5, *image)}, constants), tmp_path / "m.onnx")
    model = alone(import_model(path)[0])
    x = DRAW.uniform(-6, 6, (1, 3, 4, 5)).astype(np.float32)
    stored = np.clip(np.rint(x / grids["s"]) + 3, -128, 127).astype(np.int8)
    given = np.ascontiguousarray(stored.transpose(0, 2, 3, 1))
    found = run(model, build, given)
    must = exact(model.operators[0], model, {model.inputs[0]: given})
    np.testing.assert_array_equal(found.ravel(), must.ravel())
    (expected,) = onnx_reference(path, {"x": x})
    reals = (found.reshape(1, *image, 5).transpose(0, 3, 1, 2).astype(np.float64) + 7) * 0.4
    assert np.abs(reals - expected).max() < 0.41
