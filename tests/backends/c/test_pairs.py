"""Two operators as one function give the bits that one after the other gives, also in place."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.relax.lower.operators import lower_pair
from tests.backends.c.one import (
    Array,
    Compile,
    array_of,
    call,
    constant,
    in_place,
    quantized,
    real,
    run,
)

RNG = np.random.default_rng(11)
LAYERS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "conv2d": ((1, 5, 4, 3), (6, 3, 3, 3), (1, 5, 4, 6), {"padding": (1, 1, 1, 1)}),
    "depthwise_conv2d": (
        (1, 6, 6, 32),
        (3, 3, 32),
        (1, 3, 3, 32),
        {"strides": (2, 2), "padding": (1, 1, 0, 0)},
    ),
    "dense": ((3, 7), (5, 7), (3, 5), {}),
}


def two(kind: str, after: str, rule: str, side: int) -> Model:
    """A layer and an elementwise operator that reads its output and a further input `y`."""
    shape, weights, out, attributes = LAYERS[kind]
    if rule == "float":
        x, y, t, z = (real(n, s) for n, s in (("x", shape), ("y", out), ("t", out), ("z", out)))
        fixed = (
            constant(real("w", weights), RNG.standard_normal(weights).astype(np.float32)),
            constant(real("b", out[-1:]), RNG.standard_normal(out[-1:]).astype(np.float32)),
        )
    else:
        x, y = quantized("x", shape, 0.04, 7), quantized("y", out, 0.06, -5)
        t, z = quantized("t", out, 0.1, 2), quantized("z", out, 0.09, -3)
        axis = 2 if kind == "depthwise_conv2d" else 0
        scales = [0.001 * (1 + n) for n in range(out[-1])] if kind != "dense" else 0.004
        w = quantized("w", weights, scales, 0)
        w = evolve(w, quantization=evolve(w.quantization, axis=axis if kind != "dense" else None))
        fixed = (
            constant(w, RNG.integers(-127, 128, weights).astype(np.int8)),
            constant(quantized("b", out[-1:], 0.01, 0, "int32"), RNG.integers(-999, 999, out[-1:])),
        )
    first = Operator(
        id="first",
        kind=kind,
        arithmetic=rule,
        inputs=("x",),
        constants=("w", "b"),
        output="t",
        attributes=attributes,
    )
    names = ("t", "y") if side == 0 else ("y", "t")
    second = Operator(id="second", kind=after, arithmetic=rule, inputs=names, constants=(), output="z")
    tensors: dict[str, Tensor] = {tensor.name: tensor for tensor in (x, y, t, z, *fixed)}
    return Model(
        name="two",
        source="made",
        inputs=("x", "y"),
        outputs=("z",),
        tensors=tensors,
        operators=(first, second),
    )


def random(tensor: Tensor) -> Array:
    if tensor.dtype == "float32":
        return RNG.standard_normal(tensor.shape).astype(np.float32)
    return RNG.integers(-128, 128, tensor.shape).astype(np.int8)


CASES = [
    *product(LAYERS, ("add",), ("tflite", "onnx", "float"), (0, 1)),
    *product(("conv2d",), ("sub",), ("tflite", "onnx", "float"), (1,)),
    *product(("conv2d",), ("mul",), ("tflite", "onnx", "float"), (0,)),
]


@pytest.mark.parametrize(("kind", "after", "rule", "side"), CASES)
def test_one_function_for_two(kind: str, after: str, rule: str, side: int, build: Compile) -> None:
    model = two(kind, after, rule, side)
    first, second = model.operators
    assert joinable(first, second, model)
    lowered = lower_pair(first, second, model)
    assert not lowered.scratch
    x, y = random(model.tensors["x"]), random(model.tensors["y"])
    expected = run(model, build, x, y)
    fixed = [array_of(model.tensors[name]) for name in first.constants]
    packed = [array_of(each.tensor(first)) for each in lowered.packed]
    out = np.full_like(expected, 0x55)
    arrays = [x, *fixed, *packed, y, out]
    library = build((lowered.function,))
    call(library, lowered.function.name, *arrays)
    assert out.tobytes() == expected.tobytes()
    assert lowered.function.in_place == ((len(arrays) - 1, len(arrays) - 2),)
    pair = lowered.function.in_place[0]
    assert in_place(library, lowered.function.name, arrays, *pair).tobytes() == expected.tobytes()


def test_what_is_no_pair() -> None:
    model = two("conv2d", "add", "tflite", 0)
    first, second = model.operators
    small = evolve(model.tensors["y"], shape=(6,))
    assert not joinable(second, first, model)
    assert not joinable(first, evolve(second, arithmetic="onnx"), model)
    assert not joinable(first, evolve(second, kind="relu"), model)
    assert not joinable(first, evolve(second, inputs=("t", "t")), model)
    assert not joinable(first, evolve(second, inputs=("t",), constants=("y",)), model)
    assert not joinable(first, second, evolve(model, tensors={**model.tensors, "y": small}))
