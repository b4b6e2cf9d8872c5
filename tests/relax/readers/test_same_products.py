"""One sum of products from several exporters: the same operator, whatever the file format."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from target_arch.plan.model import Model, Operator
from target_arch.relax.importer import import_model
from tests.relax.models import Array, onnx_model, save

DRAW = np.random.default_rng(3)
SHAPE = (1, 7, 6, 4)
"""The image NHWC; convolutions have 2 groups, kernels of 3 x 3, strides of 2 and the padding SAME."""
PADDING = (1, 0, 1, 1)
WEIGHTS = DRAW.integers(-100, 100, (8, 3, 3, 2)).astype(np.int8)
BIAS = DRAW.integers(-2000, 2000, 8).astype(np.int32)
X, W, Y = (0.05, 3), 0.02, (0.3, -7)
"""Scales and zero points of int8 values."""


def only(path: Path, kind: str) -> tuple[Operator, Model]:
    """The one operator of that kind, beside those at the ends of the model."""
    model, _ = import_model(path)
    ends = ("quantize", "dequantize", "transpose")
    (operator,) = (each for each in model.operators if each.kind not in ends)
    assert operator.kind == kind
    return operator, model


def said(operator: Operator, model: Model) -> dict[str, Any]:
    """All that a backend is told of an operator, but for names."""
    names = (*operator.inputs, *operator.constants, operator.output)
    tensors = [model.tensors[name] for name in names]
    kept = {key: value for key, value in operator.attributes.items() if not key.startswith("activation")}
    return {
        **kept,
        "tensors": [(each.shape, each.dtype, each.data) for each in tensors],
        "grids": [each.quantization for each in (tensors[0], tensors[1], tensors[-1])],
    }


def tflite(
    folder: Path,
    dtype: str,
    shift: int = 0,
    weights: Array = WEIGHTS,
    *,
    channels: int = 4,
    code: str = "CONV_2D",
) -> Path:
    """A convolution of stored values; those in uint8 are larger by `shift`."""
    from conformance.tflite_files import TfliteFile

    file = TfliteFile()
    options = {"strideH": 2, "strideW": 2, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 0}
    x = file.input((*SHAPE[:3], channels), dtype, X[0], X[1] + shift)
    w = file.tensor(weights.shape, dtype, W, shift, data=weights.astype(np.int16) + shift)
    b = file.tensor((8,), "int32", X[0] * W, 0, data=BIAS)
    y = file.output((1, 4, 3, 8), dtype, Y[0], Y[1] + shift)
    table = "Conv2DOptions" if code == "CONV_2D" else "DepthwiseConv2DOptions"
    file.operator(code, [x, w, b], [y], (table, options), 3)
    path = folder / f"{dtype}_{code}.tflite"
    path.write_bytes(file.content())
    return path


def qdq(folder: Path, dtype: str, shift: int = 0, weight: str = "int8") -> Path:
    """The same convolution between QuantizeLinear and DequantizeLinear."""
    moved = 128 if weight == "uint8" else 0
    constants = {
        "xs": np.float32(X[0]), "xz": np.array(X[1] + shift, dtype),
        "w": (WEIGHTS.astype(np.int16) + moved).astype(weight).transpose(0, 3, 1, 2),
        "ws": np.float32(W), "wz": np.array(moved, weight),
        "b": BIAS, "bs": np.float32(X[0]) * np.float32(W), "bz": np.int32(0),
        "ys": np.float32(Y[0]), "yz": np.array(Y[1] + shift, dtype),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wr"]),
        helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["br"]),
        helper.make_node("Conv", ["xr", "wr", "br"], ["c"], group=2, strides=[2, 2], pads=[*PADDING]),
        helper.make_node("QuantizeLinear", ["c", "ys", "yz"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "ys", "yz"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 7, 6))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 8, 4, 3))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return save(model, folder / f"{dtype}_{weight}.onnx")


def test_a_grouped_int8_convolution(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")
    first = said(*only(tflite(tmp_path, "int8"), "conv2d"))
    assert (first["groups"], first["padding"], first["strides"]) == (2, PADDING, (2, 2))
    assert first["tensors"][1] == ((8, 3, 3, 2), "int8", WEIGHTS.tobytes())
    assert said(*only(qdq(tmp_path, "int8"), "conv2d")) == first


@pytest.mark.parametrize(("dtype", "shift"), [("int8", 0), ("uint8", 128)])
def test_a_depthwise_convolution_of_one_channel_is_a_convolution(
    tmp_path: Path, dtype: str, shift: int
) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")
    weights = WEIGHTS[..., :1]
    first = said(*only(tflite(tmp_path, dtype, shift, weights, channels=1), "conv2d"))
    deep = tflite(tmp_path, dtype, shift, weights.transpose(3, 1, 2, 0), channels=1, code="DEPTHWISE_CONV_2D")
    assert said(*only(deep, "conv2d")) == first
    assert first["tensors"][1] == ((8, 3, 3, 1), "int8", weights.tobytes())


def test_weights_in_uint8_become_int8_without_zero_point(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")
    first = said(*only(tflite(tmp_path, "uint8", 128), "conv2d"))
    assert first["tensors"][1] == ((8, 3, 3, 2), "int8", WEIGHTS.tobytes())
    assert first["grids"][1].zero_point == (0,)
    assert first["tensors"][0][:2] == (SHAPE, "uint8")
    for weight in ("int8", "uint8"):
        assert said(*only(qdq(tmp_path, "uint8", 128, weight), "conv2d")) == first


def test_weights_too_far_from_their_zero_point_keep_it(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")
    wide = WEIGHTS.copy()
    wide[0, 0, 0] = 127
    found = said(*only(tflite(tmp_path, "uint8", 100, wide), "conv2d"))
    assert found["tensors"][1] == ((8, 3, 3, 2), "int8", wide.tobytes())
    assert found["grids"][1].zero_point == (0,)


def test_a_grouped_convolution_of_floats(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'target-arch[torch]'")
    weights = WEIGHTS.astype(np.float32).transpose(0, 3, 1, 2)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=2, strides=[2, 2], pads=[1, 1, 1, 1])
    constants = {"w": weights, "b": BIAS.astype(np.float32)}
    made = onnx_model([node], {"x": (1, 4, 7, 6)}, {"y": (1, 8, 4, 3)}, constants)
    first = said(*only(save(made, tmp_path / "m.onnx"), "conv2d"))
    layer = torch.nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights.copy()))
        layer.bias.copy_(torch.from_numpy(BIAS.astype(np.float32)))
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(layer.eval(), (torch.zeros(1, 4, 7, 6),)), path)
    assert said(*only(path, "conv2d")) == first
    assert first["groups"] == 2
