"""A pool that writes its channels into a concatenation leaves room for the others in every pixel."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch

pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")


def test_a_maximum_pool_beside_its_input(tmp_path: Path) -> None:
    """As in the spatial pyramids of detectors."""
    shape, pool = [1, 16, 8, 8], {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]}
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], **pool),
        helper.make_node("Concat", ["a", "b"], ["c"], axis=1),
        helper.make_node("Conv", ["c", "w"], ["y"]),
    ]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weights = np.random.default_rng(0).standard_normal((8, 32, 1, 1)).astype(np.float32)
    constants = [numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph(nodes, "pyramid", values, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    made = target_arch.compile(model, "zynq_edge", name="pyramid")
    (found,) = made.write(tmp_path / "bundle").verify(model, count=2).values()
    assert found.passed, found
