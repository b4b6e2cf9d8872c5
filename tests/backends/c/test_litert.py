"""The C of single operators and of whole models against LiteRT's reference kernels: every bit equal."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.plan.model import Model, Tensor
from tests.backends.c.litert import Reference, blob
from tests.backends.c.one import Array, Chain, Compile, constant, one_operator, quantized, real, run

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

SHAPE = (1, 16, 16, 8)
POOL = {"padding": 0, "strideH": 2, "strideW": 2, "filterHeight": 3, "filterWidth": 3}
WINDOW = {"kernel": (3, 3), "strides": (2, 2), "padding": (0, 0, 1, 1)}


def activation(name: str, seed: int, shape: tuple[int, ...] = SHAPE, factor: float = 1.0) -> Tensor:
    """An int8 tensor with a random scale and zero point."""
    rng = np.random.default_rng([seed, *name.encode()])
    return quantized(name, shape, float(rng.uniform(0.01, 0.1)) * factor, int(rng.integers(-50, 50)))


def like(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """An output on the grid of a tensor."""
    assert tensor.quantization is not None
    return quantized("out", shape, tensor.quantization.scale[0], tensor.quantization.zero_point[0])


def case(name: str, seed: int) -> tuple[Model, tuple[Any, ...]]:
    """A model of one operator, and its builtin name, version, options and further operand."""
    a, b, out = (activation(key, seed) for key in ("a", "b", "out"))
    plain: dict[str, tuple[Model, tuple[Any, ...]]] = {
        "add": (one_operator("add", "tflite", [a, b], out), ("ADD", 2, ("AddOptions", {}), None)),
        "sub": (one_operator("sub", "tflite", [a, b], out), ("SUB", 2, ("SubOptions", {}), None)),
        "mul": (
            one_operator("mul", "tflite", [a, b], activation("out", seed, factor=3)),
            ("MUL", 2, ("MulOptions", {}), None),
        ),
        "relu": (one_operator("relu", "tflite", [a], out, activation_min=zero(out)), ("RELU", 2, None, None)),
        "requantize": (
            one_operator("requantize", "tflite", [a], out),
            ("QUANTIZE", 2, ("QuantizeOptions", {}), None),
        ),
        "quantize": (
            one_operator("quantize", "tflite", [real("a", SHAPE)], out),
            ("QUANTIZE", 1, ("QuantizeOptions", {}), None),
        ),
        "dequantize": (
            one_operator("dequantize", "tflite", [a], real("out", SHAPE)),
            ("DEQUANTIZE", 2, ("DequantizeOptions", {}), None),
        ),
        "max_pool2d": (
            one_operator("max_pool2d", "tflite", [a], like(a, (1, 8, 8, 8)), **WINDOW),
            ("MAX_POOL_2D", 2, ("Pool2DOptions", POOL), None),
        ),
        "avg_pool2d": (
            one_operator("avg_pool2d", "tflite", [a], like(a, (1, 8, 8, 8)), **WINDOW),
            ("AVERAGE_POOL_2D", 2, ("Pool2DOptions", POOL), None),
        ),
        "mean": (
            one_operator(
                "avg_pool2d",
                "tflite",
                [a],
                activation("out", seed, (1, 1, 1, 8)),
                kernel=(16, 16),
                count_in_multiplier=True,
            ),
            ("MEAN", 2, ("ReducerOptions", {"keepDims": True}), np.array([1, 2], np.int32)),
        ),
        "softmax": (
            one_operator(
                "softmax",
                "tflite",
                [activation("a", seed, (1024, 10))],
                quantized("out", (1024, 10), 1 / 256, -128),
            ),
            ("SOFTMAX", 2, ("SoftmaxOptions", {"beta": 1.0}), None),
        ),
    }
    return plain[name]


def zero(tensor: Tensor) -> int:
    assert tensor.quantization is not None
    return tensor.quantization.zero_point[0]


def random_input(tensor: Tensor, rng: np.random.Generator) -> Array:
    if tensor.dtype == "float32":
        return rng.normal(0, 3, tensor.shape).astype(np.float32)
    return rng.integers(-128, 128, tensor.shape).astype(np.int8)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "name",
    [
        *("add", "sub", "mul", "relu", "requantize", "quantize", "dequantize"),
        *("max_pool2d", "avg_pool2d", "mean", "softmax"),
    ],
)
def test_operator_is_bit_equal(name: str, seed: int, build: Compile) -> None:
    model, file = case(name, seed)
    rng = np.random.default_rng(seed)
    inputs = [random_input(model.tensors[key], rng) for key in model.inputs]
    np.testing.assert_array_equal(run(model, build, *inputs), Reference(blob(model, *file))(*inputs))


@pytest.mark.parametrize("scales", [[0.004], [float(value) for value in np.geomspace(1e-3, 2e-2, 24)]])
def test_dense_is_bit_equal(scales: list[float], build: Compile) -> None:
    """LiteRT rounds fully connected layers once; with two roundings about one output in 500 differs."""
    rng = np.random.default_rng(len(scales))
    x = quantized("x", (400, 64), 0.03, 11)
    weights = constant(quantized("w", (24, 64), scales, 0), rng.integers(-127, 128, (24, 64)))
    bias_scales = [float(np.float32(scale) * np.float32(0.03)) for scale in scales]
    bias = constant(quantized("b", (24,), bias_scales, 0, "int32"), rng.integers(-3000, 3000, 24))
    model = one_operator(
        "dense", "tflite", [x], quantized("out", (400, 24), 0.2, -4), (weights, bias), in_features=64
    )
    file = blob(model, "FULLY_CONNECTED", 4 if len(scales) == 1 else 12, ("FullyConnectedOptions", {}), None)
    values = rng.integers(-128, 128, (400, 64)).astype(np.int8)
    np.testing.assert_array_equal(run(model, build, values), Reference(file)(values))


@pytest.mark.parametrize("name", ["kws_int8", "ad01_int8", "ic_resnet_int8", "vww_96_int8", "ic_resnet_fp32"])
def test_model_is_equal(name: str, shared: Path, build: Compile) -> None:
    from target_arch.relax.importer import import_model

    path = shared / "models" / f"{name}.tflite"
    model, _ = import_model(path)
    reference = Reference(path.read_bytes())
    rng = np.random.default_rng(7)
    tensor = model.tensors[model.inputs[0]]
    runner = Chain(model, build)
    for _ in range(50):
        x = random_input(tensor, rng)
        ours, theirs = runner(x), reference(x)
        if tensor.dtype == "int8":
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, atol=1e-4)
