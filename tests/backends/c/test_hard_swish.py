"""hard_swish: on floats an operator, of stored values a table with the results of the references."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from tests.backends.c.litert import Reference, blob
from tests.backends.c.one import Array, Compile, one_operator, quantized, real, run
from tests.relax.models import helper, onnx_model, save
from tests.slow import slow_except

LEAST = {"int8": -128, "uint8": 0}


def every_value(dtype: str) -> Array:
    return (np.arange(256) + LEAST[dtype]).astype(dtype)


def stored(dtype: str, ratio: float, scale: float = 0.05) -> Model:
    """The tensors of all 256 values and their results, whose scale is `ratio` times the input's."""
    least = LEAST[dtype]
    x = quantized("x", (256,), scale, least + 131, dtype)
    return one_operator("relu", "tflite", [x], quantized("out", (256,), scale * ratio, least + 40, dtype))


def onnx_file(tmp_path: Path, *, least: float = 0.0, steps: tuple[str, ...] = ("HardSwish",)) -> Path:
    """One HardSwish, or its parts with a clip from `least` on."""
    parts = [
        helper.make_node("Add", ["x", "three"], ["a"]),
        helper.make_node("Clip", ["a", "least", "six"], ["c"]),
        helper.make_node("Div", ["c", "six"], ["d"]),
        helper.make_node("Mul", ["x", "d"], ["y"]),
    ]
    nodes = [helper.make_node("HardSwish", ["x"], ["y"])] if steps == ("HardSwish",) else parts
    constants = {"three": np.float32(3), "six": np.float32(6), "least": np.float32(least)}
    used = constants if nodes is parts else {}
    model = onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, {k: np.array(v) for k, v in used.items()})
    return save(model, tmp_path / "m.onnx")


def qdq_file(tmp_path: Path) -> Path:
    """hard_swish of stored values, as ONNX has it: between DequantizeLinear and QuantizeLinear."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        helper.make_node("HardSwish", ["xd"], ["h"]),
        helper.make_node("QuantizeLinear", ["h", "s2", "z2"], ["hq"]),
        helper.make_node("DequantizeLinear", ["hq", "s2", "z2"], ["y"]),
    ]
    constants = {
        "s": np.array(0.05, np.float32),
        "z": np.array(3, np.int8),
        "s2": np.array(0.021, np.float32),
        "z2": np.array(-90, np.int8),
    }
    return save(onnx_model(nodes, {"x": (1, 256)}, {"y": (1, 256)}, constants), tmp_path / "m.onnx")


def kinds(path: Path) -> list[str]:
    return [str(operator.kind) for operator in import_model(path)[0].operators]


def test_it_is_found_in_onnx(tmp_path: Path) -> None:
    assert kinds(onnx_file(tmp_path)) == ["function"]
    assert kinds(onnx_file(tmp_path, steps=("parts",))) == ["function"]
    assert kinds(qdq_file(tmp_path)) == ["quantize", "lookup", "dequantize"]


def test_other_bounds_are_something_else(tmp_path: Path) -> None:
    assert len(kinds(onnx_file(tmp_path, least=-1.0, steps=("parts",)))) > 1


def test_it_is_found_in_tflite(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(file_of(stored("int8", 0.7)))
    assert kinds(path) == ["lookup"]


def file_of(model: Model) -> bytes:
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")
    return blob(model, "HARD_SWISH", 1, ("HardSwishOptions", {}), None)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("scale", slow_except([0.013], [0.002, 0.013, 0.05, 0.3]))
@pytest.mark.parametrize("ratio", [0.01, 0.4, 0.9, 1.7])
def test_every_stored_value_is_bit_equal_to_litert(
    dtype: str, scale: float, ratio: float, tmp_path: Path, build: Compile
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(file_of(stored(dtype, ratio, scale)))
    values = every_value(dtype)
    model, _ = import_model(path)
    np.testing.assert_array_equal(run(model, build, values), Reference(path.read_bytes())(values))


def test_a_scale_that_litert_refuses_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(file_of(stored("int8", 1 / 200)))
    with pytest.raises(DiagnosticError, match=r"less than 1/128 of the input's"):
        import_model(path)


def test_every_stored_value_is_equal_to_onnxruntime(tmp_path: Path, build: Compile) -> None:
    runtime: Any = pytest.importorskip(
        "onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'"
    )
    path = qdq_file(tmp_path)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    reals = ((np.arange(-128, 128) - 3) * np.float32(0.05)).astype(np.float32).reshape(1, 256)
    (expected,) = runtime.InferenceSession(str(path), options).run(None, {"x": reals})
    model, _ = import_model(path)
    np.testing.assert_array_equal(run(model, build, reals), expected)


def test_floats(build: Compile) -> None:
    x = np.linspace(-8, 8, 64, dtype=np.float32)
    model = one_operator("function", "float", [real("x", (64,))], real("out", (64,)), function="hard_swish")
    np.testing.assert_allclose(run(model, build, x), x * np.clip(x + 3, 0, 6) / 6, atol=1e-6)
