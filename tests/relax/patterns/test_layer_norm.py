"""Tests: `target_arch/relax/patterns/layer_norm.py` and the definition of `layer_norm`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.soc.files.soc_file import read_soc
from tests.relax.models import helper, onnx_model, save

Array = np.ndarray[Any, Any]
ROWS, LENGTH, EPSILON = 6, 16, 1e-3
SCALE = np.linspace(0.5, 2.0, LENGTH, dtype=np.float32)
OFFSET = np.linspace(-3.0, 1.0, LENGTH, dtype=np.float32)

Nodes = list[tuple[str, list[str], str, dict[str, Any]]]
MEAN: Nodes = [("ReduceMean", ["x"], "mean", {"axes": [-1]}), ("Sub", ["x", "mean"], "apart", {})]
VARIANCE: Nodes = [
    ("Pow", ["apart", "two"], "squares", {}),
    ("ReduceMean", ["squares"], "variance", {"axes": [-1]}),
    ("Add", ["variance", "epsilon"], "more", {}),
    ("Sqrt", ["more"], "root", {}),
    ("Div", ["apart", "root"], "unit", {}),
]
SCALED: Nodes = [("Mul", ["unit", "scale"], "scaled", {}), ("Add", ["scaled", "offset"], "y", {})]
WRITTEN = {
    "an operator": [("LayerNormalization", ["x", "scale", "offset"], "y", {"epsilon": EPSILON})],
    "by PyTorch before opset 17": [*MEAN, *VARIANCE, *SCALED],
    "products of itself": [*MEAN, ("Mul", ["apart", "apart"], "squares", {}), *VARIANCE[1:], *SCALED],
    "operands exchanged": [
        *MEAN,
        *VARIANCE,
        ("Mul", ["scale", "unit"], "scaled", {}),
        ("Add", ["offset", "scaled"], "y", {}),
    ],
}
OTHERWISE = {
    "the third power": [*MEAN, ("Pow", ["apart", "three"], "squares", {}), *VARIANCE[1:], *SCALED],
    "a mean along the rows": [("ReduceMean", ["x"], "mean", {"axes": [0]}), *MEAN[1:], *VARIANCE, *SCALED],
    "means in other places": [
        ("ReduceMean", ["x"], "column", {"axes": [-1]}),
        ("Reshape", ["column", "row"], "mean", {}),
        *MEAN[1:],
        *VARIANCE,
        *SCALED,
    ],
    "a scale for each row": [
        *MEAN,
        *VARIANCE,
        ("Mul", ["unit", "of_rows"], "scaled", {}),
        ("Add", ["scaled", "offset"], "y", {}),
    ],
}
"""In those, too, sizes fit: rows are as long as there are rows."""


def written(nodes: Nodes, folder: Path, rows: int) -> Path:
    constants = {
        "two": np.float32(2),
        "three": np.float32(3),
        "epsilon": np.float32(EPSILON),
        "scale": SCALE,
        "offset": OFFSET,
        "of_rows": SCALE.reshape(-1, 1),
        "row": np.array([1, LENGTH]),
    }
    made = [helper.make_node(kind, reads, [name], **options) for kind, reads, name, options in nodes]
    model = onnx_model(made, {"x": (rows, LENGTH)}, {"y": (rows, LENGTH)})
    for name, value in constants.items():
        if any(name in node.input for node in made):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return save(model, folder / "m.onnx")


def normalized(x: Array, scale: Array = SCALE, offset: Array = OFFSET, epsilon: float = EPSILON) -> Array:
    real = x.astype(np.float64)
    apart = real - real.mean(-1, keepdims=True)
    variance: Array = (apart**2).mean(-1, keepdims=True)
    result: Array = apart / np.sqrt(variance + epsilon) * scale + offset
    return result


def answer(path: Path, folder: Path, x: Array) -> Array:
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, folder / "bundle")
    (result,) = run_frames(build(folder / "bundle"), (x.tobytes(),))
    return np.frombuffer(result, np.float32).reshape(x.shape)


@pytest.mark.parametrize("way", WRITTEN)
def test_it_is_one_operator_however_it_is_written(way: str, tmp_path: Path) -> None:
    (operator,) = import_model(written(WRITTEN[way], tmp_path, ROWS))[0].operators
    assert (operator.kind, operator.attributes["operator"]) == ("normalize", "layer_norm")
    assert operator.attributes["length"] == LENGTH
    assert operator.attributes["epsilon"] == pytest.approx(EPSILON)


@pytest.mark.parametrize("way", ["an operator", "by PyTorch before opset 17"])
def test_rows_far_from_zero_are_right(way: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """The mean of squares less the square of the mean has no correct digit of these variances."""
    needs_tool("gcc")
    x = np.random.default_rng(0).normal(3000.0, 0.5, (ROWS, LENGTH)).astype(np.float32)
    result = answer(written(WRITTEN[way], tmp_path, ROWS), tmp_path, x)
    assert np.abs(result - normalized(x)).max() < 2e-3


@pytest.mark.parametrize("way", OTHERWISE)
def test_what_looks_like_it_is_computed_as_it_is_written(
    way: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """onnxruntime makes a layer of the third power, too, unless it optimizes nothing."""
    needs_tool("gcc")
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    path = written(OTHERWISE[way], tmp_path, LENGTH)
    assert len(import_model(path)[0].operators) > 1
    x = np.random.default_rng(1).normal(0.5, 2.0, (LENGTH, LENGTH)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (expected,) = onnxruntime.InferenceSession(path, options).run(None, {"x": x})
    assert np.allclose(answer(path, tmp_path, x), expected, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_pytorchs_rows_far_from_zero_are_right(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """TVM's own lowering of the operator subtracts the square of the mean."""
    needs_tool("gcc")
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'target-arch[torch]'")
    layer = torch.nn.LayerNorm(LENGTH)
    program = torch.export.export(layer.eval(), (torch.zeros(1, ROWS, LENGTH),))
    torch.export.save(program, tmp_path / "m.pt2")
    (operator,) = import_model(tmp_path / "m.pt2")[0].operators
    assert (operator.kind, operator.attributes["operator"]) == ("normalize", "layer_norm")
    x = np.random.default_rng(2).normal(3000.0, 0.5, (1, ROWS, LENGTH)).astype(np.float32)
    expected = normalized(x, np.ones(LENGTH), np.zeros(LENGTH), 1e-5)
    assert np.abs(answer(tmp_path / "m.pt2", tmp_path, x) - expected).max() < 2e-3
