"""Operators of which most dimensions have extent 1 (a dense layer of one output, one channel, one row),
against LiteRT's reference kernels.
"""

from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_arch.plan.model import Attribute, Model
from tests.backends.c.litert import Reference, blob
from tests.backends.c.one import Chain, Compile, constant, one_operator, quantized

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

EXTENT = st.sampled_from((1, 1, 2))
STEPS = {"strideH": 1, "strideW": 1, "padding": 1}
FILES: dict[str, tuple[str, int, tuple[str, dict[str, Any]] | None, None]] = {
    "conv2d": ("CONV_2D", 3, ("Conv2DOptions", STEPS), None),
    "depthwise_conv2d": ("DEPTHWISE_CONV_2D", 3, ("DepthwiseConv2DOptions", STEPS), None),
    "dense": ("FULLY_CONNECTED", 4, ("FullyConnectedOptions", {}), None),
    "softmax": ("SOFTMAX", 2, ("SoftmaxOptions", {"beta": 1.0}), None),
}


@st.composite
def layers(draw: st.DrawFn) -> Model:
    """A model of one operator."""
    kind = draw(st.sampled_from(sorted(FILES)))
    size, channels, outputs = (draw(EXTENT) for _ in range(3))
    if kind == "softmax":
        x = quantized("x", (size, channels), 0.1, 3)
        return one_operator(kind, "tflite", [x], quantized("y", x.shape, 1 / 256, -128))
    kernel = draw(st.sampled_from((1, size)))
    rest = size - kernel + 1
    steps: dict[str, Attribute] = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    deep = channels * outputs
    image, weight, out, attributes = {
        "conv2d": (
            (1, size, size, channels),
            (outputs, kernel, kernel, channels),
            (1, rest, rest, outputs),
            steps,
        ),
        "depthwise_conv2d": (
            (1, size, size, channels),
            (kernel, kernel, deep),
            (1, rest, rest, deep),
            {**steps, "depth_multiplier": outputs},
        ),
        "dense": ((size, channels), (outputs, channels), (size, outputs), {"in_features": channels}),
    }[kind]
    values = np.random.default_rng(size).integers(-127, 128, weight)
    w = constant(quantized("w", weight, 0.02, 0), values)
    bias = constant(quantized("b", out[-1:], 0.1 * 0.02, 0, "int32"), np.arange(out[-1]))
    operands = [quantized("x", image, 0.1, 3)], quantized("y", out, 0.05, -2)
    return one_operator(kind, "tflite", *operands, (w, bias), **attributes)


@pytest.mark.slow
@given(model=layers())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_extents_of_one(model: Model, build: Compile) -> None:
    (operator,) = model.operators
    code, version, (table, options), _ = FILES[operator.kind]  # type: ignore[misc]
    stored = model
    if operator.kind == "depthwise_conv2d":
        options = {**options, "depthMultiplier": operator.attributes["depth_multiplier"]}
        weight = model.tensors["w"]
        stored = evolve(model, tensors={**model.tensors, "w": evolve(weight, shape=(1, *weight.shape))})
    reference = Reference(blob(stored, code, version, (table, options), None))
    shape = model.tensors["x"].shape
    chain = Chain(model, build)
    for seed in range(3):
        x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
        np.testing.assert_array_equal(chain(x), reference(x))
