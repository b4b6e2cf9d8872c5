"""ONNX's Clip arrives as a clip, whatever the frontend makes of it, and a clip to [0, 6] is a composite's."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from target_arch.relax.importer import import_model
from target_arch.relax.kinds.catalogue import standard_patterns


def clipped_conv(path: Path, low: float, high: float) -> Path:
    shape = [1, 2, 4, 4]
    weights = np.linspace(-1, 1, 36, dtype=np.float32).reshape(2, 2, 3, 3)
    bounds = [
        numpy_helper.from_array(np.float32(each), name) for each, name in ((low, "low"), (high, "high"))
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("Clip", ["c", "low", "high"], ["y"]),
        ],
        "clipped",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(weights, "w"), *bounds],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    ("low", "high", "kinds"),
    [
        (0.0, 6.0, ["transpose", "conv2d", "transpose"]),
        (-1.5, 4.5, ["transpose", "conv2d", "function", "transpose"]),
    ],
)
def test_clip(tmp_path: Path, low: float, high: float, kinds: list[str]) -> None:
    path = clipped_conv(tmp_path / "clipped.onnx", low, high)
    model, _ = import_model(path, None, standard_patterns())
    assert [operator.kind for operator in model.operators] == kinds
    if "function" in kinds:
        assert model.operators[2].attributes == {"function": "clip", "parameters": (low, high)}
    else:
        assert model.operators[1].attributes["activation"] == "relu6"
