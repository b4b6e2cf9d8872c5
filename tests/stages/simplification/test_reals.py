"""Floats in a promised range become stored values in the range that follows, whatever rounds them."""

import numpy as np
import pytest

from conformance.channel_networks import Network
from target_arch.plan.input_range import InputRange
from target_arch.plan.model import Model, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.simplification.ranges import channel_ranges


def quantizing(scale: float, point: int, dtype: str, arithmetic: Arithmetic, promise: InputRange) -> Model:
    """Floats that are reshaped and quantized."""
    net = Network(np.random.default_rng(1), arithmetic=arithmetic)
    for name, shape in (("x", (8, 2)), ("moved", (4, 4))):
        net.tensors[name] = Tensor(name=name, shape=shape, dtype="float32")
    grid = Quantization(scale=(scale,), zero_point=(point,))
    net.tensors["y"] = Tensor(name="y", shape=(4, 4), dtype=dtype, quantization=grid)
    net.add(OperatorKind.RESHAPE, ("x",), "moved")
    net.add(OperatorKind.QUANTIZE, ("moved",), "y")
    return Model(
        name="m", source="m", inputs=("x",), outputs=("y",), tensors=net.tensors,
        operators=tuple(net.operators), input_ranges={"x": promise},
    )  # fmt: skip


@pytest.mark.parametrize("arithmetic", [Arithmetic.TFLITE, Arithmetic.ONNX])
@pytest.mark.parametrize("seed", range(10))
def test_stored_values_are_in_the_range(seed: int, arithmetic: Arithmetic) -> None:
    """Ends that are ties of the rounding, and those that are drawn; at most a step is given away."""
    draw = np.random.default_rng(seed)
    dtype = ("int8", "uint8", "int16")[seed % 3]
    scale, point = float(np.float32(draw.uniform(0.001, 0.1))), int(draw.integers(0, 100))
    steps = np.sort(draw.choice(np.array([-60.5, -9.5, 0, 0.5, 31.5, 77.2, 90]), 2, replace=False))
    low, high = (float(np.float32(each * scale)) for each in steps)
    model = quantizing(scale, point, dtype, arithmetic, InputRange(low=low, high=high))
    found, frame = channel_ranges(model)["y"], np.linspace(low, high, 16, dtype=np.float32).reshape(8, 2)
    (stored,) = exact_outputs(model, [frame]) or ()
    assert (found.low <= stored).all()
    assert (found.high >= stored).all()
    assert found.low[0] + 1 >= stored.min()
    assert found.high[0] - 1 <= stored.max()


def test_a_zero_is_no_tie() -> None:
    model = quantizing(0.05, -128, "int8", Arithmetic.TFLITE, InputRange(low=0.0, high=1.0))
    assert str(channel_ranges(model)["y"]) == "4 channels, 0 constant, -128 to -108"
