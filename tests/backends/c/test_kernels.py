"""Every operator kind in C against plain integers: random values, the ends of the ranges, uneven shapes."""

from typing import Any

import numpy as np
import pytest

from target_arch.plan import arithmetic
from target_arch.plan.model import Model
from tests.backends.c.one import (
    Array,
    Compile,
    constant,
    finished,
    one_operator,
    quantized,
    real,
    run,
    windows,
)

RULES = ("tflite", "onnx")
RNG = np.random.default_rng(2024)


def stored(shape: tuple[int, ...], dtype: str = "int8") -> Array:
    """Random 8-bit values, a quarter of them at the ends of the range."""
    info = np.iinfo(dtype)
    values = RNG.integers(info.min, info.max + 1, shape)
    ends = RNG.choice([info.min, info.max], shape)
    return np.where(RNG.random(shape) < 0.25, ends, values).astype(dtype)


def layer(
    kind: str,
    rule: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    out: tuple[int, ...],
    scales: Any,
    **attributes: Any,
) -> tuple[Model, Array, Array]:
    """A model with weights and bias, and both as arrays."""
    channels = out[-1]
    weights, bias = stored(w), RNG.integers(-(2**16), 2**16, channels).astype(np.int32)
    model = one_operator(
        kind,
        rule,
        [quantized("x", x, 0.04, 7)],
        quantized("out", out, 0.9, -3),
        (
            constant(quantized("w", w, scales, 0), weights),
            constant(quantized("b", (channels,), 0.01, 0, "int32"), bias),
        ),
        **attributes,
    )
    return model, weights.astype(np.int64), bias.astype(np.int64)


def spread(channels: int, low: float = 1e-4, high: float = 2e-2) -> list[float]:
    """A scale per channel, far apart."""
    return [float(value) for value in np.geomspace(low, high, channels)]


CONVOLUTIONS = [
    # image, channels in and out, kernel, padding, strides
    ((7, 5), 3, 6, (3, 3), (1, 1, 1, 1), (1, 1)),
    ((9, 4), 1, 5, (4, 2), (2, 0, 1, 1), (2, 2)),
    ((6, 6), 17, 3, (1, 1), (0, 0, 0, 0), (1, 1)),
    ((6, 6), 4, 2, (1, 1), (0, 0, 0, 0), (2, 2)),
    ((3, 3), 2, 4, (5, 5), (2, 2, 2, 2), (1, 1)),
]


def extent(size: int, kernel: int, before: int, after: int, stride: int) -> int:
    return (size + before + after - kernel) // stride + 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize(("image", "inputs", "outputs", "kernel", "padding", "strides"), CONVOLUTIONS)
def test_conv2d(
    rule: str,
    per_channel: bool,
    image: tuple[int, int],
    inputs: int,
    outputs: int,
    kernel: tuple[int, int],
    padding: tuple[int, ...],
    strides: tuple[int, int],
    build: Compile,
) -> None:
    oh, ow = (extent(image[d], kernel[d], padding[d], padding[d + 2], strides[d]) for d in (0, 1))
    x = stored((2, *image, inputs))
    model, w, b = layer(
        "conv2d",
        rule,
        x.shape,
        (outputs, *kernel, inputs),
        (2, oh, ow, outputs),
        spread(outputs) if per_channel else 0.003,
        padding=padding,
        strides=strides,
        dilation=(1, 1),
        activation_min=-100,
        activation_max=90,
    )
    r = arithmetic.requantization(model.operators[0], model)
    views = windows(x.astype(np.int64) + r.input_offset, kernel, padding, strides, 0)
    expected = finished(r, np.einsum("nyxhwc,ohwc->nyxo", views, w) + b, "int8")
    np.testing.assert_array_equal(run(model, build, x), expected)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("channels", "each", "strides"), [(19, 1, (1, 1)), (32, 1, (2, 1)), (3, 4, (1, 1))])
def test_depthwise_conv2d(
    rule: str, channels: int, each: int, strides: tuple[int, int], build: Compile
) -> None:
    kernel, padding, outputs = (3, 2), (1, 1, 1, 0), channels * each
    x = stored((1, 6, 5, channels))
    oh, ow = (extent((6, 5)[d], kernel[d], padding[d], padding[d + 2], strides[d]) for d in (0, 1))
    model, w, b = layer(
        "depthwise_conv2d",
        rule,
        x.shape,
        (*kernel, outputs),
        (1, oh, ow, outputs),
        spread(outputs),
        padding=padding,
        strides=strides,
        depth_multiplier=each,
    )
    r = arithmetic.requantization(model.operators[0], model)
    views = windows((x.astype(np.int64) + r.input_offset).repeat(each, 3), kernel, padding, strides, 0)
    expected = finished(r, np.einsum("nyxhwo,hwo->nyxo", views, w) + b, "int8")
    np.testing.assert_array_equal(run(model, build, x), expected)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scales", [0.004, "per channel", "above one"])
