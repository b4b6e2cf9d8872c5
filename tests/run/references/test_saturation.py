"""onnxruntime's answers to products of uint8 and int8, as ONNX defines them on every processor."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

from target_arch.run.references.onnxruntime import ort

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

ROWS = np.full((1, 4), 255, np.uint8)
COLUMNS = np.full((4, 2), 127, np.int8)


def written(path: Path, node: object, output: int, constants: dict[str, np.ndarray]) -> Path:
    made = helper.make_graph(
        [node],
        "products",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 4))],
        [helper.make_tensor_value_info("y", output, (1, 2))],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    save_model(helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def test_sums_of_products_do_not_saturate(tmp_path: Path) -> None:
    node = helper.make_node("MatMulInteger", ["x", "w", "zero"], ["y"])
    constants = {"w": COLUMNS, "zero": np.uint8(0)}
    path = written(tmp_path / "m.onnx", node, TensorProto.INT32, constants)
    for answer in ort(path).answer((ROWS,)):
        np.testing.assert_array_equal(answer[0], ROWS.astype(np.int32) @ COLUMNS)


def test_zero_points_of_weights_move_along(tmp_path: Path) -> None:
    one, names = np.float32(1), ["x", "one", "zero", "w", "one", "middle", "scale", "zero"]
    node = helper.make_node("QLinearMatMul", names, ["y"])
    constants = {"w": COLUMNS, "one": one, "zero": np.uint8(0)}
    constants |= {"middle": np.array([27, 127], np.int8), "scale": np.float32(1000)}
    path = written(tmp_path / "m.onnx", node, TensorProto.UINT8, constants)
    for answer in ort(path).answer((ROWS,)):
        np.testing.assert_array_equal(answer[0], [[102, 0]])
