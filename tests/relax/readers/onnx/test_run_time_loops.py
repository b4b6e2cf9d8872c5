"""`Loop` whose trips are known only at run time: onnxruntime's results, or a refusal that says why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")

from onnx import helper

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.run import build, reference_for, run_frames, write_bundle
from target_arch.soc.files.soc_file import read_soc
from tests.relax.models import onnx_model

Array = np.ndarray[Any, Any]
REAL, WHOLE, TRUTH = 1, 7, 9
value = helper.make_tensor_value_info


def body(nodes: list[Any], carried: list[tuple[str, int, tuple[int, ...]]], results: list[str]) -> Any:
    """A body; the first result is the condition."""
    inputs = [value("i", WHOLE, ()), value("on", TRUTH, ()), *(value(*each) for each in carried)]
    kinds = [(TRUTH, ()), *((elements, shape) for _, elements, shape in carried)]
    outputs = [value(name, *kind) for name, kind in zip(results, kinds, strict=True)]
    return helper.make_graph(nodes, "body", inputs, outputs)


def powers() -> Any:
    """x = tanh(W x) + i, as often as an input says: W is outside."""
    inside = body(
        [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Tanh", ["product"], ["t"]),
            helper.make_node("Cast", ["i"], ["number"], to=REAL),
            helper.make_node("Add", ["t", "number"], ["y"]),
            helper.make_node("Identity", ["on"], ["further"]),
        ],
        [("x", REAL, (2, 4))],
        ["further", "y"],
    )
    nodes = [helper.make_node("Loop", ["trips", "", "first"], ["last"], body=inside)]
    weights = np.random.default_rng(2).uniform(-1, 1, (4, 4)).astype(np.float32)
    model = onnx_model(nodes, {"first": (2, 4), "trips": ()}, {"last": (2, 4)}, {"w": weights})
    model.graph.input[1].type.tensor_type.elem_type = WHOLE
    return model


def roots() -> Any:
    """Newton's iteration for the square roots of an input, until they are near or 30 trips were made; the
    condition before the first trip is computed, too. A sum of all trips is carried beside it.
    """
    inside = body(
        [
            helper.make_node("Div", ["a", "x"], ["quotient"]),
            helper.make_node("Add", ["x", "quotient"], ["total"]),
            helper.make_node("Mul", ["total", "half"], ["y"]),
            helper.make_node("Add", ["sum", "y"], ["more"]),
            helper.make_node("Mul", ["y", "y"], ["square"]),
            helper.make_node("Sub", ["square", "a"], ["rest"]),
            helper.make_node("Abs", ["rest"], ["size"]),
            helper.make_node("ReduceMax", ["size"], ["largest"], keepdims=0),
            helper.make_node("Greater", ["largest", "least"], ["further"]),
        ],
        [("x", REAL, (3,)), ("sum", REAL, (3,))],
        ["further", "y", "more"],
    )
    nodes = [
        helper.make_node("ReduceMax", ["a"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "one"], ["first"]),
        helper.make_node("Loop", ["trips", "first", "a", "zero"], ["root", "sum_of_all"], body=inside),
    ]
    constants = {
        "half": np.array(0.5, np.float32),
        "least": np.array(1e-2, np.float32),
        "one": np.array(1, np.float32),
        "zero": np.zeros(3, np.float32),
        "trips": np.array(30),
    }
    return onnx_model(nodes, {"a": (3,)}, {"root": (3,), "sum_of_all": (3,)}, constants)


FRAMES: dict[str, tuple[Callable[[], Any], list[tuple[Array, ...]]]] = {
    "counted by an input": (
        powers,
        [
            (np.random.default_rng(trips).uniform(-1, 1, (2, 4)).astype("f4"), np.array(trips))
            for trips in (0, 1, 2, 7)
        ],
    ),
    "until a condition fails": (
        roots,
        [(np.array(each, np.float32),) for each in ([4, 9, 0.5], [0.1, 0.3, 0.9], [100, 3, 7], [1e5, 2, 2])],
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_loop_with_computed_trips(name: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    made, frames = FRAMES[name]
    path = tmp_path / "m.onnx"
    path.write_bytes(made().SerializeToString())
    theirs = [reference_for(path).answer(frame)[0] for frame in frames]
    found = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(found.bundle, tmp_path / "bundle")
    given = tuple(b"".join(each.tobytes() for each in frame) for frame in frames)
    for ours, wanted in zip(run_frames(build(tmp_path / "bundle"), given), theirs, strict=True):
        expected = np.concatenate([each.reshape(-1) for each in wanted])
        np.testing.assert_allclose(np.frombuffer(ours, np.float32), expected, rtol=2e-6, atol=1e-6)


def test_values_of_each_trip_are_refused(tmp_path: Path) -> None:
    """Their number is a dimension of a result."""
    inside = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["on"], ["further"])],
        "body",
        [value("i", WHOLE, ()), value("on", TRUTH, ()), value("x", REAL, (3,))],
        [value("further", TRUTH, ()), value("y", REAL, (3,)), value("y", REAL, (3,))],
    )
    nodes = [
        helper.make_node("ReduceMax", ["given"], ["most"], keepdims=0),
        helper.make_node("Cast", ["most"], ["trips"], to=WHOLE),
        helper.make_node("Loop", ["trips", "", "given"], ["last", "all"], body=inside),
        helper.make_node("ReduceMax", ["all"], ["largest"], keepdims=0),
    ]
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_model(nodes, {"given": (3,)}, {"last": (3,), "largest": ()}).SerializeToString())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert "it collects a value of each trip, and their number is known only at run time" in str(caught.value)