def test_dense(rule: str, scales: float | str, build: Compile) -> None:
    """Multipliers above one shift to the left; the outputs then sit at the ends of the range."""
    per_channel = {"per channel": spread(9), "above one": spread(9, 0.01, 200.0)}
    x = stored((4, 33))
    model, w, b = layer(
        "dense", rule, x.shape, (9, 33), (4, 9), per_channel.get(str(scales), scales), in_features=33
    )
    r = arithmetic.requantization(model.operators[0], model)
    expected = finished(r, (x.astype(np.int64) + r.input_offset) @ w.T + b, "int8")
    np.testing.assert_array_equal(run(model, build, x), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["add", "sub"])
@pytest.mark.parametrize("second", [(1, 5, 4, 6), (6,), (1,)])
def test_add_and_sub(kind: str, rule: str, dtype: str, second: tuple[int, ...], build: Compile) -> None:
    a, b = stored((1, 5, 4, 6), dtype), stored(second, dtype)
    operands = [
        quantized("a", a.shape, 0.05, 3, dtype),
        quantized("b", second, 0.021, -7 if dtype == "int8" else 200, dtype),
    ]
    model = one_operator(kind, rule, operands, quantized("out", a.shape, 0.06, 5, dtype))
    p = arithmetic.addition(model.operators[0], model)
    other = np.broadcast_to(b, a.shape)
    expected = [p.apply(int(x), int(y)) for x, y in zip(a.ravel(), other.ravel(), strict=True)]
    np.testing.assert_array_equal(run(model, build, a, b).ravel(), expected)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("second", [(3, 4), (4,)])
def test_mul(rule: str, second: tuple[int, ...], build: Compile) -> None:
    a, b = stored((3, 4)), stored(second)
    operands = [quantized("a", (3, 4), 0.05, 3), quantized("b", second, 0.02, -7)]
    model = one_operator("mul", rule, operands, quantized("out", (3, 4), 0.09, 5))
    r = arithmetic.requantization(model.operators[0], model)
    product = (a.astype(np.int64) + r.input_offset) * (b.astype(np.int64) + r.second_offset)
    np.testing.assert_array_equal(run(model, build, a, b), finished(r, product, "int8"))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("kind", "scale", "low"), [("requantize", 0.02, -128), ("requantize", 3.0, -128), ("relu", 0.05, 9)]
)
def test_requantize_and_relu(rule: str, kind: str, scale: float, low: int, build: Compile) -> None:
    x = np.arange(-128, 128, dtype=np.int8)
    model = one_operator(
        kind, rule, [quantized("x", (256,), scale, -3)], quantized("out", (256,), 0.05, 9), activation_min=low
    )
    r = arithmetic.requantization(model.operators[0], model)
    expected = finished(r, x.astype(np.int64)[:, None] + r.input_offset, "int8")[:, 0]
    np.testing.assert_array_equal(run(model, build, x), expected)


