"""Graphs that exporters leave behind: constant outputs, outputs twice, no inputs, scalars."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from target_arch.pipeline import CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.plan.manifest.model import SelfTestEntry
from target_arch.run import build, verify_models, write_bundle
from target_arch.soc.files.soc_file import read_soc

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

NODE = helper.make_node
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)
GRAPHS: dict[str, tuple[list[Any], tuple[str, ...], tuple[str, ...], tuple[int, ...]]] = {
    "no_inputs": ([NODE("Softmax", ["c"], ["y"])], (), ("y",), (2, 3)),
    "constant_output": (
        [NODE("Relu", ["x"], ["y"]), NODE("Identity", ["c"], ["z"])],
        ("x",),
        ("y", "z"),
        (2, 3),
    ),
    "constant_output_beside_a_function": (
        [NODE("CumSum", ["x", "one"], ["y"]), NODE("Identity", ["c"], ["z"])],
        ("x",),
        ("y", "z"),
        (2, 3),
    ),
    "one_result_twice": (
        [NODE("Relu", ["x"], ["y"]), NODE("Identity", ["y"], ["z"])],
        ("x",),
        ("y", "z"),
        (2, 3),
    ),
    "input_returned_twice": (
        [NODE("Identity", ["x"], ["y"]), NODE("Identity", ["x"], ["z"])],
        ("x",),
        ("y", "z"),
        (2, 3),
    ),
    "scalar": ([NODE("Mul", ["x", "x"], ["m"]), NODE("Add", ["m", "k"], ["y"])], ("x",), ("y",), ()),
}
"""Nodes, inputs, outputs, and the shape of all of them."""


def written(folder: Path, name: str) -> Path:
    nodes, inputs, outputs, shape = GRAPHS[name]
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each in inputs],
        [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each in outputs],
        [
            numpy_helper.from_array(TABLE, "c"),
            numpy_helper.from_array(np.array(2, np.float32), "k"),
            numpy_helper.from_array(np.array(1, np.int64), "one"),
        ],
    )
    path = folder / f"{name}.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_each_is_computed_as_by_its_reference(tmp_path: Path) -> None:
    files = {name: written(tmp_path, name) for name in GRAPHS}
    soc = read_soc("mcu_m55")
    requests = tuple(CompileRequest(model_path=path, soc=soc, name=name) for name, path in files.items())
    made = compile_models(ModelsRequest(models=requests, name="graphs"))
    write_bundle(made.bundle, tmp_path / "bundle")
    found = verify_models(files, tmp_path / "bundle", count=3)
    assert {name: (each.passed, each.equal) for name, each in found.items()} == {
        name: (True, 3 * len(outputs)) for name, (_, _, outputs, _) in GRAPHS.items()
    }


def test_without_a_reference_the_bundle_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the manifest, and in the program that would compare."""
    path = written(tmp_path, "scalar")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m55")))
    missing = "the package `onnxruntime` is not installed"
    assert made.manifest.self_test == SelfTestEntry(reference=None, missing=missing)
    write_bundle(made.bundle, tmp_path / "bundle")
    assert build(tmp_path / "bundle").self_test is None
    program = tmp_path / "bundle" / "build" / "selftest"
    answer = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (3, f"scalar: no self-test: {missing}\n")
