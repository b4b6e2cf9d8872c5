"""my_npu from a model to verified C, with its simulator in place of the chip."""

from pathlib import Path

import onnx
import pytest
from attrs import evolve
from onnx import TensorProto, helper

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.kernels import Call
from target_arch.registry import PlugIns
from target_arch.run import verify, write_bundle
from target_arch.soc import read_soc

PROJECT = Path(__file__).parents[1]
INSTALLED = "my_npu" in PlugIns.discover().backends
PLUG_INS = PlugIns.discover(() if INSTALLED else (PROJECT / "src",))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two operators: LeakyRelu, which the host computes, then Relu."""
    shape = [1, 16, 100]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    nodes = [
        helper.make_node("LeakyRelu", ["x"], ["a"], alpha=0.25),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "graph", [x], [y])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), path)
    return path


def compiled(model: Path, memory: int = 16 << 10) -> CompiledModel:
    """The model on the chip of `my_npu_chip.toml`, every relu on my_npu, which has `memory` bytes."""
    soc = read_soc(PROJECT / "my_npu_chip.toml")
    memories = tuple(evolve(each, size=memory) if each.name == "npu_sram" else each for each in soc.memories)
    soc = evolve(soc, memories=memories)
    request = CompileRequest(model_path=model, soc=soc, plug_ins=PLUG_INS, require={"relu": "my_npu"})
    return compile_model(request)


def test_the_backend_keeps_the_contract() -> None:
    assert PLUG_INS.backends["my_npu"].name == "my_npu"


def test_what_it_refuses_has_a_reason(model: Path) -> None:
    choices = {choice.operator: choice for choice in compiled(model).graph.choices}
    refusals = {each.instance: each.refusal for each in choices["function_0"].candidates}
    assert refusals == {"host_cpu": None, "my_npu": "my_npu computes relu only, this is function"}


@pytest.mark.parametrize(("memory", "commands"), [(16 << 10, 1), (4 << 10, 4), (1 << 10, 13)])
def test_tiles_follow_the_budget(model: Path, memory: int, commands: int) -> None:
    made = compiled(model, memory)
    (kernel,) = (each for each in made.kernels.values() if each.instance == "my_npu")
    assert sum(isinstance(action, Call) for action in kernel.actions) == commands


@pytest.mark.parametrize("memory", [16 << 10, 1 << 10])
def test_its_answers_are_right(model: Path, tmp_path: Path, memory: int) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    write_bundle(compiled(model, memory).bundle, tmp_path / "bundle")
    found = verify(model, tmp_path / "bundle", count=3)
    assert found.passed, str(found)