POOLS = [
    ((6, 6), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((5, 7), (3, 3), (2, 1), (1, 1, 1, 0)),
    ((4, 3), (4, 3), (1, 1), (0, 0, 0, 0)),
]


@pytest.mark.parametrize("rule", [*RULES, "float"])
@pytest.mark.parametrize(("image", "kernel", "strides", "padding"), POOLS)
def test_max_pool2d(
    rule: str,
    image: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    padding: tuple[int, ...],
    build: Compile,
) -> None:
    oh, ow = (extent(image[d], kernel[d], padding[d], padding[d + 2], strides[d]) for d in (0, 1))
    floating = rule == "float"
    x = RNG.normal(size=(1, *image, 20)).astype(np.float32) if floating else stored((1, *image, 20))
    operands = [
        real(name, shape) if floating else quantized(name, shape, 0.1, 4)
        for name, shape in (("x", x.shape), ("out", (1, oh, ow, 20)))
    ]
    model = one_operator(
        "max_pool2d", rule, operands[:1], operands[1], kernel=kernel, strides=strides, padding=padding
    )
    expected = windows(x, kernel, padding, strides, -np.inf if floating else -128).max(axis=(3, 4))
    np.testing.assert_array_equal(run(model, build, x), expected)


def counts(
    image: tuple[int, int], kernel: tuple[int, int], padding: tuple[int, ...], strides: tuple[int, int]
) -> Array:
    """How many pixels each window holds."""
    return windows(np.ones((1, *image, 1), np.int64), kernel, padding, strides, 0).sum(axis=(3, 4))


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize(("image", "kernel", "strides", "padding"), POOLS)
def test_onnx_avg_pool2d_divides_exactly(
    image: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    padding: tuple[int, ...],
    include: bool,
    build: Compile,
) -> None:
    oh, ow = (extent(image[d], kernel[d], padding[d], padding[d + 2], strides[d]) for d in (0, 1))
    x = stored((1, *image, 20))
    model = one_operator(
        "avg_pool2d",
        "onnx",
        [quantized("x", x.shape, 0.5, 4)],
        quantized("out", (1, oh, ow, 20), 0.25, -6),
        kernel=kernel,
        strides=strides,
        padding=padding,
        count_include_pad=include,
    )
    total = windows(x.astype(np.int64) - 4, kernel, padding, strides, 0).sum(axis=(3, 4))
    count = kernel[0] * kernel[1] if include else counts(image, kernel, padding, strides)
    expected = np.clip(np.rint(2 * total / count) - 6, -128, 127)
    np.testing.assert_array_equal(run(model, build, x), expected)


def test_float_kinds(build: Compile) -> None:
    """Convolution, dense, mean, addition and softmax in float32, in one chain of their own each."""
    x, w, b = (RNG.normal(size=shape).astype(np.float32) for shape in ((1, 6, 6, 3), (5, 3, 3, 3), (5,)))
    model = one_operator(
        "conv2d",
        "float",
        [real("x", x.shape)],
        real("out", (1, 6, 6, 5)),
        (constant(real("w", w.shape), w), constant(real("b", b.shape), b)),
        padding=(1, 1, 1, 1),
        activation="relu6",
    )
    expected = np.einsum("nyxhwc,ohwc->nyxo", windows(x, (3, 3), (1, 1, 1, 1), (1, 1), 0), w) + b
    np.testing.assert_allclose(run(model, build, x), np.clip(expected, 0, 6), atol=1e-5)

    model = one_operator(
        "avg_pool2d", "float", [real("x", x.shape)], real("out", (1, 3, 3, 3)), kernel=(2, 2), strides=(2, 2)
    )
    expected = windows(x, (2, 2), (0, 0, 0, 0), (2, 2), 0).mean(axis=(3, 4))
    np.testing.assert_allclose(run(model, build, x), expected, atol=1e-6)

    model = one_operator("softmax", "float", [real("x", (4, 9))], real("out", (4, 9)), axis=1)
    rows = RNG.normal(size=(4, 9)).astype(np.float32) * 20
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    np.testing.assert_allclose(run(model, build, rows), powers / powers.sum(axis=1, keepdims=True), atol=1e-6)


def test_onnx_softmax_and_conversions(build: Compile) -> None:
    x = stored((5, 10))
    model = one_operator(
        "softmax",
        "onnx",
        [quantized("x", x.shape, 0.1, 3)],
        quantized("out", x.shape, 1 / 256, -128),
        axis=-1,
    )
    powers = np.exp((x - x.max(axis=1, keepdims=True).astype(np.int32)) * np.float64(np.float32(0.1)))
    expected = np.rint(256 * powers / powers.sum(axis=1, keepdims=True)) - 128
    assert np.abs(run(model, build, x) - np.clip(expected, -128, 127)).max() <= 1

    values = np.array([-1e30, -np.inf, np.nan, 0.25, 0.75, -0.25, 1e9, np.inf], np.float32)
    for rule, half in (("tflite", [1, 2, -1]), ("onnx", [0, 2, 0])):
        model = one_operator("quantize", rule, [real("x", (8,))], quantized("out", (8,), 0.5, 0))
        # What a NaN becomes is nobody's rule; that it is defined is ours.
        assert run(model, build, values).tolist() == [-128, -128, 127, *half, 127, 127]
    model = one_operator("dequantize", "onnx", [quantized("x", (3,), 0.5, 3)], real("out", (3,)))
    assert run(model, build, np.array([-128, 3, 127], np.int8)).tolist() == [-65.5, 0.0, 62.0]


def test_movement(build: Compile) -> None:
    x = stored((2, 3, 4, 5))
    model = one_operator(
        "transpose",
        "tflite",
        [quantized("x", x.shape, 1.0, 0)],
        quantized("out", (2, 5, 3, 4), 1.0, 0),
        axes=(0, 3, 1, 2),
    )
    np.testing.assert_array_equal(run(model, build, x), x.transpose(0, 3, 1, 2))
    model = one_operator(
        "reshape", "tflite", [quantized("x", x.shape, 1.0, 0)], quantized("out", (6, 20), 1.0, 0)
    )
    np.testing.assert_array_equal(run(model, build, x), x.reshape(6, 20))
