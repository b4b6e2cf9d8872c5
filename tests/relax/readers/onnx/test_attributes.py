"""Attributes with values that ONNX's own tests do not have: as onnxruntime computes them, or a refusal."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.numpy_helper import from_array

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import Array, helper, onnx_reference, save

WINDOW = {"kernel_shape": [3, 2], "strides": [2, 3]}
KERNELS = np.random.default_rng(1).standard_normal((4, 4, 3, 2)).astype(np.float32)
REDUCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.abs,
    "ReduceLogSum": np.log,
    "ReduceSumSquare": np.square,
    **dict.fromkeys(
        ("ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), np.positive
    ),
}
"""Their results of single elements, which the oldest onnxruntime that is supported does not compute."""


def written(
    path: Path,
    node: Any,
    x: Array,
    rank: int,
    constants: dict[str, Array] | None = None,
    opset: int = 18,
) -> Path:
    """A model of one operator, whose result has so many dimensions."""
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info("y", 1, [f"d{axis}" for axis in range(rank)])],
        [from_array(values, name) for name, values in (constants or {}).items()],
    )
    return save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)


def compare(path: Path, x: Array) -> None:
    model, program = import_model(path)
    (ours,), (theirs,) = evaluate(model, {"x": x}, program), onnx_reference(path, {"x": x})
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def image(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def why_refused(path: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    return caught.value.diagnostics[0].notes[0].message


@pytest.mark.parametrize("automatic", ["SAME_LOWER", "SAME_UPPER", "VALID", "NOTSET"])
@pytest.mark.parametrize("operator", ["AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"])
@pytest.mark.parametrize("strides", [(2, 2), (1, 1), (3, 1)])
def test_padding_that_follows_from_shapes(
    operator: str, strides: tuple[int, int], automatic: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    x = image(1, 4, 7, 9)
    window = {"kernel_shape": [3, 2], "strides": strides, "auto_pad": automatic}
    constants = {"w": KERNELS} if operator.startswith("Conv") else {}
    node = helper.make_node(operator, ["x", *constants], ["y"], **window)
    compare(written(tmp_path / "window.onnx", node, x, 4, constants), x)


@pytest.mark.parametrize("automatic", ["SAME_LOWER", "SAME_UPPER"])
def test_windows_beside_each_other(automatic: str, tmp_path: Path) -> None:
    """Smaller than their strides, so that nothing is to be padded; of pools onnxruntime refuses them."""
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    x = image(1, 4, 7, 9)
    window = {"kernel_shape": [3, 2], "strides": [4, 3], "auto_pad": automatic}
    node = helper.make_node("Conv", ["x", "w"], ["y"], **window)
    compare(written(tmp_path / "conv.onnx", node, x, 4, {"w": KERNELS}), x)
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **window)
    said = why_refused(written(tmp_path / "transposed.onnx", node, x, 4, {"w": KERNELS}))
    assert said.endswith("of its windows means one thing to ONNX, another to onnxruntime")


@pytest.mark.parametrize("operator", ["AveragePool", "LpPool", "MaxPool"])
def test_spread_windows_of_pools_are_refused(operator: str, tmp_path: Path) -> None:
    window = {"kernel_shape": [3, 2], "dilations": [1, 2], "auto_pad": "SAME_UPPER"}
    node = helper.make_node(operator, ["x"], ["y"], **window)
    path = written(tmp_path / "window.onnx", node, image(1, 4, 7, 9), 4, opset=19)
    assert "`auto_pad=SAME_UPPER`" in why_refused(path)


@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool"])
def test_no_padding_beside_numbers_of_it(operator: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    x = image(1, 4, 7, 9)
    node = helper.make_node(operator, ["x"], ["y"], auto_pad="VALID", pads=[1, 1, 1, 1], **WINDOW)
    compare(written(tmp_path / "window.onnx", node, x, 4), x)


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reductions_of_nothing_are_of_single_elements(operator: str, tmp_path: Path) -> None:
    x = image(2, 3) if operator != "ReduceLogSum" else np.abs(image(2, 3))
    node = helper.make_node(operator, ["x"], ["y"], noop_with_empty_axes=1)
    model, program = import_model(written(tmp_path / "reduce.onnx", node, x, 2))
    (found,) = evaluate(model, {"x": x}, program)
    np.testing.assert_allclose(found, REDUCTIONS[operator](x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [("Shrink", {"lambd": -1.5, "bias": 0.25}), ("Celu", {"alpha": -2.0}), ("Celu", {"alpha": 0.5})],
)
def test_signs_of_attributes(operator: str, attributes: dict[str, float], tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    x = np.linspace(-3, 3, 25, dtype=np.float32)
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    compare(written(tmp_path / "one.onnx", node, x, 1), x)


def counting(path: Path, mode: str) -> Path:
    """Four patterns of two numbers each, of which two are counted together."""
    node = helper.make_node(
        "TfIdfVectorizer", ["x"], ["y"], mode=mode, min_gram_length=2, max_gram_length=2, max_skip_count=1,
        ngram_counts=[0, 0], ngram_indexes=[0, 1, 0, 2], pool_int64s=[1, 2, 2, 3, 3, 1, 2, 2],
    )  # fmt: skip
    return written(path, node, np.array([1, 2, 3, 1, 2, 2, 3, 1]), 1)


def test_patterns_that_are_counted_together(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    compare(counting(tmp_path / "count.onnx", "TF"), np.array([1, 2, 3, 1, 2, 2, 3, 1]))


def test_weights_of_patterns_with_one_place_are_refused(tmp_path: Path) -> None:
    said = why_refused(counting(tmp_path / "count.onnx", "IDF"))
    assert said.endswith("patterns with one place have weights of their own")


def test_sequences_along_other_dimensions_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("ReverseSequence", ["x", "lengths"], ["y"], batch_axis=-1, time_axis=0)
    constants = {"lengths": np.array([1, 2, 3])}
    path = written(tmp_path / "reverse.onnx", node, image(3, 3), 2, constants)
    assert why_refused(path).endswith("its dimensions -1 and 0 are not the first two")


@pytest.mark.parametrize("slopes", [(), (1,), (5,), (4, 1), (3, 1, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("columns", [1, 5])
def test_slopes_of_every_extent(slopes: tuple[int, ...], columns: int, tmp_path: Path) -> None:
    """Where they are more than the elements, the result has their shape, which was a defect."""
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    x, values = image(3, 4, columns), image(*slopes) if slopes else np.array(-0.5, np.float32)
    rank = max(x.ndim, len(slopes))
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    compare(written(tmp_path / "prelu.onnx", node, x, rank, {"s": values}), x)
