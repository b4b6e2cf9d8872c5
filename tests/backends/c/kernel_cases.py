"""Random operators for the kernels of `runtime_c/kernels`, and what plain integers say about them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels import (
    depthwise,
    matmul,
    products,
    real_depthwise,
    real_matmul,
    reals,
)
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.sums import sum_after
from target_arch.plan import arithmetic
from target_arch.plan.model import Model, Tensor
from target_arch.run.exact.oracle import exact
from tests.backends.c.kernel_program import Case, spaced
from tests.backends.c.one import Array, constant, finished, one_operator, quantized, real

_INFO = {"int8": (-128, 127), "uint8": (0, 255)}


def stored(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Random values, a quarter of them at the ends of the range."""
    low, high = _INFO[dtype]
    ends = rng.choice([low, high], shape)
    return np.where(rng.random(shape) < 0.25, ends, rng.integers(low, high + 1, shape)).astype(dtype)


def weights_of(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random weights; in half of the cases none is -128, for which some forms add in 16 bits."""
    least = -128 if rng.random() < 0.5 else -127
    return np.maximum(stored(rng, shape, "int8"), least).astype(np.int8)


@frozen(kw_only=True)
class Shape:
    """A convolution: `channels` are those in and out, `padding` is top, left, bottom, right."""

    image: tuple[int, int]
    channels: tuple[int, int]
    kernel: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    strides: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    batch: int = 1

    @property
    def out(self) -> tuple[int, int, int, int]:
        """Batch, height, width and channels of the output."""
        sizes = [
            (
                self.image[axis]
                + self.padding[axis]
                + self.padding[axis + 2]
                - self.dilation[axis] * (self.kernel[axis] - 1)
                - 1
            )
            // self.strides[axis]
            + 1
            for axis in (0, 1)
        ]
        return self.batch, sizes[0], sizes[1], self.channels[1]


def random_shape(rng: np.random.Generator) -> Shape:
    """A small convolution; kernels, strides and channels are odd as often as not."""
    kernel = (int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    dilation = (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
    least = [dilation[axis] * (kernel[axis] - 1) + 1 for axis in (0, 1)]
    padding = tuple(int(value) for value in rng.integers(0, 3, 4))
    return Shape(
        image=(least[0] + int(rng.integers(0, 5)), least[1] + int(rng.integers(0, 5))),
        channels=(int(rng.integers(1, 21)), int(rng.integers(1, 36))),
        kernel=kernel,
        padding=(padding[0], padding[1], padding[2], padding[3]),
        strides=(int(rng.integers(1, 4)), int(rng.integers(1, 4))),
        dilation=dilation,
        batch=int(rng.integers(1, 3)),
    )


CHOSEN = (
    Shape(image=(5, 7), channels=(16, 16), kernel=(3, 3), padding=(1, 1, 1, 1)),
    Shape(image=(9, 9), channels=(3, 8), kernel=(3, 3), padding=(0, 0, 1, 1), strides=(2, 2)),
    Shape(image=(4, 4), channels=(64, 64)),
    Shape(image=(6, 6), channels=(24, 40), strides=(2, 2)),
    Shape(image=(3, 3), channels=(300, 20), kernel=(3, 3), padding=(1, 1, 1, 1)),
    Shape(image=(10, 4), channels=(1, 64), kernel=(10, 4), padding=(4, 1, 5, 1), strides=(2, 2)),
    Shape(image=(2, 2), channels=(7, 3), kernel=(5, 5), padding=(2, 2, 2, 2)),
    Shape(image=(2, 37), channels=(5, 24), kernel=(3, 3), padding=(1, 1, 1, 1)),
)
"""What models have: whole tiles, first layers, windows of several chunks, much padding, long rows."""

LARGE = (
    Shape(image=(24, 20), channels=(32, 20), kernel=(3, 3), padding=(1, 1, 1, 1)),
    Shape(image=(7, 150), channels=(3, 9), kernel=(4, 4), padding=(1, 2, 1, 2)),
)
"""More rows than a panel holds, and more windows of few bytes: too much for the memory of a microcontroller,
beside the others.
"""

NARROW = (
    Shape(image=(3, 29), channels=(7, 7), kernel=(3, 3), padding=(1, 1, 1, 1)),
    Shape(image=(33, 4), channels=(3, 3), kernel=(3, 2), padding=(1, 0, 2, 1), batch=2),
    Shape(image=(4, 31), channels=(17, 17), kernel=(2, 3), strides=(1, 2)),
    Shape(image=(2, 19), channels=(2, 2), kernel=(1, 3), dilation=(1, 2)),
)
"""Depthwise: channels that fill no 8, the last of which end the image, in lines of many windows."""

LINES = (
    Shape(image=(3, 75), channels=(24, 24), kernel=(3, 3), padding=(1, 1, 1, 1)),
    Shape(image=(41, 2), channels=(16, 16), kernel=(3, 3), padding=(7, 1, 9, 0), strides=(2, 1)),
    Shape(image=(5, 2), channels=(8, 8), kernel=(3, 3), padding=(1, 9, 1, 8), batch=2),
)
"""Depthwise: lines of more places than are kept at once, and some that begin and end far outside."""

LONG = (
    Shape(image=(3, 5), channels=(400, 40), kernel=(2, 3), padding=(1, 1, 0, 1)),
    Shape(image=(12, 10), channels=(3, 50), kernel=(5, 5), padding=(4, 4, 4, 4), dilation=(2, 2)),
    Shape(image=(24, 2), channels=(4, 17), kernel=(20, 1), padding=(9, 0, 10, 0), batch=3),
    Shape(image=(1, 2), channels=(1100, 33)),
)
"""Windows of float32 in many segments, and segments of many values."""


def windows_of(x: Array, shape: Shape, fill: int) -> Array:
    """[N, OH, OW, KH, KW, C]: the padded image under every position of the kernel."""
    top, left, bottom, right = shape.padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    batch, height, width, _ = shape.out
    rows = np.arange(height)[:, None] * shape.strides[0] + np.arange(shape.kernel[0]) * shape.dilation[0]
    columns = np.arange(width)[:, None] * shape.strides[1] + np.arange(shape.kernel[1]) * shape.dilation[1]
    return padded[:, rows[:, None, :, None], columns[None, :, None, :], :].reshape(
        batch, height, width, *shape.kernel, -1
    )


def scales(rng: np.random.Generator, count: int, products_: int) -> float | list[float]:
    """Scales of weights that bring sums of so many products into the range of 8 bits, more or less."""
    middle = 40.0 / (np.sqrt(products_) * 60 * 60)
    if rng.random() < 0.3:
        return float(middle)
    return [float(value) for value in middle * np.exp(rng.normal(0, 2, count))]


def conv2d_cases(rng: np.random.Generator, shapes: list[Shape], layout: WeightLayout) -> Iterator[Case]:
    """conv2d in both arithmetics and both types, each shape once."""
    for number, shape in enumerate(shapes):
        rule = ("tflite", "onnx")[number % 3 == 2]
        dtypes = ("int8", "int8") if number % 4 else ("uint8", "uint8")
        apart = shape.channels[1] + (3 if number % 5 == 4 else 0)
        yield conv2d_case(rng, shape, rule, dtypes, layout, apart)


def conv2d_case(
    rng: np.random.Generator,
    shape: Shape,
    rule: str,
    dtypes: tuple[str, str],
    layout: WeightLayout,
    apart: int,
) -> Case:
    """One conv2d; the zero points are anywhere."""
    model, x, sums = conv2d_model(rng, shape, rule, dtypes)
    return _case(f"{shape} {rule} {dtypes}", model, x, sums, dtypes[1], layout, apart)


def conv2d_model(
    rng: np.random.Generator, shape: Shape, rule: str, dtypes: tuple[str, str]
) -> tuple[Model, Array, Array]:
    """A model of one conv2d, an input, and its sums with bias."""
    zero = [int(rng.integers(*_INFO[dtype])) for dtype in dtypes]
    inputs, outputs = shape.channels
    w = weights_of(rng, (outputs, *shape.kernel, inputs))
    bias = rng.integers(-(2**12), 2**12, outputs).astype(np.int32)
    image = quantized("x", (shape.batch, *shape.image, inputs), 1.0, zero[0], dtypes[0])
    out = quantized("out", shape.out, 1.0, zero[1], dtypes[1])
    weights = quantized("w", w.shape, scales(rng, outputs, w[0].size), 0)
    model = layer("conv2d", rule, image, out, constant(weights, w), bias, shape)
    x = stored(rng, image.shape, dtypes[0])
    views = windows_of(x.astype(np.int64) - zero[0], shape, 0)
    return model, x, np.einsum("bhwrsc,orsc->bhwo", views, w.astype(np.int64)) + bias


def dense_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """dense layers, with one scale and with many, of one row and of several."""
    for rule, rows, inputs, outputs in (
        ("tflite", 1, 64, 12),
        ("tflite", 7, 33, 35),
        ("onnx", 5, 130, 16),
        ("onnx", 1, 7, 9),
        ("tflite", 3, 2500, 17),
    ):
        w = weights_of(rng, (outputs, inputs))
        bias = rng.integers(-(2**12), 2**12, outputs).astype(np.int32)
        x, zero = stored(rng, (rows, inputs), "int8"), int(rng.integers(-128, 128))
        image = quantized("x", x.shape, 1.0, zero)
        weights = quantized("w", w.shape, scales(rng, outputs, inputs), 0)
        out = quantized("out", (rows, outputs), 1.0, 5)
        model = layer("dense", rule, image, out, constant(weights, w), bias, None)
        sums = (x.astype(np.int64) - zero) @ w.astype(np.int64).T + bias
        yield _case(f"dense {rows}x{inputs}x{outputs} {rule}", model, x, sums, "int8", layout, outputs)


def depthwise_cases(rng: np.random.Generator, shapes: list[Shape]) -> Iterator[Case]:
    """depthwise_conv2d in both arithmetics and both types; a shape's channels out are all its channels."""
    for number, shape in enumerate(shapes):
        rule = ("tflite", "onnx")[number % 3 == 2]
        yield depthwise_case(rng, shape, rule, "int8" if number % 4 else "uint8")


def depthwise_case(
    rng: np.random.Generator, shape: Shape, rule: str, dtype: str, *, ends: tuple[int, int] | None = None
) -> Case:
    """One depthwise_conv2d; the zero points are anywhere. Its least and greatest result are `ends`."""
    model, x, sums = depthwise_model(rng, shape, rule, dtype)
    if ends is not None:
        attributes = {**model.operators[0].attributes, "activation_min": ends[0], "activation_max": ends[1]}
        model = evolve(model, operators=(evolve(model.operators[0], attributes=attributes),))
    operator = model.operators[0]
    assert depthwise.refusal(operator, model) is None
    return Case(
        name=f"depthwise {shape} {rule} {dtype}",
        made=depthwise.made(operator, model),
        inputs=(x,),
        expected=finished(arithmetic.requantization(operator, model), sums, dtype),
    )


def depthwise_model(
    rng: np.random.Generator, shape: Shape, rule: str, dtype: str
) -> tuple[Model, Array, Array]:
    """A model of one depthwise_conv2d, an input, and its sums with bias."""
    zero, channels = int(rng.integers(*_INFO[dtype])), shape.channels[1]
    w = weights_of(rng, (*shape.kernel, channels))
    bias = rng.integers(-(2**10), 2**10, channels).astype(np.int32)
    image = quantized("x", (shape.batch, *shape.image, channels), 1.0, zero, dtype)
    out = quantized("out", shape.out, 1.0, int(rng.integers(*_INFO[dtype])), dtype)
    weights = quantized("w", w.shape, scales(rng, channels, w[..., 0].size), 0)
    x = stored(rng, image.shape, dtype)
    views = windows_of(x.astype(np.int64) - zero, shape, 0)
    sums = np.einsum("bhwrsc,rsc->bhwc", views, w.astype(np.int64)) + bias
    return layer("depthwise_conv2d", rule, image, out, constant(weights, w), bias, shape), x, sums


STRIPS = tuple(
    Shape(
        image=image,
        channels=(channels, channels),
        kernel=(3, 3),
        padding=padding,
        strides=strides,
        batch=1 + channels % 2,
    )
    for image, channels, padding, strides in (
        ((25, 5), 8, (1, 1, 1, 1), (1, 1)),
        ((5, 40), 7, (1, 1, 1, 1), (1, 1)),
        ((3, 3), 4, (0, 0, 0, 0), (1, 1)),
        ((4, 3), 5, (0, 0, 0, 0), (1, 1)),
        ((1, 1), 9, (1, 1, 1, 1), (1, 1)),
        ((6, 43), 8, (0, 0, 1, 1), (2, 2)),
        ((41, 7), 6, (0, 0, 1, 1), (2, 2)),
        ((9, 20), 11, (2, 3, 2, 1), (1, 2)),
        ((20, 9), 10, (3, 2, 1, 2), (1, 2)),
        ((7, 8), 17, (1, 0, 1, 2), (2, 1)),
        ((3, 19), 12, (4, 5, 4, 5), (1, 1)),
        ((10, 10), 8, (1, 1, 1, 1), (3, 3)),
    )
)
"""Depthwise kernels of 3x3: outputs of one strip and of several, odd and even; borders of every width."""


def strip_cases(rng: np.random.Generator) -> Iterator[Case]:
    """depthwise_conv2d of int8 that forms for 3x3 take: both arithmetics, with all results and with some."""
    for shape in STRIPS:
        for rule in ("tflite", "onnx"):
            low, high = sorted(int(end) for end in rng.choice([-128, -128, -7, 3, 127, 127], 2))
            yield depthwise_case(rng, shape, rule, "int8", ends=(low, high))


def sum_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """A convolution of 1x1 and a sum or difference with another tensor, on either side and of any scale."""
    for rule, kind, side, dtype, scale, least in (
        ("tflite", "add", 0, "int8", 0.7, -128),
        ("tflite", "add", 1, "int8", 0.21, -128),
        ("tflite", "add", 0, "int8", 0.4, -128),
        ("tflite", "add", 0, "int8", 0.03, 7),
        ("tflite", "add", 1, "uint8", 1.3, 0),
        ("tflite", "sub", 1, "int8", 1.3, -128),
        ("tflite", "sub", 0, "uint8", 0.7, 0),
        ("onnx", "add", 1, "int8", 1.3, -128),
        ("onnx", "add", 0, "int8", 0.6, 7),
        ("onnx", "add", 0, "uint8", 1e-7, 0),
        ("onnx", "sub", 0, "int8", 2e-6, -128),
        ("onnx", "sub", 1, "uint8", 1.3, 0),
    ):
        low, high = _INFO[dtype]
        shape = Shape(image=(3, 5), channels=(9, 24 if side else 35))
        first, x, sums = conv2d_model(rng, shape, rule, (dtype, dtype))
        value = finished(arithmetic.requantization(first.operators[0], first), sums, dtype)
        operands = [
            quantized("v", shape.out, 0.4, 3, dtype),
            quantized("o", shape.out, scale, 11, dtype),
        ]
        out = quantized("s", shape.out, 0.9, low + 120, dtype)
        model = one_operator(kind, rule, operands[:: -1 if side else 1], out, activation_min=least)
        after = sum_after(model.operators[0], "v", model)
        assert after is not None
        other = rng.integers(low, high + 1, shape.out).astype(dtype)
        yield Case(
            name=f"conv2d, {kind} {rule} {dtype}, scale {scale}",
            made=products.made(first.operators[0], first, layout, 0, after),
            inputs=(x,),
            others=(other,),
            expected=added(model, (other, value) if side else (value, other), dtype),
        )


def added(model: Model, values: tuple[Array, Array], dtype: str) -> Array:
    """The sum or difference that a model of one has of these values."""
    p = arithmetic.addition(model.operators[0], model)
    pairs = zip(values[0].ravel().tolist(), values[1].ravel().tolist(), strict=True)
    return np.array([p.apply(*pair) for pair in pairs]).astype(dtype).reshape(values[0].shape)


def real_cases(rng: np.random.Generator, shapes: list[Shape]) -> Iterator[Case]:
    """conv2d of whole numbers as float32, whose sums are exact in any order; every third with an addition."""
    for number, shape in enumerate(shapes):
        inputs, outputs = shape.channels
        w = _wholes(rng, (outputs, *shape.kernel, inputs))
        x = _wholes(rng, (shape.batch, *shape.image, inputs))
        sums = np.einsum("bhwrsc,orsc->bhwo", windows_of(x, shape, 0), w)
        yield _real_case(rng, number, shape, "conv2d", x, w, sums)


def real_depthwise_cases(rng: np.random.Generator, shapes: list[Shape]) -> Iterator[Case]:
    """depthwise_conv2d likewise; a shape's channels out are all its channels."""
    for number, shape in enumerate(shapes):
        channels = shape.channels[1]
        w = _wholes(rng, (*shape.kernel, channels))
        x = _wholes(rng, (shape.batch, *shape.image, channels))
        sums = np.einsum("bhwrsc,rsc->bhwc", windows_of(x, shape, 0), w)
        yield _real_case(rng, number, shape, "depthwise_conv2d", x, w, sums)


def matmul_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Products of two matrices of whole numbers; the second may be the same for all of the first."""
    for batch, m, k, n in ((1, 1, 5, 16), (2, 7, 9, 33), (3, 6, 4, 15), (1, 13, 20, 48), (2, 16, 16, 16)):
        for repeated in (False, True):
            a, b = _wholes(rng, (batch, m, k)), _wholes(rng, (k, n) if repeated else (batch, k, n))
            operands, out = [real("a", a.shape), real("b", b.shape)], real("out", (batch, m, n))
            model = one_operator("matmul", "float", operands, out, macs_per_output=k)
            assert real_matmul.refusal(model.operators[0], model) is None
            yield Case(
                name=f"matmul {batch}x{m}x{k}x{n}",
                made=real_matmul.made(model.operators[0], model),
                inputs=(a, b),
                expected=(a @ b).astype(np.float32),
            )


def stored_matmul_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Products of two matrices of 8 bits, by the oracle; depths that are odd and that fill no line."""
    shapes = ((1, 1, 5, 16), (2, 7, 9, 33), (3, 6, 4, 15), (1, 13, 131, 48), (2, 16, 256, 8), (1, 4, 2, 1))
    for number, (batch, m, k, n) in enumerate(shapes):
        for rounding in ("onnx", "tflite"):
            types = [("int8", "uint8")[number >> bit & 1] for bit in range(3)]
            a = stored(rng, (batch, m, k), types[0])
            b = stored(rng, (k, n) if number % 2 else (batch, k, n), types[1])
            zeros = [int(rng.integers(*_INFO[dtype], endpoint=True)) for dtype in types]
            operands = [
                quantized("a", a.shape, 0.05, zeros[0], types[0]),
                quantized("b", b.shape, 0.02, zeros[1], types[1]),
            ]
            out = quantized("out", (batch, m, n), 0.001 * 40 * k**0.5, zeros[2], types[2])
            model = one_operator("matmul", rounding, operands, out, macs_per_output=k)
            (operator,) = model.operators
            assert matmul.refusal(operator, model) is None
            expected = exact(operator, model, {"a": a, "b": b})
            assert expected is not None
            made = matmul.made(operator, model)
            name = f"{rounding} matmul {batch}x{m}x{k}x{n} {' '.join(types)}"
            yield Case(name=name, made=made, inputs=(a, b), expected=expected)


def _wholes(rng: np.random.Generator, shape: tuple[int, ...], most: int = 9) -> Array:
    return rng.integers(-most, most + 1, shape).astype(np.float32)


def _real_case(
    rng: np.random.Generator, number: int, shape: Shape, kind: str, x: Array, w: Array, sums: Array
) -> Case:
    activation = ("none", "relu", "relu6")[number % 3]
    bias = _wholes(rng, (shape.channels[1],), 99)
    attributes = {"padding": shape.padding, "strides": shape.strides, "dilation": shape.dilation}
    constants = (constant(real("w", w.shape), w), constant(real("b", bias.shape), bias))
    out = real("out", shape.out)
    model = one_operator(
        kind, "float", [real("x", x.shape)], out, constants, activation=activation, **attributes
    )
    operator = model.operators[0]
    kernel = reals if kind == "conv2d" else real_depthwise
    assert kernel.refusal(operator, model) is None
    expected = _clamped(sums + bias, activation)
    after, others = None, ()
    if number % 3 == 0:
        operands = [real("o", shape.out), out]
        added = one_operator("add", "float", operands, real("s", shape.out), activation="relu")
        after = reals.sum_after(added.operators[0], "out", added)
        others = (_wholes(rng, shape.out, 99),)
        expected = _clamped(expected + others[0], "relu")
    return Case(
        name=f"float {kind} {shape} {activation}",
        made=kernel.made(operator, model, 0, after),
        inputs=(x,),
        others=others,
        expected=expected,
    )


def _clamped(values: Array, activation: str) -> Array:
    low, high = {"none": (-np.inf, np.inf), "relu": (0, np.inf), "relu6": (0, 6)}[activation]
    return (np.clip(values, low, high) + np.float32(0)).astype(np.float32)


def layer(kind: str, rule: str, x: Tensor, out: Tensor, w: Tensor, bias: Array, shape: Shape | None) -> Model:
    """The model of one operator with weights."""
    attributes: dict[str, Any] = {}
    if shape is not None:
        attributes = {"padding": shape.padding, "strides": shape.strides, "dilation": shape.dilation}
    biases = constant(quantized("b", bias.shape, 1.0, 0, "int32"), bias)
    return one_operator(kind, rule, [x], out, (w, biases), **attributes)


def _case(
    name: str, model: Model, x: Array, sums: Array, dtype: str, layout: WeightLayout, apart: int
) -> Case:
    operator = model.operators[0]
    assert products.refusal(operator, model, layout) is None
    expected = finished(arithmetic.requantization(operator, model), sums, dtype)
    made = products.made(operator, model, layout, apart)
    last = spaced(expected, apart) if apart != expected.shape[-1] else expected
    return Case(name=name, made=made, inputs=(x,), expected=last)
