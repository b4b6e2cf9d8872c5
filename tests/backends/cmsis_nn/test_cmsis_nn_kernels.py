"""A call of the library computes what plain C computes, whatever the geometry, and asks for what it needs."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.cmsis_nn.calls import geometry, library_call
from target_arch.backends.cmsis_nn.folder import folder_at
from target_arch.backends.cmsis_nn.host import FUNCTIONS, host_library
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Attribute, Model
from tests.backends.c.one import Array, Compile, array_of, call, constant, one_operator, quantized, run

RANDOM = np.random.default_rng(7)


def weighted(
    kind: str, x: tuple[int, ...], w: tuple[int, ...], out: tuple[int, ...], **more: Attribute
) -> Model:
    """A convolution or dense layer with random weights, a scale per channel where the kind has them."""
    channels = out[-1]
    scales = [0.004 + 0.001 * k for k in range(channels)] if kind != "dense" else 0.005
    weights = quantized("w", w, scales, 0)
    biases = quantized("b", (channels,), 1.0, 0, "int32")
    return one_operator(
        kind,
        "tflite",
        [quantized("x", x, 0.05, -7)],
        quantized("out", out, 0.06, 3),
        (
            constant(weights, RANDOM.integers(-127, 128, w)),
            constant(biases, RANDOM.integers(-3000, 3000, (channels,))),
        ),
        **more,
    )


def pool(kind: str, x: tuple[int, ...], out: tuple[int, ...], **more: Attribute) -> Model:
    return one_operator(
        kind, "tflite", [quantized("x", x, 0.05, -7)], quantized("out", out, 0.05, -7), **more
    )


MODELS = {
    "conv2d": weighted(
        "conv2d", (1, 7, 9, 3), (5, 3, 2, 3), (1, 4, 5, 5), strides=(2, 2), padding=(1, 0, 1, 1)
    ),
    "conv2d of a batch": weighted("conv2d", (2, 4, 4, 3), (6, 1, 1, 3), (2, 4, 4, 6)),
    "conv2d, dilated and clamped": weighted(
        "conv2d", (1, 8, 7, 2), (4, 3, 3, 2), (1, 4, 3, 4), dilation=(2, 2), activation_min=3,
        activation_max=90,
    ),
    "depthwise": weighted(
        "depthwise_conv2d", (1, 6, 5, 4), (3, 3, 4), (1, 3, 5, 4), strides=(2, 1), padding=(0, 1, 1, 1),
        depth_multiplier=1,
    ),
    "depthwise with multiplier": weighted(
        "depthwise_conv2d", (1, 5, 5, 3), (2, 3, 6), (1, 4, 3, 6), depth_multiplier=2
    ),
    "dense": weighted("dense", (3, 40), (10, 40), (3, 10), in_features=40),
    "average": pool(
        "avg_pool2d", (1, 5, 6, 3), (1, 3, 4, 3), kernel=(3, 2), strides=(2, 2), padding=(1, 1, 1, 1)
    ),
    "maximum": pool(
        "max_pool2d", (2, 5, 6, 3), (2, 3, 3, 3), kernel=(2, 3), strides=(2, 2), padding=(0, 0, 1, 1)
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All functions with the library, UBSan in it: the C as it stands in a bundle."""
    library = host_library("")
    calls = [library_call(model.operators[0], model, library, "plain") for model in MODELS.values()]
    return compiled(tuple(each.function for each in calls), tmp_path_factory.mktemp("library"))


def compiled(functions: tuple[CFunction, ...], folder: Path) -> ctypes.CDLL:
    found = folder_at("")
    sources = [str(found.path / source) for source in found.needed(FUNCTIONS.values())]
    text = "#include <stddef.h>\n#include <stdint.h>\n#include <arm_nnfunctions.h>\n"
    (folder / "calls.c").write_text(text + "\n".join(function.text for function in functions))
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-I", str(found.path / found.include)]
    output = folder / "calls.so"
    subprocess.run(["gcc", *flags, "-o", str(output), str(folder / "calls.c"), *sources], check=True)
    return ctypes.CDLL(str(output))


@pytest.mark.parametrize("name", list(MODELS))
def test_a_call_computes_what_plain_c_computes(made: ctypes.CDLL, build: Compile, name: str) -> None:
    model = MODELS[name]
    operator = model.operators[0]
    lowered = library_call(operator, model, host_library(""), "plain")
    x: Array = RANDOM.integers(-128, 128, model.tensors["x"].shape).astype(np.int8)
    out = np.full(model.tensors["out"].shape, 0x55, np.int8)
    scratch = np.full(lowered.scratch + 16, 0x5A, np.uint8)
    constants = [array_of(model.tensors[each]) for each in operator.constants]
    packed = [array_of(tensor) for tensor in lowered.packed]
    call(made, lowered.function.name, x, *constants, *packed, out, *([scratch] if lowered.scratch else []))
    assert np.array_equal(out, run(model, build, x))
    assert (scratch[lowered.scratch :] == 0x5A).all(), "the call left its scratch"


def test_scratch_is_what_the_library_says() -> None:
    sizes = {
        name: library_call(model.operators[0], model, host_library(""), "mve").scratch
        for name, model in MODELS.items()
    }
    assert sizes == {
        "conv2d": 3 * 2 * 3 * 2,
        "conv2d of a batch": 3 * 2,
        "conv2d, dilated and clamped": 3 * 3 * 2 * 2,
        "depthwise": 4 * 4,
        "depthwise with multiplier": 6 * 4,
        "dense": 0,
        "average": 3 * 4,
        "maximum": 0,
    }


def test_sums_of_weights_are_a_constant() -> None:
    model = MODELS["dense"]
    (sums,) = library_call(model.operators[0], model, host_library(""), "plain").packed
    weights, bias = (array_of(model.tensors[name]).astype(np.int64) for name in model.operators[0].constants)
    assert sums.name == "op.kernel_sum"
    assert np.array_equal(array_of(sums), weights.sum(axis=1) * 7 + bias)


def test_geometry_has_width_before_height() -> None:
    found = geometry(MODELS["depthwise"].operators[0], MODELS["depthwise"])
    assert (found.stride, found.padding, found.dilation) == ((1, 2), (1, 0), (1, 1))
    assert (found.input, found.filter, found.output) == ((1, 6, 5, 4), (1, 3, 3, 4), (1, 3, 5, 4))


def test_only_the_files_that_are_needed_go_along() -> None:
    assert folder_at("").needed(["arm_max_pool_s8"]) == ("source/arm_max_pool_s8.c",)
    library = folder_at("").library(["arm_avgpool_s8"], carried=True)
    assert library.sources == ("source/arm_avgpool_s8.c",)
    assert sorted(library.texts) == [
        "include/arm_nn_types.h",
        "include/arm_nnfunctions.h",
        "include/requantize.h",
        "source/arm_avgpool_s8.c",
    ]


def test_the_c_of_a_call(golden: object) -> None:
    assert callable(golden)
    model = MODELS["conv2d"]
    golden("conv2d.c", library_call(model.operators[0], model, host_library(""), "plain").function.text)
