"""Random layers of floats with int8 weights for `s8_hybrid.h` and `s8_hybrid_depthwise.h`, and what numpy's
float32 says about them.
"""

from collections.abc import Iterator
from math import prod

import numpy as np
from attrs import evolve

from target_arch.backends.plain_c.kernels import hybrid, hybrid_depthwise
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.plan.model import Attribute
from tests.backends.c.kernel_cases import Shape, weights_of, windows_of
from tests.backends.c.kernel_program import Case
from tests.backends.c.one import Array, constant, one_operator, quantized, real

_ONE, _RANGE = np.float32(1), {"none": (-np.inf, np.inf), "relu": (0, np.inf), "relu6": (0, 6)}


def stored_values(x: Array, *, symmetric: bool) -> tuple[Array, np.float32, int]:
    """Values in eight bits on the grid of their extremes, as LiteRT has it; its scale and zero point."""
    low, high = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
    scale, inverse, zero = _ONE, _ONE, 0
    if symmetric:
        reach = np.float32(max(-low, high))
        scale, inverse = (
            (reach / np.float32(127), np.float32(127) / reach) if reach else (_ONE, np.float32(0))
        )
    elif low < high:
        step = np.float64(high - low) / 255.0
        below, above = np.float64(low) / step, np.float64(high) / step
        at = -128 - below if 128 - below < 127 + above else 127 - above
        scale = np.float32(step)
        inverse, zero = _ONE / scale, int(_rounded(np.clip(at, -128, 127)))
    moved = np.float32(zero) + x * inverse
    return np.clip(_rounded(moved), -127 if symmetric else -128, 127).astype(np.int64), scale, zero


def _rounded(value: Array) -> Array:
    """The nearest integer, of two the one farther from zero."""
    whole = np.trunc(value)
    return whole + np.trunc((value - whole) * 2)


def _case(
    name: str, kind: str, x: Array, w: Array, layout: WeightLayout, number: int,
    rows: list[tuple[Array, np.float32]], out: tuple[int, ...], **attributes: Attribute,
) -> Case:  # fmt: skip
    """The layer whose sums of integers and scales are those of `rows`."""
    rng, activation = np.random.default_rng(number), ("none", "relu", "relu6")[number % 3]
    depthwise = kind == "depthwise_conv2d"
    scales = rng.uniform(0.001, 0.02, out[-1] if number % 2 else 1).astype(np.float32)
    bias = rng.normal(0, 1, out[-1]).astype(np.float32)
    given = scales.tolist() if number % 2 else float(scales[0])
    weights = quantized("w", w.shape, given, 0)
    if number % 2 and depthwise:
        assert weights.quantization is not None
        weights = evolve(weights, quantization=evolve(weights.quantization, axis=2))
    layer = one_operator(
        kind, "float", [real("x", x.shape)], real("out", out),
        (constant(weights, w), constant(real("b", bias.shape), bias)),
        activation=activation, symmetric=number % 4 < 2, **attributes,
    )  # fmt: skip
    operator = layer.operators[0]
    refused = (
        hybrid_depthwise.refusal(operator, layer)
        if depthwise
        else hybrid.refusal(operator, layer, layout, bounded=False)
    )
    assert refused is None
    low, high = (np.float32(end) for end in _RANGE[activation])
    expected = []
    for sums, row in rows:
        total = sums.astype(np.float32)
        value = (total * scales * row if number % 2 else total * (row * scales[0])) + bias
        value = np.where(value < high, value, high)
        expected.append(np.where(value > low, value, low))
    return Case(
        name=name,
        made=(hybrid_depthwise if depthwise else hybrid).made(operator, layer, layout),
        inputs=(x,),
        expected=np.stack(expected).astype(np.float32),
    )


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Floats whose rows or images differ in size, some of them without a negative value, some all zero."""
    sizes = rng.choice([0, 0.01, 1, 300], shape[0], p=[0.1, 0.3, 0.3, 0.3]).reshape(
        -1, *[1] * (len(shape) - 1)
    )
    shift = rng.choice([-3, 0, 3], sizes.shape)
    return ((rng.normal(0, 1, shape) + shift) * sizes).astype(np.float32)


def hybrid_dense_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """dense layers of one row and of several, some longer than a panel."""
    sizes = ((1, 64, 12), (7, 33, 35), (19, 16, 16), (1, 7, 9), (3, 2500, 17), (4, 130, 1))
    for number, (rows, inputs, outputs) in enumerate(sizes):
        x, w = _drawn(rng, (rows, inputs)), weights_of(rng, (outputs, inputs))
        made = [stored_values(row, symmetric=number % 4 < 2) for row in x]
        sums = [((values - zero) @ w.astype(np.int64).T, scale) for values, scale, zero in made]
        yield _case(
            f"hybrid dense {rows}x{inputs}x{outputs}",
            *("dense", x, w, layout, number, sums, (rows, outputs)),
            in_features=inputs,
        )


def hybrid_conv2d_cases(
    rng: np.random.Generator, shapes: list[Shape], layout: WeightLayout
) -> Iterator[Case]:
    """conv2d, each shape once."""
    for number, shape in enumerate(shapes):
        inputs, outputs = shape.channels
        x, w = (
            _drawn(rng, (shape.batch, *shape.image, inputs)),
            weights_of(rng, (outputs, *shape.kernel, inputs)),
        )
        sums = []
        for image in x:
            values, scale, zero = stored_values(image, symmetric=number % 4 < 2)
            views = windows_of((values - zero)[None], evolve(shape, batch=1), 0)[0]
            sums.append((np.einsum("hwrsc,orsc->hwo", views, w.astype(np.int64)), scale))
        yield _case(
            f"hybrid {shape}",
            *("conv2d", x, w, layout, number, sums, shape.out),
            padding=shape.padding, strides=shape.strides, dilation=shape.dilation,
        )  # fmt: skip


def hybrid_depthwise_cases(
    rng: np.random.Generator, shapes: list[Shape], layout: WeightLayout
) -> Iterator[Case]:
    """depthwise_conv2d of the shapes that the driver takes; a shape's channels out are all its channels."""
    for number, shape in enumerate(shape for shape in shapes if prod(shape.kernel) <= 25):
        channels = shape.channels[1]
        x = _drawn(rng, (shape.batch, *shape.image, channels))
        w = weights_of(rng, (*shape.kernel, channels))
        sums = []
        for image in x:
            values, scale, zero = stored_values(image, symmetric=number % 4 < 2)
            views = windows_of((values - zero)[None], evolve(shape, batch=1), 0)[0]
            sums.append((np.einsum("hwrsc,rsc->hwc", views, w.astype(np.int64)), scale))
        yield _case(
            f"hybrid depthwise {shape}",
            *("depthwise_conv2d", x, w, layout, number, sums, shape.out),
            padding=shape.padding, strides=shape.strides, dilation=shape.dilation,
        )  # fmt: skip
