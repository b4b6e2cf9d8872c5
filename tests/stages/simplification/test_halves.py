"""Weights with values of float16 take two bytes where the goal is size, and change no bit of a result."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from target_arch.pipeline import preparation
from tests.slow import slow_except

RANDOM = np.random.default_rng(5)
KERNELS = {
    "plain": ((8, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    "pointwise": ((8, 4, 1, 1), {}),
    "grouped": ((8, 2, 3, 3), {"group": 2}),
    "depthwise": ((4, 1, 3, 3), {"group": 4, "strides": [2, 2]}),
}


def halves(*shape: int) -> Any:
    """Values of float16 of every magnitude: zeros of both signs, steps below the normal ones, the largest."""
    values = RANDOM.integers(0, 1 << 16, shape).astype(np.uint16).view(np.float16)
    values = np.where(np.isfinite(values), values, np.float16(1)).astype(np.float16)
    values.flat[:4] = (-0.0, 2.0**-24, 65504, -(2.0**-14))
    return values


def model(weights: Any, kind: str, **attributes: Any) -> onnx.ModelProto:
    """One layer; weights of float16 are cast in the model."""
    shape = [1, 4, 6, 6] if kind.startswith("Conv") else [2, weights.shape[0]]
    cast = weights.dtype == np.float16
    nodes = [helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT)] if cast else []
    nodes.append(helper.make_node(kind, ["x", "wide" if cast else "w"], ["y"], **attributes))
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    made = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    )
    onnx.checker.check_model(made)
    return made


def constants(made: target_arch.Compilation) -> dict[str, int]:
    """The bytes of weights by their type."""
    tensors = made.stages.model.tensors
    return {
        tensors[op.constants[0]].dtype: tensors[op.constants[0]].bytes
        for op in made.stages.model.operators
        if op.facts.weighted
    }


LAYERS = {
    **{name: model(halves(*shape), "Conv", **attributes) for name, (shape, attributes) in KERNELS.items()},
    "transposed": model(halves(4, 3, 3, 3), "ConvTranspose", strides=[2, 2]),
    "dense": model(halves(24, 10), "MatMul"),
}


@pytest.mark.parametrize("name", slow_except(list(LAYERS)[:1], LAYERS))
def test_the_bits_are_those_of_wide_weights(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = target_arch.compile(LAYERS[name], "mcu_m7", optimize="size", name="one")
    monkeypatch.setattr(preparation, "with_half_weights", lambda model: model)
    wide = target_arch.compile(LAYERS[name], "mcu_m7", optimize="size", name="one")
    assert [2 * size for size in constants(narrow).values()] == [*constants(wide).values()]
    (input,) = narrow.manifest.models[0].inputs
    frame = RANDOM.standard_normal(input.shape).astype(np.float32)
    ours, theirs = (
        made.write(tmp_path / place).run([frame]) for place, made in (("narrow", narrow), ("wide", wide))
    )
    for tensor, values in ours.items():
        assert values.tobytes() == theirs[tensor].tobytes()


def test_onnxruntime_agrees(tmp_path: Path) -> None:
    layer = model(RANDOM.standard_normal((24, 10)).astype(np.float16), "MatMul")
    made = target_arch.compile(layer, "mcu_m7", optimize="size")
    assert constants(made) == {"float16": 480}
    (found,) = made.write(tmp_path / "bundle").verify(layer, count=5).values()
    assert found.passed, found
    assert "480 B of weights are in float16, and take twice as much in float32\n" in made.models[0].summary
    assert "C from its definition (kernels are larger), widens weights of float16" in str(
        made.explain("dense_0")
    )


def test_other_goals_say_what_size_would_save() -> None:
    made = target_arch.compile(LAYERS["dense"], "mcu_m7")
    assert constants(made) == {"float32": 960}
    assert (
        "960 B of weights have values of float16: with the goal `size` they take half\n"
        in made.models[0].summary
    )


@pytest.mark.parametrize("value", [1 + 2.0**-20, 65536.0, np.inf, np.nan])
def test_one_other_value_keeps_all_wide(value: float) -> None:
    weights = halves(24, 10).astype(np.float32)
    weights[-1, -1] = value
    made = target_arch.compile(model(weights, "MatMul"), "mcu_m7", optimize="size")
    assert constants(made) == {"float32": 960}
    assert "float16" not in made.models[0].summary
