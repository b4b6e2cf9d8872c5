"""Small models made by hand, for tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]


def onnx_model(
    nodes: list[Any],
    inputs: dict[str, tuple[int | str, ...]],
    outputs: dict[str, tuple[int, ...]],
    constants: dict[str, Array] | None = None,
) -> Any:
    """An ONNX model of opset 17 with float32 inputs and outputs."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(values, name) for name, values in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convnet() -> Any:
    """NCHW: convolutions, pools, a residual sum, two dense layers behind flattens, a softmax."""
    draw = np.random.default_rng(0)

    def values(*shape: int) -> Array:
        return (draw.standard_normal(shape) * 0.3).astype(np.float32)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], strides=[1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1], group=8),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("Conv", ["r2", "w3"], ["c3"]),
        helper.make_node("Add", ["c3", "p1"], ["a1"]),
        helper.make_node("Relu", ["a1"], ["r3"]),
        helper.make_node("AveragePool", ["r3"], ["p2"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p2"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Flatten", ["p2"], ["f2"]),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["d"], transB=1),
        helper.make_node("MatMul", ["f2", "w5"], ["m"]),
        helper.make_node("Add", ["m", "b4"], ["m2"]),
        helper.make_node("Add", ["d", "m2"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"], axis=-1),
    ]
    constants = {
        "w1": values(8, 3, 3, 3),
        "b1": values(8),
        "w2": values(8, 1, 3, 3),
        "b2": values(8),
        "w3": values(8, 8, 1, 1),
        "w4": values(10, 8),
        "b4": values(10),
        "w5": values(32, 10),
    }
    return onnx_model(nodes, {"x": (1, 3, 8, 8)}, {"y": (1, 10)}, constants)


def save(model: Any, path: Path) -> Path:
    """The path, with the model in it."""
    path.write_bytes(model.SerializeToString())
    return path


def quantized(model: Any, folder: Path, *, activations: str, per_channel: bool) -> Path:
    """The model quantized by onnxruntime to QDQ form with int8 weights; `activations` is QInt8 or QUInt8."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    source = save(model, folder / "float.onnx")
    target = folder / "quantized.onnx"
    quantize_static(
        source,
        target,
        _Calibration(model),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        activation_type=getattr(QuantType, activations),
        weight_type=QuantType.QInt8,
    )
    return target


class _Calibration:
    """Eight random inputs, as onnxruntime's calibration wants them."""

    def __init__(self, model: Any) -> None:
        self._batches = _batches(model)

    def get_next(self) -> dict[str, Array] | None:
        return next(self._batches, None)

    def set_range(self, start_index: int, end_index: int) -> None:
        """Called for calibration in strides, which eight inputs do not need."""


def _batches(model: Any) -> Iterator[dict[str, Array]]:
    draw = np.random.default_rng(1)
    shapes = {
        value.name: [extent.dim_value for extent in value.type.tensor_type.shape.dim]
        for value in model.graph.input
    }
    for _ in range(8):
        yield {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def onnx_reference(path: Path, inputs: dict[str, Array]) -> list[Array]:
    """What onnxruntime computes without optimizing the graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, inputs))


__all__ = ["Array", "convnet", "helper", "onnx", "onnx_model", "onnx_reference", "quantized", "save"]
