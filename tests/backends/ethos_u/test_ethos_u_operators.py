"""Every kind of operator: LiteRT computes of the written file what our C computes of the plan.

Then Vela takes it, as `supports` says, and touches nothing but what it is given.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.ethos_u import backend, vela
from target_arch.backends.ethos_u.graph import graph_of
from target_arch.backends.ethos_u.tflite_file import tflite_bytes
from target_arch.plan.model import Attribute, Model, Quantization, Tensor
from target_arch.plan.operators.facts import COUNT_IN_MULTIPLIER
from tests.backends.c.litert import Reference
from tests.backends.c.one import Array, Compile, compiler, run
from tests.backends.ethos_u.chains import question, request, single, weighted
from tests.backends.wide_products import special

MAP = (1, 8, 8, 16)
SUMMED = {COUNT_IN_MULTIPLIER: True}


def window(kernel: int, stride: int, around: int) -> dict[str, object]:
    return {"kernel": (kernel, kernel), "strides": (stride, stride), "padding": (around,) * 4}


def convolution(stride: int, around: tuple[int, int, int, int], dilation: int = 1) -> dict[str, Attribute]:
    return {"strides": (stride, stride), "dilation": (dilation, dilation), "padding": around}


PLANE = (0, 0, 0, 0)
AROUND = (1, 1, 1, 1)
AFTER = (0, 0, 1, 1)

SINGLES: dict[str, Model] = {
    "reshape": single("reshape", {"x": MAP}, (1, 1024), {}),
    "mul": single("mul", {"a": MAP, "b": MAP}, MAP, {}),
    "sub": single("sub", {"a": MAP, "b": MAP}, MAP, {}),
    "add of vectors": single("add", {"a": (1, 64), "b": (1, 64)}, (1, 64), {}),
    "add of a repeated map": single("add", {"a": MAP, "b": (1, 1, 1, 16)}, MAP, {}),
    "add of a constant": single("add", {"a": MAP}, MAP, {}, {"k": (16,)}),
    "average, padded": single("avg_pool2d", {"x": MAP}, MAP, window(3, 1, 1)),
    "average of everything": single("avg_pool2d", {"x": MAP}, (1, 1, 1, 16), window(8, 8, 0)),
    "maximum, padded": single("max_pool2d", {"x": MAP}, MAP, window(3, 1, 1)),
    "softmax": single("softmax", {"x": (7, 20)}, (7, 20), {"axis": -1, "beta": 1.0}),
    "conv2d, dilated": weighted(
        "conv2d",
        ((1, 16, 16, 4), (8, 3, 3, 4), (1, 12, 12, 8)),
        convolution(1, (0, 0, 0, 0), 2),
    ),
    "conv2d, strided": weighted(
        "conv2d",
        ((1, 16, 16, 4), (8, 3, 3, 4), (1, 8, 8, 8)),
        convolution(2, (0, 0, 1, 1)),
    ),
    "depthwise of one channel": weighted(
        "depthwise_conv2d",
        ((1, 12, 12, 1), (3, 3, 6), (1, 12, 12, 6)),
        {**convolution(1, (1, 1, 1, 1)), "depth_multiplier": 6},
    ),
    "conv2d, padded on every side at a stride of two": weighted(
        "conv2d", ((1, 16, 16, 4), (8, 3, 3, 4), (1, 8, 8, 8)), convolution(2, AROUND)
    ),
    "depthwise, padded on every side at a stride of two": weighted(
        "depthwise_conv2d",
        ((1, 16, 16, 4), (3, 3, 4), (1, 8, 8, 4)),
        {**convolution(2, AROUND), "depth_multiplier": 1},
    ),
    "transposed, everything kept": weighted(
        "conv2d_transpose", ((1, 8, 8, 4), (6, 3, 3, 4), (1, 17, 17, 6)), convolution(2, PLANE)
    ),
    "transposed, SAME": weighted(
        "conv2d_transpose", ((1, 8, 8, 4), (6, 3, 3, 4), (1, 16, 16, 6)), convolution(2, AFTER)
    ),
    "mean of everything": single("avg_pool2d", {"x": MAP}, (1, 1, 1, 16), {**window(8, 8, 0), **SUMMED}),
    "mean of columns": single(
        "avg_pool2d",
        {"x": MAP},
        (1, 1, 8, 16),
        {**window(8, 8, 0), **SUMMED, "kernel": (8, 1), "strides": (8, 1)},
    ),
    "slice": single("slice", {"x": MAP}, (1, 4, 8, 8), {"begin": (0, 2, 0, 4), "step": (1, 1, 1, 1)}),
    "transpose of a map": single("transpose", {"x": (1, 4, 8, 16)}, (1, 8, 4, 16), {"axes": (0, 2, 1, 3)}),
    "transpose of a matrix": single("transpose", {"x": (5, 12)}, (12, 5), {"axes": (1, 0)}),
    "dense of rows": weighted("dense", ((5, 32), (8, 32), (5, 8)), {"in_features": 32}),
    "dense of a map": weighted("dense", ((1, 5, 5, 32), (8, 32), (1, 5, 5, 8)), {"in_features": 32}),
}


WIDER = ("groups", "groups of one pixel", "int16", "int16 groups")
SINGLES |= {form: special(form) for form in WIDER}

CONCATS: dict[str, Model] = {
    "concat of channels": single("concat", {"a": MAP, "b": MAP}, (1, 8, 8, 32), {"axis": 3}),
    "concat of rows": single("concat", {"a": MAP, "b": (1, 3, 8, 16)}, (1, 11, 8, 16), {"axis": 1}),
}
"""They have no function of their own in C."""


def unsigned(model: Model, weight_zero: int) -> Model:
    """The model with values of uint8, as the plan has models of TFLite from before int8: weights are int8."""
    grids = {name: tensor.quantization for name, tensor in model.tensors.items()}
    (operator,) = model.operators
    tensors = dict(model.tensors)
    for name in (operator.inputs[0], operator.constants[0], operator.output):
        grid = grids[name]
        assert grid is not None
        zero = weight_zero if name in operator.constants else grid.zero_point[0] + 128
        one = Quantization(scale=grid.scale[:1], zero_point=(zero,))
        dtype = "int8" if name in operator.constants else "uint8"
        tensors[name] = evolve(tensors[name], dtype=dtype, quantization=one)
    attributes = {key: value for key, value in operator.attributes.items() if "activation" not in key}
    return evolve(model, tensors=tensors, operators=(evolve(operator, attributes=attributes),))


UNSIGNED: dict[str, Model] = {
    f"{name} of uint8": unsigned(SINGLES[name], -8)
    for name in ("conv2d, strided", "depthwise of one channel", "dense of rows")
}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    folder: Path = tmp_path_factory.mktemp("kernels")
    return compiler(folder, needs_tool("gcc"), needs_tool("clang"))


def drawn(tensor: Tensor, chance: np.random.Generator) -> Array:
    limits = np.iinfo(tensor.dtype)
    return chance.integers(limits.min, limits.max, tensor.shape, tensor.dtype, endpoint=True)


@pytest.mark.parametrize("name", {**SINGLES, **UNSIGNED})
def test_litert_computes_of_the_file_what_c_computes_of_the_plan(name: str, build: Compile) -> None:
    model = {**SINGLES, **UNSIGNED}[name]
    chance = np.random.default_rng(3)
    frames = [drawn(model.tensors[each], chance) for each in model.inputs]
    theirs = Reference(tflite_bytes(graph_of(model.operators, model)))(*frames)
    np.testing.assert_array_equal(theirs.ravel(), run(model, build, *frames).ravel())


@pytest.mark.parametrize("name", CONCATS)
def test_litert_puts_tensors_behind_each_other(name: str) -> None:
    model = CONCATS[name]
    chance = np.random.default_rng(3)
    frames = [drawn(model.tensors[each], chance) for each in model.inputs]
    (axis,) = (int(each.attributes["axis"]) for each in model.operators)  # type: ignore[arg-type]
    theirs = Reference(tflite_bytes(graph_of(model.operators, model)))(*frames)
    np.testing.assert_array_equal(theirs, np.concatenate(frames, axis))


@pytest.mark.slow
@pytest.mark.skipif(not vela.installed(), reason='needs Vela: pip install "target-arch[ethos-u]"')
@pytest.mark.parametrize("name", {**SINGLES, **CONCATS, **UNSIGNED})
def test_vela_takes_what_supports_takes(name: str) -> None:
    model = {**SINGLES, **CONCATS, **UNSIGNED}[name]
    (operator,) = model.operators
    assert backend.supports(question(model, operator.id)) is None
    assert backend.lower is not None
    kernel = backend.lower(request(model, (operator.id,), 64 * 1024))
    assert kernel.buffers[0].bytes <= 64 * 1024
