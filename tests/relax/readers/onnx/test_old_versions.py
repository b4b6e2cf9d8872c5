"""Operators of old versions of ONNX, whose meaning changed since: as onnxruntime computes them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.numpy_helper import from_array

from target_arch.relax.importer import import_model
from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph, opset_of
from target_arch.relax.readers.onnx.rewriting.opset import OPSET, raise_opset
from tests.relax.emulate import evaluate
from tests.relax.models import Array, helper, onnx_reference, save

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

SCALES = [(1, 1, 2, 3), (1, 1, 1.5, 2.5)]
SMALLER = [(1, 1, 0.6, 0.5), (1, 1, 1.7, 0.7)]


def compare(
    node: Any,
    opset: int,
    x: Array,
    out: tuple[int, ...],
    path: Path,
    constants: dict[str, Array] | None = None,
) -> None:
    """A model of one operator: every element close to onnxruntime's."""
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_tensor_value_info("y", 1, out)],
        [from_array(values, name) for name, values in (constants or {}).items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6), path)
    model, program = import_model(path)
    (ours,), (theirs,) = evaluate(model, {"x": x}, program), onnx_reference(path, {"x": x})
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def image(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def larger(shape: tuple[int, ...], scales: tuple[float, ...]) -> tuple[int, ...]:
    return tuple(int(extent * scale) for extent, scale in zip(shape, scales, strict=True))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("operator", "opset", "scales"),
    [
        *(("Upsample", opset, scales) for opset in (7, 9) for scales in SCALES),
        *(("Resize", 10, scales) for scales in (*SCALES, *SMALLER)),
    ],
)
def test_resizes_before_they_could_choose(
    operator: str, opset: int, scales: tuple[float, ...], mode: str, tmp_path: Path
) -> None:
    x, given = image(1, 2, 6, 8), [float(each) for each in scales]
    attributes = {"scales": given} if opset == 7 else {}
    inputs = ["x"] if opset == 7 else ["x", "scales"]
    node = helper.make_node(operator, inputs, ["y"], mode=mode, **attributes)
    constants = {} if opset == 7 else {"scales": np.array(given, np.float32)}
    compare(node, opset, x, larger(x.shape, scales), tmp_path / "resize.onnx", constants)


@pytest.mark.parametrize("operator", ["Hardmax", "Softmax", "LogSoftmax"])
@pytest.mark.parametrize(("opset", "axis"), [(9, 0), (9, 1), (11, -2), (12, 3), (13, 1)])
def test_rows_of_all_dimensions_from_an_axis_on(operator: str, opset: int, axis: int, tmp_path: Path) -> None:
    x = image(2, 3, 4, 5)
    node = helper.make_node(operator, ["x"], ["y"], axis=axis)
    compare(node, opset, x, x.shape, tmp_path / "rows.onnx")


@pytest.mark.parametrize("opset", [9, 13])
def test_a_hardmax_inside_of_a_loop(opset: int, tmp_path: Path) -> None:
    shape, declare = (2, 3, 4), helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Hardmax", ["held"], ["made"], axis=1),
            helper.make_node("Identity", ["on"], ["goes"]),
        ],
        "body",
        [declare("trip", 7, ()), declare("on", 9, ()), declare("held", 1, shape)],
        [declare("goes", 9, ()), declare("made", 1, shape)],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)],
        "loop",
        [declare("trips", 7, ()), declare("x", 1, shape)],
        [declare("y", 1, shape)],
    )
    path = tmp_path / "loop.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6), path)
    model, program = import_model(path)
    inputs = {"trips": np.array(1), "x": image(*shape)}
    (ours,), (theirs,) = evaluate(model, inputs, program), onnx_reference(path, inputs)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("operators", "opset", "changed"),
    [(("Relu", "Sigmoid"), 14, False), (("Relu", "Sigmoid"), 13, True), (("Relu", "Identity"), 19, True)],
)
def test_operators_that_are_the_same_get_another_number(
    operators: tuple[str, str], opset: int, changed: bool
) -> None:
    """`Relu` is another one since version 14, `Identity` since 21."""
    first, second = operators
    made = helper.make_graph(
        [helper.make_node(first, ["x"], ["t"]), helper.make_node(second, ["t"], ["y"])],
        "two",
        [helper.make_tensor_value_info("x", 1, (1, 4))],
        [helper.make_tensor_value_info("y", 1, (1, 4))],
    )
    graph = OnnxGraph.of(helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)]))
    before = graph.model
    assert raise_opset(graph) == changed
    assert (graph.model is not before) == changed
    assert opset_of(graph.model) == OPSET
