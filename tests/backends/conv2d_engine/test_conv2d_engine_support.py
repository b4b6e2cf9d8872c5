"""What the conv2d engine refuses, with the whole reason, and what it says of cost."""

import pytest
from attrs import evolve

from target_arch.backends.conv2d_engine import backend
from target_arch.plan.model import Model, Quantization, Tensor
from tests.backends.conv2d_engine.test_conv2d_engine_kernels import Shape, convolution
from tests.backends.engines import Bench, bench

ON = bench("conv2d_engine", {"bram": 65536})


def asked(model: Model, on: Bench = ON) -> str | None:
    return backend.supports(on.question(model.operators[0], model))


def layer(
    kernel: tuple[int, int] = (3, 3), strides: tuple[int, int] = (1, 1), channels: int = 4, width: int = 8
) -> Model:
    shape: Shape = (12, width, channels, 8, kernel, strides, (0, 0, 0, 0))
    return convolution(shape)


def with_tensor(model: Model, name: str, **changes: object) -> Model:
    changed: Tensor = evolve(model.tensors[name], **changes)
    return evolve(model, tensors={**model.tensors, name: changed})


def with_operator(model: Model, **changes: object) -> Model:
    return evolve(model, operators=(evolve(model.operators[0], **changes),))


def test_a_plain_layer_is_taken() -> None:
    assert asked(layer()) is None


def test_refusals_say_why_with_numbers() -> None:
    plain = layer()
    attributes = plain.operators[0].attributes
    zero = Quantization(scale=(0.1,), zero_point=(3,))
    assert asked(with_operator(plain, kind="dense")) == "the engine computes conv2d only, this is dense"
    assert (
        asked(with_operator(plain, arithmetic="float"))
        == "arithmetic is float, the engine computes int8 only"
    )
    assert asked(with_tensor(plain, "x", dtype="uint8")) == "input is uint8, the engine takes int8"
    assert asked(with_tensor(plain, "op0.b", dtype="float32")) == "bias is float32, the engine takes int32"
    assert asked(with_tensor(plain, "op0.y", quantization=None)) == "output has no quantization"
    assert asked(with_tensor(plain, "op0.w", quantization=zero)) == (
        "weights have zero point 3, the engine takes 0"
    )
    assert asked(with_tensor(plain, "op0.w", data=None)) == (
        "weights or bias are computed at run time, the engine takes constants"
    )
    assert asked(with_tensor(plain, "x", shape=(2, 12, 8, 4))) == "batch is 2, the engine takes 1"
    assert asked(with_operator(plain, attributes={**attributes, "dilation": (2, 1)})) == (
        "dilation is 2 x 1, the engine takes 1 x 1"
    )
    assert asked(with_operator(plain, attributes={**attributes, "padding": (0, 0, 3, 0)})) == (
        "padding at the bottom is 3, the engine takes less than the kernel's 3"
    )


def test_limits_are_options() -> None:
    on = bench("conv2d_engine", {"bram": 65536}, options={"max_channels": 16, "max_width": 6})
    assert asked(layer(kernel=(12, 1))) == "kernel is 12 taps, the engine takes at most 11 (`max_kernel`)"
    assert asked(layer(strides=(1, 5))) == "stride is 5 pixels, the engine takes at most 4 (`max_stride`)"
    assert asked(layer(channels=17), on) == (
        "channel count is 17 channels, the engine takes at most 16 (`max_channels`)"
    )
    assert asked(layer(), on) == "row width is 8 pixels, the engine takes at most 6 (`max_width`)"


def test_memory_and_paths_are_asked_for() -> None:
    assert asked(layer(), bench("conv2d_engine", {"bram": 256})) == (
        "the smallest tile needs 320 B of `bram`, it has 256 B"
    )
    one_way = evolve(ON.soc, copies=tuple(each for each in ON.soc.copies if each.source == "ddr"))
    assert asked(layer(), Bench(soc=one_way)) == "no copy path leads out of `bram`"
    assert asked(layer(), bench("conv2d_engine", {})) == "`engine` has no memory for tiles"


def test_cost_is_start_and_multiply_accumulates_at_the_clock() -> None:
    model = layer()
    macs = 10 * 6 * 8 * 9 * 4
    seconds = backend.cost(ON.question(model.operators[0], model))
    assert seconds == pytest.approx((400 + macs / 64) / 100e6)
