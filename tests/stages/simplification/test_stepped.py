"""Weights of 8 and 4 bits beside floats take a byte each where the goal is size, with the same results."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from target_arch.pipeline import preparation
from tests.slow import slow_except

RANDOM = np.random.default_rng(11)
CONVOLUTIONS = {
    "plain": ((8, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    "depthwise": ((32, 1, 3, 3), {"group": 32, "strides": [2, 2]}),
}


def model(nodes: list[Any], shape: list[int], opset: int = 21, **constants: Any) -> onnx.ModelProto:
    """A model of these nodes from `x` to `y`."""
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def scales(*shape: int) -> Any:
    return RANDOM.uniform(0.001, 0.1, shape).astype(np.float32)


def integers(*shape: int) -> Any:
    return RANDOM.integers(-128, 128, shape).astype(np.int8)


def convolution(shape: tuple[int, ...], **attributes: Any) -> onnx.ModelProto:
    """Weights with a scale for each output channel."""
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["wide"], axis=0),
        helper.make_node("Conv", ["x", "wide"], ["y"], **attributes),
    ]
    channels = shape[1] * attributes.get("group", 1)
    return model(nodes, [1, channels, 7, 7], w=integers(*shape), s=scales(shape[0]))


def product(inputs: int, outputs: int, block: int) -> onnx.ModelProto:
    """A product with weights that have a scale for each block of a column."""
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["wide"], axis=0, block_size=block),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
    ]
    return model(nodes, [2, inputs], w=integers(inputs, outputs), s=scales(inputs // block, outputs))


def in_bits(inputs: int, outputs: int, bits: int, block: int) -> onnx.ModelProto:
    """onnxruntime's own operator; of 8 bits with values that are less than 127 from the zero point."""
    stored = RANDOM.integers(1, 256, (outputs, inputs // block, block * bits // 8)).astype(np.uint8)
    own = {"K": inputs, "N": outputs, "bits": bits, "block_size": block}
    nodes = [helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **own)]
    return model(nodes, [1, inputs], w=stored, s=scales(outputs * (inputs // block)))


LAYERS = {
    **{name: convolution(shape, **attributes) for name, (shape, attributes) in CONVOLUTIONS.items()},
    "blocks": product(64, 12, 32),
    "MatMulNBits of 4": in_bits(64, 20, 4, 32),
    "MatMulNBits of 8": in_bits(64, 20, 8, 16),
}


def weights(made: target_arch.Compilation) -> tuple[str, int]:
    """The type and the bytes of the weights of the only layer."""
    tensors = made.stages.model.tensors
    (layer,) = (op for op in made.stages.model.operators if op.facts.weighted)
    return tensors[layer.constants[0]].dtype, tensors[layer.constants[0]].bytes


@pytest.mark.parametrize("name", slow_except(list(LAYERS)[:1], LAYERS))
def test_the_bits_are_those_of_wide_weights(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = target_arch.compile(LAYERS[name], "mcu_m7", optimize="size", name="one")
    monkeypatch.setattr(preparation, "with_stepped_weights", lambda model: model)
    wide = target_arch.compile(LAYERS[name], "mcu_m7", optimize="size", name="one")
    kind, size = weights(narrow)
    assert (kind, 4 * size) == ("int8", weights(wide)[1])
    (input,) = narrow.manifest.models[0].inputs
    frame = RANDOM.standard_normal(input.shape).astype(np.float32)
    ours, theirs = (
        made.write(tmp_path / place).run([frame]) for place, made in (("narrow", narrow), ("wide", wide))
    )
    for tensor, values in ours.items():
        assert values.tobytes() == theirs[tensor].tobytes()


def test_onnxruntime_agrees(tmp_path: Path) -> None:
    layer = LAYERS["MatMulNBits of 4"]
    made = target_arch.compile(layer, "mcu_m7", optimize="size", name="one")
    (found,) = made.write(tmp_path / "bundle").verify(layer, count=5).values()
    assert found.passed, found
    said = "1,280 B of weights are integers with steps, and take four times as much in float32\n"
    assert said in made.models[0].summary
    assert "widens weights of integers" in str(made.explain("dense_0"))


def test_other_goals_say_what_size_would_save() -> None:
    made = target_arch.compile(LAYERS["blocks"], "mcu_m7")
    assert weights(made) == ("float32", 3072)
    said = "3,072 B of weights are integers times a step: with the goal `size` they take a quarter\n"
    assert said in made.models[0].summary


def test_one_other_value_keeps_all_wide() -> None:
    values = (integers(40, 12) * np.float32(0.01)).astype(np.float32)
    values[-1, -1] = np.nextafter(values[-1, -1], np.float32(9))
    layer = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [2, 40], w=values)
    made = target_arch.compile(layer, "mcu_m7", optimize="size")
    assert weights(made) == ("float32", 1920)
    assert "integers" not in made.models[0].summary
