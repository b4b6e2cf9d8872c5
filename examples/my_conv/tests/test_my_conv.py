"""my_conv from a model to verified C, with its simulator in place of the chip."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.kernels import Call
from target_arch.registry import PlugIns
from target_arch.run import OperatorCheck, verify_models, write_bundle
from target_arch.soc import read_soc

PROJECT = Path(__file__).parents[1]
INSTALLED = "my_conv" in PlugIns.discover().backends
PLUG_INS = PlugIns.discover(() if INSTALLED else (PROJECT / "src",))
SHAPE = (1, 5, 9, 7)
"""Sizes that suit no vector and no bus."""
HALVED = (1, 5, 5, 4)
"""The shape of every second pixel."""


class Network:
    """An int8 network in ONNX's form: every tensor is quantized, and dequantized where it is read."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.draw = np.random.default_rng(0)

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def grid(self, name: str, scale: float, zero: Any) -> list[str]:
        """The scale and the zero point of a tensor."""
        return [self.constant(f"{name}_scale", np.float32(scale)), self.constant(f"{name}_zero", zero)]

    def quantized(self, name: str, scale: float, zero: int) -> str:
        """The tensor, rounded to int8 and read again."""
        grid = self.grid(name, scale, np.int8(zero))
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *grid], [f"{name}_q"]))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *grid], [f"{name}_r"]))
        return f"{name}_r"

    def convolved(self, name: str, of: str, scale: float, zero: int, strides: int = 1) -> str:
        """A 3 x 3 convolution of `of`, with random weights."""
        weights = self.draw.integers(-127, 128, (SHAPE[1], SHAPE[1], 3, 3), np.int8)
        operands = [of]
        for part, value in (("w", weights), ("b", self.draw.integers(-500, 500, SHAPE[1], np.int32))):
            stored = self.constant(f"{name}_{part}", value)
            grid = self.grid(stored, 0.01, np.zeros((), value.dtype))
            self.nodes.append(helper.make_node("DequantizeLinear", [stored, *grid], [f"{stored}_r"]))
            operands.append(f"{stored}_r")
        sizes = {"pads": [1, 1, 1, 1], "strides": [strides, strides]}
        self.nodes.append(helper.make_node("Conv", operands, [name], **sizes))
        return self.quantized(name, scale, zero)

    def added(self, name: str, one: str, other: str) -> str:
        self.nodes.append(helper.make_node("Add", [one, other], [name]))
        return self.quantized(name, 0.05, -7)

    def save(self, path: Path, output: str) -> Path:
        self.nodes.append(helper.make_node("Identity", [output], ["y"]))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, HALVED)
        graph = helper.make_graph(self.nodes, "graph", [x], [y], self.constants)
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), path)
        return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A residual block, and a convolution of every second pixel after it."""
    net = Network()
    first = net.convolved("a", net.quantized("x", 0.01, 3), 0.02, 5)
    block = net.added("s", first, net.convolved("b", first, 0.04, -9))
    last = net.convolved("c", block, 0.1, 0, strides=2)
    return net.save(tmp_path_factory.mktemp("model") / "model.onnx", last)


def compiled(model: Path, memory: int = 160 << 10, **host: str) -> CompiledModel:
    """The model on the chip of `my_conv_chip.toml`, all that my_conv takes there but for `host`; my_conv has
    `memory` bytes.
    """
    soc = read_soc(PROJECT / "my_conv_chip.toml")
    memories = tuple(evolve(each, size=memory) if each.name == "conv_sram" else each for each in soc.memories)
    soc, wish = evolve(soc, memories=memories), {"*": "my_conv"}
    return compile_model(
        CompileRequest(model_path=model, soc=soc, plug_ins=PLUG_INS, prefer=wish, require=host)
    )


def commands(made: CompiledModel) -> list[tuple[str, int]]:
    """First operator and STAGES of every command."""
    kernels = [kernel for kernel in made.kernels.values() if kernel.instance == "my_conv"]
    calls = [action for kernel in kernels for action in kernel.actions if isinstance(action, Call)]
    return [(call.operator, call.words[0]) for call in calls]


def test_the_backend_keeps_the_contract() -> None:
    assert PLUG_INS.backends["my_conv"].name == "my_conv"


def test_a_convolution_and_its_sum_are_one_command(model: Path) -> None:
    made = compiled(model)
    assert commands(made) == [("conv2d_2", 1), ("conv2d_3", 3), ("conv2d_5", 1)]
    assert "conv2d_3_out" not in {buffer.tensor for buffer in made.plan.buffers}


def test_what_it_refuses_has_a_reason(model: Path) -> None:
    made = compiled(model, memory=1 << 10)
    refusals = {
        choice.operator: each.refusal
        for choice in made.graph.choices
        for each in choice.candidates
        if each.instance == "my_conv"
    }
    assert refusals["quantize_0"] == "my_conv computes conv2d and add, this is quantize"
    assert refusals["conv2d_2"] == "it needs 1,039 B of `conv_sram`, which has 1,024 B"


@pytest.mark.parametrize("host", [{}, {"conv2d_3": "host_cpu"}, {"add_4": "host_cpu"}])
def test_its_answers_are_right(model: Path, tmp_path: Path, host: dict[str, str]) -> None:
    """Of a convolution with its sum, of each alone; operator by operator, against exact arithmetic too."""
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    made = compiled(model, **host)
    write_bundle(made.bundle, tmp_path / "bundle")
    files = {made.model.name: model}
    (found,) = verify_models(
        files, tmp_path / "bundle", count=5, operators=OperatorCheck(planned=made, always=True)
    ).values()
    assert found.passed, f"{found}{found.layers}"
