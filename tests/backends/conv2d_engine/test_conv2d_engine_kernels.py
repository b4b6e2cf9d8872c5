"""Kernels of the conv2d engine, run on its driver and simulator, against a convolution in Python integers."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.conv2d_engine import backend
from target_arch.plan.arithmetic import requantization
from target_arch.plan.kernels import Kernel, Move
from target_arch.plan.model import Model, Operator
from tests.backends.engines import Attributes, Bench, Device, bench, layer, random_bytes

Build = Callable[[str], ctypes.CDLL]

Shape = tuple[int, int, int, int, tuple[int, int], tuple[int, int], tuple[int, int, int, int]]
"""Height, width, channels, out channels, kernel, strides, padding (top, left, bottom, right)."""

SHAPES: tuple[Shape, ...] = (
    (10, 10, 4, 8, (3, 3), (1, 1), (1, 1, 1, 1)),
    (49, 10, 1, 16, (10, 4), (2, 2), (4, 1, 5, 1)),
    (9, 7, 3, 5, (3, 2), (2, 1), (0, 1, 1, 0)),
    (12, 12, 8, 16, (1, 1), (2, 2), (0, 0, 0, 0)),
    (6, 4, 2, 12, (5, 5), (1, 1), (2, 2, 2, 2)),
    (8, 8, 1, 4, (3, 3), (1, 1), (1, 1, 1, 1)),
)


def convolution(
    shape: Shape, arithmetic: str = "tflite", seed: int = 0, name: str = "op0", source: str = "x"
) -> Model:
    """A model of one convolution of such a shape."""
    height, width, channels, out_channels, kernel, strides, padding = shape
    out_height = (height + padding[0] + padding[2] - kernel[0]) // strides[0] + 1
    out_width = (width + padding[1] + padding[3] - kernel[1]) // strides[1] + 1
    shapes = (
        (1, height, width, channels),
        (out_channels, *kernel, channels),
        (1, out_height, out_width, out_channels),
    )
    attributes: Attributes = {"strides": strides, "padding": padding, "dilation": (1, 1)}
    return layer("conv2d", shapes, attributes, arithmetic=arithmetic, seed=seed, name=name, source=source)


def reference(operator: Operator, model: Model, x: bytes) -> bytes:
    """The convolution by exact integers."""
    source, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    weights, bias = (model.tensors[name] for name in operator.constants)
    assert weights.data is not None
    assert bias.data is not None
    scaling = requantization(operator, model)
    values = np.frombuffer(x, np.int8).astype(np.int64).reshape(source.shape[1:]) + scaling.input_offset
    top, left, bottom, right = operator.attributes["padding"]
    values = np.pad(values, ((top, bottom), (left, right), (0, 0)))
    filters = np.frombuffer(weights.data, np.int8).astype(np.int64).reshape(weights.shape)
    strides = operator.attributes["strides"]
    _, height, width, channels = out.shape
    sums = np.zeros((height, width, channels), np.int64) + np.frombuffer(bias.data, np.int32)
    for y in range(height):
        for x_ in range(width):
            window = values[
                y * strides[0] : y * strides[0] + weights.shape[1],
                x_ * strides[1] : x_ * strides[1] + weights.shape[2],
            ]
            sums[y, x_] += np.tensordot(filters, window, axes=3)
    flat = [scaling.apply(int(value), index % channels) for index, value in enumerate(sums.ravel())]
    return np.array(flat, np.int8).tobytes()


def execute(kernel: Kernel, on: Bench, model: Model, library: ctypes.CDLL, x: bytes) -> bytes:
    sizes = {op.output: model.tensors[op.output].bytes for op in model.operators}
    return Device(library, on.soc, on.instance).run(kernel, {"x": x}, sizes)[model.operators[-1].output]


@pytest.mark.parametrize("arithmetic", ["tflite", "onnx"])
@pytest.mark.parametrize("memory", [65536, 4096, 1600])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_tiling_gives_the_exact_result(
    build: Build, shape: Shape, memory: int, arithmetic: str
) -> None:
    model = convolution(shape, arithmetic=arithmetic, seed=memory + len(arithmetic))
    on = bench("conv2d_engine", {"bram": memory})
    assert backend.supports(on.question(model.operators[0], model)) is None
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 7)
    expected = reference(model.operators[0], model, x)
    assert execute(kernel, on, model, build("conv2d_engine"), x) == expected


@pytest.mark.parametrize(
    ("alignment", "dimensions", "max_bytes"), [(1, 1, 100), (16, 2, None), (16, 1, 64), (8, 2, 48)]
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_moves_honour_what_the_copy_paths_demand(
    build: Build, shape: Shape, alignment: int, dimensions: int, max_bytes: int | None
) -> None:
    model = convolution(shape, seed=alignment)
    on = bench(
        "conv2d_engine",
        {"bram": 4096},
        alignment=alignment,
        dimensions=dimensions,
        max_bytes=max_bytes,
    )
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 8)
    expected = reference(model.operators[0], model, x)
    assert execute(kernel, on, model, build("conv2d_engine"), x) == expected


@pytest.mark.parametrize("memory", [65536, 2048])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_move_can_be_left_out(build: Build, shape: Shape, memory: int) -> None:
    model = convolution(shape, seed=1)
    on = bench("conv2d_engine", {"bram": memory})
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 9)
    expected = reference(model.operators[0], model, x)
    for index, action in enumerate(kernel.actions):
        if isinstance(action, Move):
            without = evolve(kernel, actions=kernel.actions[:index] + kernel.actions[index + 1 :])
            try:
                result = execute(without, on, model, build("conv2d_engine"), x)
            except AssertionError:  # stale parameters may be a fault of the device
                continue
            assert result != expected, action


def chain(memory: int) -> tuple[Model, Bench]:
    """Two convolutions, one after the other."""
    first = convolution((16, 16, 4, 8, (3, 3), (1, 1), (1, 1, 1, 1)), seed=1)
    second = convolution((16, 16, 8, 16, (3, 3), (2, 2), (0, 0, 1, 1)), seed=2, name="op1", source="op0.y")
    model = evolve(
        second,
        inputs=("x",),
        operators=first.operators + second.operators,
        tensors={**second.tensors, **first.tensors},
    )
    return model, bench("conv2d_engine", {"bram": memory})


@pytest.mark.parametrize("memory", [65536, 4096, 3200])
def test_operators_of_a_partition_share_the_buffers(build: Build, memory: int) -> None:
    model, on = chain(memory)
    kernel = backend.lower(on.request(model))
    assert sum(-(-buffer.bytes // 16) * 16 for buffer in kernel.buffers) <= memory
    x = random_bytes(model.tensors["x"].bytes, 3)
    middle = reference(model.operators[0], model, x)
    expected = reference(model.operators[1], model, middle)
    assert execute(kernel, on, model, build("conv2d_engine"), x) == expected
