"""Sums of products beyond the plain form: what they are, and the same in every backend's hands."""

from typing import Any

import numpy as np

from target_arch.plan.model import Model, Quantization, Tensor
from tests.backends.c.one import Array, one_operator

SPECIAL = (
    "groups",
    "groups of one pixel",
    "zero point",
    "depthwise zero point",
    "dense zero point",
    "int16",
    "int16 groups",
    "depthwise int16",
    "dense int16",
)
"""Forms of `conv2d`, `depthwise_conv2d` and `dense` that plain kernels leave out, and why (`WHY`)."""
WHY = {
    "groups": "2 groups of channels",
    "groups of one pixel": "2 groups of channels",
    "zero point": "weights with a zero point other than 0",
    "depthwise zero point": "weights with a zero point other than 0",
    "dense zero point": "weights with a zero point other than 0",
    "int16": "int16 `x`",
    "int16 groups": "2 groups of channels",
    "depthwise int16": "int16 `x`",
    "dense int16": "int16 `x`",
}


def special(form: str, rule: str = "tflite", seed: int = 0) -> Model:
    """A model of one operator of that form."""
    draw = np.random.default_rng([seed, *form.encode()])
    kind = "depthwise_conv2d" if "depthwise" in form else "dense" if "dense" in form else "conv2d"
    groups, kernel = 2 if "groups" in form else 1, (1, 1) if "pixel" in form else (3, 2)
    dtype, offset = ("int16", 0) if "int16" in form else ("int8", int(draw.integers(-20, 20)))
    shape, image, out = _shapes(kind, groups, kernel)
    outputs = out[-1]
    weights = draw.integers(-128, 128, shape).astype(np.int8)
    bias = draw.integers(-3000, 3000, outputs)
    grid = Quantization(scale=(0.02,), zero_point=(5 if "zero point" in form else 0,))
    x = _tensor("x", image, dtype, Quantization(scale=(0.05,), zero_point=(offset,)))
    y = _tensor(
        "y", out, dtype, Quantization(scale=(0.3 if dtype == "int8" else 0.01,), zero_point=(offset,))
    )
    constants = (
        _tensor("w", shape, "int8", grid, weights),
        _tensor("b", (outputs,), "int64" if dtype == "int16" else "int32", None, bias),
    )
    return one_operator(kind, rule, [x], y, constants, **_attributes(kind, groups, kernel, shape))


def frame_of(model: Model, seed: int = 0) -> Array:
    """Random stored values of its input."""
    x = model.tensors["x"]
    limits = np.iinfo(x.dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, x.shape).astype(x.dtype)


def _shapes(kind: str, groups: int, kernel: tuple[int, int]) -> tuple[tuple[int, ...], ...]:
    """Of weights, input and output."""
    if kind == "dense":
        return (5, 12), (3, 12), (3, 5)
    weights = (*kernel, 8) if kind == "depthwise_conv2d" else (8, *kernel, 4 // groups)
    rows, columns = (7, 6) if kernel == (1, 1) else (4, 6)
    return weights, (1, 7, 6, 4), (1, rows, columns, 8)


def _attributes(kind: str, groups: int, kernel: tuple[int, int], weights: tuple[int, ...]) -> dict[str, Any]:
    if kind == "dense":
        return {"in_features": weights[1]}
    plain = kernel == (1, 1)
    attributes: dict[str, Any] = {
        "strides": (1, 1) if plain else (2, 1),
        "padding": (0, 0, 0, 0) if plain else (1, 0, 1, 1),
        "dilation": (1, 1),
    }
    if kind == "depthwise_conv2d":
        return {**attributes, "depth_multiplier": 2}
    return {**attributes, "groups": groups} if groups > 1 else attributes


def _tensor(
    name: str, shape: tuple[int, ...], dtype: str, grid: Quantization | None, data: Array | None = None
) -> Tensor:
    stored = None if data is None else data.astype(dtype).tobytes()
    return Tensor(name=name, shape=shape, dtype=dtype, quantization=grid, data=stored)
