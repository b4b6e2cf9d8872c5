"""my_operator from models of every format to C that is run on this computer."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import target_arch
from target_arch.registry import PlugIns

PROJECT = Path(__file__).parents[1]
INSTALLED = "my_operator" in PlugIns.discover().operators
FOLDERS = () if INSTALLED else (PROJECT / "src",)


def decayed(x: Any, factor: float) -> Any:
    """The definition of `decay` in NumPy."""
    y = np.array(x)
    for t in range(1, x.shape[-1]):
        y[..., t] += np.float32(factor) * y[..., t - 1]
    return y


def onnx_file(folder: Path, **attributes: float) -> Path:
    """Relu, then Decay."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in "xy")
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Decay", ["a"], ["y"], domain="my_operator", **attributes),
    ]
    graph = helper.make_graph(nodes, "graph", [x], [y])
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("my_operator", 1)]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=versions), path)
    return path


def torch_file(folder: Path) -> Path:
    """The same as a program of PyTorch."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'target-arch[torch]'")
    PlugIns.discover(FOLDERS).operators["my_operator"].declare()

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.my_operator.decay(torch.relu(x), 0.25)

    path = folder / "model.pt2"
    torch.export.save(torch.export.export(Net(), (torch.zeros(2, 8),)), path)
    return path


def outputs(model: Path, x: Any) -> Any:
    made = target_arch.compile(model, "mcu_m55", port="host", backend_dirs=FOLDERS)
    (y,) = made.write(model.parent / "bundle").run([x]).values()
    return y


def test_an_onnx_model(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    found = outputs(onnx_file(tmp_path, factor=0.25), x)
    np.testing.assert_allclose(found, decayed(np.maximum(x, 0), 0.25), rtol=1e-6)


def test_a_pytorch_program(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    found = outputs(torch_file(tmp_path), x)
    np.testing.assert_allclose(found, decayed(np.maximum(x, 0), 0.25), rtol=1e-6)


def test_its_operators_are_listed(tmp_path: Path) -> None:
    uses = target_arch.operators(onnx_file(tmp_path), backend_dirs=FOLDERS).uses
    assert [(use.name, use.reason) for use in uses] == [("Decay", None), ("Relu", None)]
