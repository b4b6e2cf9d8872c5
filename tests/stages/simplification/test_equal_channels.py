"""Channels and tensors that equal another one are computed once."""

from pathlib import Path

import numpy as np
import pytest
from attrs import define, evolve, field
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save

from conformance.channel_networks import Network, Values
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.model import Model
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run import verify_models, write_bundle
from target_arch.soc.files.soc_file import read_soc
from target_arch.stages.simplification.equal_channels import equal_channels
from target_arch.stages.simplification.ranges import channel_ranges
from target_arch.stages.simplification.removal import without_dead_channels

NONE = np.zeros(4, np.int64)
TWIN = np.array([0, 1, 1, 3])


def network() -> tuple[Network, str, str]:
    """Of four channels of a convolution two are equal."""
    net = Network(np.random.default_rng(3))
    start = net.activation((1, 5, 5, 2))
    alive, all_read = np.zeros(4, np.bool_), np.zeros(2, np.bool_)
    tip = net.conv2d(start, 4, dead=alive, unread=all_read, saturated=NONE, twin=TWIN)
    return net, start, tip


def reader(net: Network, source: str, shared: int, seed: int | None = None) -> str:
    if seed is not None:
        net.draw = np.random.default_rng(seed)
    alive = np.zeros(net.tensors[source].shape[-1], np.bool_)
    return net.conv2d(
        source,
        4,
        kernel=3,
        dead=np.zeros(4, np.bool_),
        unread=alive,
        saturated=NONE,
        shared=np.full(len(alive), shared),
    )


def shapes(model: Model) -> list[int]:
    """The channels of all results of operators."""
    return [model.tensors[operator.output].shape[-1] for operator in model.operators]


def test_the_reader_has_the_sum_of_the_weights() -> None:
    net, start, tip = network()
    model = net.model((start,), (reader(net, tip, 2),))
    smaller = without_dead_channels(model)
    assert shapes(smaller) == [3, 4]
    before, after = (
        np.frombuffer(each.tensors[each.operators[1].constants[0]].data or b"", np.int8).reshape(4, -1)
        for each in (model, smaller)
    )
    np.testing.assert_array_equal(after[:, 1], before[:, 1] + before[:, 2])


def test_where_a_sum_is_no_weight_both_stay() -> None:
    net, start, tip = network()
    model = net.model((start,), (reader(net, tip, 1),))
    assert without_dead_channels(model).tensors == model.tensors


def test_one_reader_that_keeps_both_keeps_them_for_all() -> None:
    net, start, tip = network()
    model = net.model((start,), (reader(net, tip, 2), reader(net, tip, 1)))
    assert without_dead_channels(model).tensors == model.tensors


def test_a_result_has_all_channels() -> None:
    net, start, tip = network()
    model = net.model((start,), (tip, reader(net, tip, 2)))
    assert without_dead_channels(model).tensors == model.tensors


def test_a_tensor_that_is_there_is_not_computed_again() -> None:
    net, start, tip = network()
    first, second = (reader(net, tip, 1, seed=9) for _ in range(2))
    net.tensors[second] = evolve(net.tensors[second], quantization=net.tensors[first].quantization)
    out = net.add(OperatorKind.MUL, (first, second), net.activation((1, 3, 3, 4)))
    model = net.model((start,), (out,))
    smaller = without_dead_channels(model)
    assert [operator.inputs for operator in smaller.operators][-1] == (first, first)
    assert len(smaller.operators) == len(model.operators) - 1


def test_numbers_are_those_of_values() -> None:
    net, start, tip = network()
    wide = net.depthwise(
        tip, multiplier=2, dead=np.zeros(8, np.bool_), twin=np.repeat(TWIN, 2) * 2 + [0, 1] * 4
    )
    flat = net.add(OperatorKind.RESHAPE, (wide,), net.activation((1, 200), like=wide))
    model = net.model((start,), (flat,))
    numbers = equal_channels(model, channel_ranges(model))
    assert [len(np.unique(numbers[name])) for name in (start, tip, wide, flat)] == [2, 3, 6, 150]


@pytest.mark.slow
def test_c_is_bit_equal_to_onnxruntime(tmp_path: Path) -> None:
    """Equal channels, equal tensors, constant operands under padding and in a concat, a constant result."""
    pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")
    save(_quantized(), tmp_path / "model.onnx")
    found = compile_model(CompileRequest(model_path=tmp_path / "model.onnx", soc=read_soc("mcu_m7")))
    assert str(found.model.simplification).startswith("17 of 82 channels are constant, unread or equal")
    write_bundle(found.bundle, tmp_path / "bundle")
    (result,) = verify_models({"model": tmp_path / "model.onnx"}, tmp_path / "bundle", count=20).values()
    assert result.equal == result.outputs


def _quantized() -> ModelProto:
    """An ONNX model with QLinearConv and a sum and a concat beside it, on one grid."""
    made = _Quantized(np.random.default_rng(3))
    made.conv("x", "a", made.weights(6, 3, 3)[[0, 1, 2, 3, 1, 1]], made.biases(6)[[0, 1, 2, 3, 1, 1]])
    again, bias = made.weights(6, 6, 1), made.biases(6)
    made.conv("a", "c", again, bias)
    made.conv("a", "k", np.zeros((6, 6, 1, 1)), made.biases(6))
    made.add("c", "k", "s")
    made.nodes.append(helper.make_node("Concat", ["s", "k"], ["t"], axis=1))
    made.conv("t", "u", made.weights(4, 12, 3), made.biases(4))
    made.conv("a", "c2", again, bias)
    made.add("c2", "c", "v")
    made.conv("k", "o", made.weights(3, 6, 1), made.biases(3))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        made.nodes,
        "known",
        [info("x", TensorProto.INT8, [1, 3, 8, 8])],
        [info(name, TensorProto.INT8, [1, count, 8, 8]) for name, count in (("u", 4), ("v", 6), ("o", 3))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in made.constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@define
class _Quantized:
    """Nodes and constants of an ONNX graph of int8 values on one grid."""

    draw: np.random.Generator
    nodes: list[NodeProto] = field(factory=list)
    constants: dict[str, object] = field(
        factory=lambda: {
            "scale": np.float32(0.05),
            "zero": np.int8(3),
            "ws": np.float32(0.01),
            "wz": np.int8(0),
        }
    )

    def weights(self, outputs: int, inputs: int, kernel: int) -> Values:
        return self.draw.integers(-40, 40, (outputs, inputs, kernel, kernel))

    def biases(self, outputs: int) -> Values:
        return self.draw.integers(-2000, 2000, outputs)

    def conv(self, x: str, out: str, weights: Values, bias: Values) -> None:
        names = (f"{out}_weights", f"{out}_bias")
        self.constants |= {names[0]: weights.astype(np.int8), names[1]: bias.astype(np.int32)}
        operands = [x, "scale", "zero", names[0], "ws", "wz", "scale", "zero", names[1]]
        pads = [weights.shape[-1] // 2] * 4
        self.nodes.append(helper.make_node("QLinearConv", operands, [out], pads=pads))

    def add(self, first: str, second: str, out: str) -> None:
        reals = [f"{out}_{name}" for name in (first, second)]
        for name, real in zip((first, second), reals, strict=True):
            self.nodes.append(helper.make_node("DequantizeLinear", [name, "scale", "zero"], [real]))
        self.nodes.append(helper.make_node("Add", reals, [f"{out}_real"]))
        self.nodes.append(helper.make_node("QuantizeLinear", [f"{out}_real", "scale", "zero"], [out]))
