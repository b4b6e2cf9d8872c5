"""Moves between dequantize and quantize move integers, and products find their conversions beside them."""

from pathlib import Path
from typing import Any

import numpy as np

from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import helper, onnx_model, onnx_reference, save

Nodes = list[Any]
GRIDS = {"s": np.array(0.05, np.float32), "z": np.array(3, np.int8), "t": np.array(0.5, np.float32)}


def quantized(name: str, scale: str = "s") -> Nodes:
    """`name`q and `name`d: the stored values, and the reals that they stand for."""
    return [
        helper.make_node("QuantizeLinear", [name, scale, "z"], [f"{name}q"]),
        helper.make_node("DequantizeLinear", [f"{name}q", scale, "z"], [f"{name}d"]),
    ]


def kinds(model: Model) -> list[str]:
    return [str(operator.kind) for operator in model.operators]


def agree(path: Path, model: Model, program: Any, shape: tuple[int, ...]) -> None:
    """Results are onnxruntime's, up to one step."""
    x = np.random.default_rng(0).uniform(-5, 5, shape).astype(np.float32)
    (found,) = evaluate(model, {"x": x}, program)
    (expected,) = onnx_reference(path, {"x": x})
    np.testing.assert_allclose(found, expected, atol=0.5001)


def test_a_product_behind_moves_is_one_of_stored_values(tmp_path: Path) -> None:
    """Reshapes and transposes between the conversions and both products, as pt2e quantization leaves them."""
    nodes = [
        *quantized("x"),
        helper.make_node("Reshape", ["xd", "heads"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0, 2]),
        helper.make_node("Transpose", ["a"], ["c"], perm=[1, 2, 0]),
        helper.make_node("MatMul", ["b", "c"], ["p"]),
        helper.make_node("Reshape", ["p", "four"], ["m"]),
        *quantized("m", "t"),
        helper.make_node("Identity", ["md"], ["y"]),
    ]
    constants = {**GRIDS, "heads": np.array([6, 4, 4]), "four": np.array([1, 4, 6, 6])}
    path = save(onnx_model(nodes, {"x": (1, 6, 16)}, {"y": (1, 4, 6, 6)}, constants), tmp_path / "m.onnx")
    model, program = import_model(path)
    assert kinds(model).count("matmul") == 1
    assert kinds(model).count("dequantize") == 1
    (product,) = (operator for operator in model.operators if operator.kind == "matmul")
    assert model.tensors[product.output].dtype == "int8"
    agree(path, model, program, (1, 6, 16))


def test_conversions_that_meet_on_one_grid_are_left_out(tmp_path: Path) -> None:
    nodes = [
        *quantized("x"),
        helper.make_node("Transpose", ["xd"], ["m"], perm=[0, 2, 1]),
        *quantized("m"),
        helper.make_node("Transpose", ["md"], ["y"], perm=[0, 2, 1]),
    ]
    path = save(onnx_model(nodes, {"x": (1, 6, 4)}, {"y": (1, 6, 4)}, GRIDS), tmp_path / "m.onnx")
    model, program = import_model(path)
    assert kinds(model) == ["quantize", "dequantize"]
    agree(path, model, program, (1, 6, 4))


def test_another_grid_is_a_requantize_of_stored_values(tmp_path: Path) -> None:
    nodes = [
        *quantized("x"),
        helper.make_node("Slice", ["xd", "first", "last", "axis"], ["m"]),
        *quantized("m", "t"),
        helper.make_node("Identity", ["md"], ["y"]),
    ]
    bounds = {"first": np.array([1]), "last": np.array([3]), "axis": np.array([1])}
    model_file = onnx_model(nodes, {"x": (1, 6, 4)}, {"y": (1, 2, 4)}, {**GRIDS, **bounds})
    path = save(model_file, tmp_path / "m.onnx")
    model, program = import_model(path)
    assert sorted(kinds(model)) == ["dequantize", "quantize", "requantize", "slice"]
    agree(path, model, program, (1, 6, 4))


def test_only_zeros_are_added_to_stored_values(tmp_path: Path) -> None:
    """Every grid has zero; another value may be between two steps."""
    for value, stored in ((0.0, True), (0.26, False)):
        nodes = [
            *quantized("x"),
            helper.make_node("Pad", ["xd", "sides", "value"], ["m"]),
            *quantized("m", "t"),
            helper.make_node("Identity", ["md"], ["y"]),
        ]
        constants = {**GRIDS, "sides": np.array([0, 1, 0, 0, 0, 2]), "value": np.array(value, np.float32)}
        path = save(onnx_model(nodes, {"x": (1, 6, 4)}, {"y": (1, 7, 6)}, constants), tmp_path / "m.onnx")
        model, program = import_model(path)
        (pad,) = (each for each in model.operators if each.kind == "pad")
        assert (model.tensors[pad.output].dtype == "int8") is stored
        agree(path, model, program, (1, 6, 4))


def test_a_value_that_others_read_keeps_its_conversion(tmp_path: Path) -> None:
    nodes = [
        *quantized("x"),
        helper.make_node("Transpose", ["xd"], ["m"], perm=[0, 2, 1]),
        helper.make_node("Softmax", ["m"], ["r"], axis=-1),
        *quantized("m", "t"),
        helper.make_node("Add", ["md", "r"], ["y"]),
    ]
    path = save(onnx_model(nodes, {"x": (1, 6, 4)}, {"y": (1, 4, 6)}, GRIDS), tmp_path / "m.onnx")
    model, program = import_model(path)
    assert kinds(model).count("softmax") == 1
    assert kinds(model).count("requantize") == 1
    agree(path, model, program, (1, 6, 4))
