"""Every kind of operator: LiteRT computes of the written file what our C computes of the plan.

Then Vela takes it, as `supports` says, and touches nothing but what it is given.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.ethos_u import backend, vela
from target_arch.backends.ethos_u.graph import graph_of
from target_arch.backends.ethos_u.tflite_file import tflite_bytes
from target_arch.plan.model import Model
from tests.backends.c.litert import Reference
from tests.backends.c.one import Compile, compiler, run
from tests.backends.ethos_u.chains import question, request, single, weighted

MAP = (1, 8, 8, 16)


def window(kernel: int, stride: int, around: int) -> dict[str, object]:
    return {"kernel": (kernel, kernel), "strides": (stride, stride), "padding": (around,) * 4}


def convolution(stride: int, around: tuple[int, int, int, int], dilation: int = 1) -> dict[str, object]:
    return {"strides": (stride, stride), "dilation": (dilation, dilation), "padding": around}


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
        convolution(1, (0, 0, 0, 0), 2),  # type: ignore[arg-type]
    ),
    "conv2d, strided": weighted(
        "conv2d",
        ((1, 16, 16, 4), (8, 3, 3, 4), (1, 8, 8, 8)),
        convolution(2, (0, 0, 1, 1)),  # type: ignore[arg-type]
    ),
    "depthwise of one channel": weighted(
        "depthwise_conv2d",
        ((1, 12, 12, 1), (3, 3, 6), (1, 12, 12, 6)),
        {**convolution(1, (1, 1, 1, 1)), "depth_multiplier": 6},  # type: ignore[dict-item]
    ),
    "dense of rows": weighted("dense", ((5, 32), (8, 32), (5, 8)), {"in_features": 32}),
    "dense of a map": weighted("dense", ((1, 5, 5, 32), (8, 32), (1, 5, 5, 8)), {"in_features": 32}),
}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    folder: Path = tmp_path_factory.mktemp("kernels")
    return compiler(folder, needs_tool("gcc"), needs_tool("clang"))


@pytest.mark.parametrize("name", SINGLES)
def test_litert_computes_of_the_file_what_c_computes_of_the_plan(name: str, build: Compile) -> None:
    model = SINGLES[name]
    chance = np.random.default_rng(3)
    frames = [chance.integers(-128, 128, model.tensors[each].shape, np.int8) for each in model.inputs]
    theirs = Reference(tflite_bytes(graph_of(model.operators, model)))(*frames)
    np.testing.assert_array_equal(theirs.ravel(), run(model, build, *frames).ravel())


@pytest.mark.slow
@pytest.mark.skipif(not vela.installed(), reason='needs Vela: pip install "target-arch[ethos-u]"')
@pytest.mark.parametrize("name", SINGLES)
def test_vela_takes_what_supports_takes(name: str) -> None:
    model = SINGLES[name]
    (operator,) = model.operators
    assert backend.supports(question(model, operator.id)) is None
    assert backend.lower is not None
    kernel = backend.lower(request(model, (operator.id,), 64 * 1024))
    assert kernel.buffers[0].bytes <= 64 * 1024
