"""lookup: one table for every function of stored 8-bit values, with the values of the references."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.backends.plain_c.regions.defined import defined
from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model
from target_arch.plan.regions.cut import Axis
from target_arch.relax.importer import import_model
from target_arch.run.exact.oracle import exact
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, Compile, constant, one_operator, quantized, run
from tests.relax.models import helper, onnx_model, save

Nodes = list[Any]

ONE = (
    "Abs", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Mish", "Neg", "Reciprocal", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus",
    "Softsign", "Tanh", "ThresholdedRelu",
)  # fmt: skip
"""ONNX operators of one tensor that are defined for every number."""


def between(nodes: Nodes, dtype: str, scale: float, zero: int, out_scale: float, folder: Path) -> Path:
    """A model of nodes from `xd` to `h` on all stored values of `x`, between dequantize and quantize."""
    around = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        *nodes,
        helper.make_node("QuantizeLinear", ["h", "s2", "z2"], ["hq"]),
        helper.make_node("DequantizeLinear", ["hq", "s2", "z2"], ["y"]),
    ]
    constants = {
        "s": np.array(scale, np.float32),
        "z": np.array(zero, dtype),
        "s2": np.array(out_scale, np.float32),
        "z2": np.array(zero + 17, dtype),
        "half": np.array([[0.5]], np.float32),
        "two": np.array(2, np.float32),
        "slope": np.full((256,), 0.3, np.float32),
        "slopes": np.linspace(0.1, 0.5, 256, dtype=np.float32),
    }
    read = {name for node in around for name in node.input}
    used = {name: value for name, value in constants.items() if name in read}
    model = onnx_model(around, {"x": (1, 256)}, {"y": (1, 256)}, used)
    model.opset_import[0].version = 20
    return save(model, folder / "m.onnx")


def expected(path: Path, reals: Array) -> Array:
    runtime: Any = pytest.importorskip(
        "onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'"
    )
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (found,) = runtime.InferenceSession(str(path), options).run(None, {"x": reals})
    return np.asarray(found)


def computed(path: Path) -> tuple[list[str], Model]:
    model, _ = import_model(path)
    return [str(operator.kind) for operator in model.operators], model


def beside_onnxruntime(path: Path, dtype: str, scale: float, zero: int) -> None:
    """Every entry of the table is what onnxruntime computes."""
    kinds, model = computed(path)
    assert kinds == ["quantize", "lookup", "dequantize"]
    low, high = DTYPE_RANGE[dtype]
    stored = np.arange(low, high + 1)
    reals = ((stored - zero).astype(np.float32) * np.float32(scale)).reshape(1, 256)
    operator = model.operators[1]
    table = np.frombuffer(model.tensors[operator.constants[0]].data or b"", dtype)
    grid = model.tensors[operator.output].quantization
    assert grid is not None
    ours = (table.astype(np.int32) - grid.zero_point[0]).astype(np.float32) * np.float32(grid.scale[0])
    np.testing.assert_array_equal(ours.reshape(1, 256), expected(path, reals))


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 3), ("uint8", 121)])
@pytest.mark.parametrize(("scale", "out_scale"), [(0.05, 0.021), (0.0625, 1 / 64)])
@pytest.mark.parametrize("name", ONE)
def test_every_function_of_onnx_is_a_table_with_the_values_of_onnxruntime(
    name: str, dtype: str, zero: int, scale: float, out_scale: float, tmp_path: Path
) -> None:
    nodes = [helper.make_node(name, ["xd"], ["h"])]
    beside_onnxruntime(between(nodes, dtype, scale, zero, out_scale, tmp_path), dtype, scale, zero)


COMPOSED = {
    "silu": [helper.make_node("Sigmoid", ["xd"], ["g"]), helper.make_node("Mul", ["xd", "g"], ["h"])],
    "two functions": [helper.make_node("Tanh", ["xd"], ["g"]), helper.make_node("Exp", ["g"], ["h"])],
    "constants": [
        helper.make_node("Mul", ["xd", "half"], ["g"]),
        helper.make_node("Add", ["g", "two"], ["k"]),
        helper.make_node("Max", ["k", "half"], ["h"]),
    ],
    "equal constants": [helper.make_node("PRelu", ["xd", "slope"], ["h"])],
    "a power": [helper.make_node("Pow", ["xd", "two"], ["h"])],
    "a choice": [
        helper.make_node("Greater", ["xd", "half"], ["g"]),
        helper.make_node("Exp", ["xd"], ["e"]),
        helper.make_node("Where", ["g", "xd", "e"], ["h"]),
    ],
}


@pytest.mark.parametrize("name", COMPOSED)
def test_what_is_composed_of_functions_is_one_table(name: str, tmp_path: Path) -> None:
    beside_onnxruntime(between(COMPOSED[name], "int8", 0.04, 3, 0.03, tmp_path), "int8", 0.04, 3)


def test_what_has_no_number_is_the_least_stored_value(tmp_path: Path) -> None:
    nodes = [helper.make_node("Sqrt", ["xd"], ["h"])]
    beside_onnxruntime(between(nodes, "int8", 0.05, 3, 0.021, tmp_path), "int8", 0.05, 3)


@pytest.mark.parametrize(
    "nodes",
    [
        [helper.make_node("PRelu", ["xd", "slopes"], ["h"])],
        [helper.make_node("ReduceMax", ["xd"], ["r"]), helper.make_node("Mul", ["xd", "r"], ["h"])],
    ],
    ids=["other constants", "another function"],
)
def test_what_is_no_function_of_one_number_is_no_table(nodes: Nodes, tmp_path: Path) -> None:
    assert "lookup" not in computed(between(nodes, "int8", 0.05, 3, 0.02, tmp_path))[0]


def test_a_value_that_others_read_stays_in_the_model(tmp_path: Path) -> None:
    nodes = [helper.make_node("Sigmoid", ["xd"], ["h"]), helper.make_node("Exp", ["h"], ["z"])]
    model = onnx_model(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z0"], ["xq"]),
            helper.make_node("DequantizeLinear", ["xq", "s", "z0"], ["xd"]),
            *nodes,
            helper.make_node("QuantizeLinear", ["h", "s", "z0"], ["hq"]),
            helper.make_node("DequantizeLinear", ["hq", "s", "z0"], ["y"]),
        ],
        {"x": (1, 4)},
        {"y": (1, 4), "z": (1, 4)},
        {"s": np.array(0.05, np.float32), "z0": np.array(3, np.int8)},
    )
    assert "lookup" not in computed(save(model, tmp_path / "m.onnx"))[0]


def by_table(dtype: str, shape: tuple[int, ...] = (256,)) -> Model:
    """A lookup in a table of no pattern."""
    values = np.random.default_rng(7).integers(*DTYPE_RANGE[dtype], size=256, endpoint=True)
    x, out = quantized("x", shape, 0.05, 1, dtype), quantized("out", shape, 0.02, 4, dtype)
    table = constant(quantized("table", (256,), 0.02, 4, dtype), values)
    return one_operator("lookup", "onnx", [x], out, (table,), curve="each")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_c_is_the_oracle(dtype: str, build: Compile) -> None:
    model = by_table(dtype)
    low, high = DTYPE_RANGE[dtype]
    values = np.arange(low, high + 1).astype(dtype)
    must = exact(model.operators[0], model, {"x": values})
    assert must is not None
    np.testing.assert_array_equal(run(model, build, values), must)


def test_lines_between_results_of_int16_are_the_oracle(build: Compile) -> None:
    rng = np.random.default_rng(5)
    table = constant(quantized("table", (513,), 1.0, 0, "int16"), rng.integers(-32768, 32768, 513))
    x, out = (quantized(name, (4096,), 1 / 4096, 0, "int16") for name in ("x", "out"))
    model = one_operator("lookup", "tflite", [x], out, (table,), curve="lines")
    values = rng.integers(-32768, 32768, 4096).astype(np.int16)
    must = exact(model.operators[0], model, {"x": values})
    assert must is not None
    np.testing.assert_array_equal(run(model, build, values), must)


def test_a_curve_that_is_none_has_no_form(build: Compile) -> None:
    model = by_table("int8")
    model.operators[0].attributes["curve"] = "bow"  # type: ignore[index]
    with pytest.raises(ValueError, match="`lookup`: there is no curve `bow`"):
        run(model, build, np.zeros(256, np.int8))


def test_its_rows_are_computed_one_by_one_with_the_whole_table() -> None:
    model = by_table("int8", (1, 8, 8, 16))
    rows = defined(model.operators[0], model, Axis.ROWS, InstructionSet.GENERIC)
    assert rows is not None
    assert rows.constants == ("table",)
