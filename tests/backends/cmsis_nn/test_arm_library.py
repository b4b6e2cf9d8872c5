"""What Arm's own library has and the example has not: operators of int16 values, and products of two
activations. Every bit is as plain C computes it.
"""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.cmsis_nn import backend
from target_arch.backends.cmsis_nn.calls import library_call
from target_arch.backends.cmsis_nn.folder import folder_at
from target_arch.backends.cmsis_nn.host import MATRICES, WIDE_FUNCTIONS, host_library
from target_arch.backends.cmsis_nn.matrices import matrices_call
from target_arch.backends.cmsis_nn.support import largest_sums, library_refusal
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Attribute, Model
from tests.backends.c.one import Array, Compile, array_of, call, constant, one_operator, quantized, run
from tests.backends.engines import bench

RANDOM = np.random.default_rng(16)


def wide(kind: str, x: tuple[int, ...], w: tuple[int, ...], out: tuple[int, ...], **more: Attribute) -> Model:
    """A sum of products of int16 values with int8 weights, int64 biases, and a scale per channel where the
    kind has them.
    """
    channels = out[-1]
    scales = 0.5 if kind == "dense" else [0.004 + 0.001 * k for k in range(channels)]
    return one_operator(
        kind,
        "tflite",
        [quantized("x", x, 2.0**-9, 0, "int16")],
        quantized("out", out, 2.0**-2 if kind == "dense" else 2.0**-8, 0, "int16"),
        (
            constant(quantized("w", w, scales, 0), RANDOM.integers(-60, 61, w)),
            constant(
                quantized("b", (channels,), 1.0, 0, "int64"), RANDOM.integers(-(2**22), 2**22, (channels,))
            ),
        ),
        **more,
    )


def pool(kind: str, x: tuple[int, ...], out: tuple[int, ...], **more: Attribute) -> Model:
    return one_operator(
        kind, "tflite", [quantized("x", x, 0.05, 0, "int16")], quantized("out", out, 0.05, 0, "int16"), **more
    )


MODELS = {
    "conv2d": wide("conv2d", (1, 7, 9, 3), (5, 3, 2, 3), (1, 4, 5, 5), strides=(2, 2), padding=(1, 0, 1, 1)),
    "conv2d of a batch": wide("conv2d", (2, 4, 4, 3), (6, 1, 1, 3), (2, 4, 4, 6)),
    "conv2d, dilated and clamped": wide(
        "conv2d", (1, 8, 7, 2), (4, 3, 3, 2), (1, 4, 3, 4), dilation=(2, 2), activation_min=3,
        activation_max=9000,
    ),
    "depthwise": wide(
        "depthwise_conv2d", (1, 6, 5, 5), (3, 3, 5), (1, 3, 5, 5), strides=(2, 1), padding=(0, 1, 1, 1),
        depth_multiplier=1,
    ),
    "depthwise, dilated": wide(
        "depthwise_conv2d", (2, 7, 6, 3), (2, 2, 3), (2, 5, 4, 3), dilation=(2, 2), depth_multiplier=1
    ),
    "depthwise with two outputs": wide(
        "depthwise_conv2d", (2, 5, 5, 3), (2, 3, 6), (2, 4, 3, 6), depth_multiplier=2
    ),
    "depthwise with four outputs": wide(
        "depthwise_conv2d", (1, 5, 5, 3), (2, 3, 12), (1, 4, 3, 12), depth_multiplier=4
    ),
    "dense": wide("dense", (3, 40), (10, 40), (3, 10), in_features=40),
    "average": pool(
        "avg_pool2d", (1, 5, 6, 3), (1, 3, 4, 3), kernel=(3, 2), strides=(2, 2), padding=(1, 1, 1, 1)
    ),
    "maximum": pool(
        "max_pool2d", (2, 5, 6, 3), (2, 3, 3, 3), kernel=(2, 3), strides=(2, 2), padding=(0, 0, 1, 1)
    ),
}  # fmt: skip


def product(a: tuple[int, ...], b: tuple[int, ...], zeros: tuple[int, int, int]) -> Model:
    """A product of two activations of int8."""
    operands = [quantized("a", a, 0.05, zeros[0]), quantized("b", b, 0.02, zeros[1])]
    out = quantized("out", (*a[:-1], b[-1]), 0.04 * a[-1] ** 0.5, zeros[2])
    return one_operator("matmul", "tflite", operands, out, macs_per_output=a[-1])


PRODUCTS = {
    "matrices": product((2, 3, 7, 9), (2, 3, 9, 33), (-5, 7, 3)),
    "one for all": product((2, 6, 16), (16, 5), (0, -128, -20)),
    "rows of one": product((1, 1, 5), (1, 5, 1), (127, 127, 0)),
}
"""Models of products by name."""


@pytest.fixture(scope="module")
def arm(shared: Path) -> str:
    """The folder of Arm's library."""
    folder = shared / "third_party" / "CMSIS-NN"
    if not folder.is_dir():
        pytest.skip("needs Arm's library: ../shared/third_party/CMSIS-NN")
    return str(folder)


@pytest.fixture(scope="module")
def loaded(arm: str, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All functions with the library."""
    library = host_library(arm)
    calls = [library_call(model.operators[0], model, library, "plain") for model in MODELS.values()]
    calls += [matrices_call(model.operators[0], model, library, "mve") for model in PRODUCTS.values()]
    return compiled(arm, tuple(each.function for each in calls), tmp_path_factory.mktemp("library"))


def compiled(arm: str, functions: tuple[CFunction, ...], folder: Path) -> ctypes.CDLL:
    """The functions, compiled as in a bundle: warnings are errors there, and not in the library."""
    library = folder_at(arm)
    sources = [str(library.path / source) for source in library.needed((*WIDE_FUNCTIONS.values(), MATRICES))]
    include, calls = str(library.path / library.include), folder / "calls.c"
    text = "#include <stddef.h>\n#include <stdint.h>\n#include <arm_nnfunctions.h>\n"
    calls.write_text(text + "\n".join(function.text for function in functions))
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-isystem", include]
    subprocess.run(
        ["gcc", *strict, "-O2", "-fPIC", "-c", "-o", str(folder / "calls.o"), str(calls)], check=True
    )
    output = folder / "calls.so"
    lenient = ["-std=gnu99", "-w", "-O2", "-fPIC", "-shared", "-I", include]
    subprocess.run(["gcc", *lenient, "-o", str(output), str(folder / "calls.o"), *sources], check=True)
    return ctypes.CDLL(str(output))


def reason(model: Model, arm: str) -> str | None:
    instance = bench("cmsis_nn", {"ram": 1024}, options={"library": arm}).instance
    return library_refusal(model.operators[0], model, instance, backend)


@pytest.mark.parametrize("name", list(MODELS))
def test_a_call_computes_what_plain_c_computes(
    loaded: ctypes.CDLL, arm: str, build: Compile, name: str
) -> None:
    model = MODELS[name]
    operator = model.operators[0]
    assert reason(model, arm) is None
    lowered = library_call(operator, model, host_library(arm), "plain")
    x: Array = RANDOM.integers(-32768, 32768, model.tensors["x"].shape).astype(np.int16)
    out = np.full(model.tensors["out"].shape, 0x55, np.int16)
    scratch = np.full(lowered.scratch + 16, 0x5A, np.uint8)
    constants = [array_of(model.tensors[each]) for each in operator.constants]
    packed = [array_of(tensor) for tensor in lowered.packed]
    more = [scratch] if lowered.scratch else []
    call(loaded, lowered.function.name, x, *constants, *packed, out, *more)
    assert np.array_equal(out, run(model, build, x))
    assert len(np.unique(out)) > 9
    assert (scratch[lowered.scratch :] == 0x5A).all(), "the call left its scratch"


def test_what_the_library_computes_otherwise_is_refused(arm: str) -> None:
    dense = MODELS["dense"]
    uneven = evolve(dense, tensors={**dense.tensors, "out": quantized("out", (3, 10), 0.06, 0, "int16")})
    several = wide("depthwise_conv2d", (2, 5, 5, 3), (2, 3, 12), (2, 4, 3, 12), depth_multiplier=4)
    heavy = evolve(
        dense, tensors={**dense.tensors, "w": constant(dense.tensors["w"], np.full((10, 40), 127))}
    )
    long = wide("dense", (1, 4000), (1, 4000), (1, 1), in_features=4000)
    far = evolve(dense, tensors={**dense.tensors, "b": constant(dense.tensors["b"], np.full(10, 2**45))})
    assert reason(uneven, arm) == "the library scales with 16 bits of the multiplier, TFLite with 31"
    assert reason(several, arm) == "several images with 4 outputs of a channel, the library computes one"
    assert reason(heavy, arm) is None
    assert largest_sums(heavy.operators[0], heavy) == (40 * 127 * 32768,) * 10
    assert reason(long, arm) == "sums of products may be beyond 32 bits, in which the library adds them"
    assert reason(far, arm) == "results may be beyond 32 bits, in which the library rounds them"


def test_a_library_without_them_is_not_asked() -> None:
    assert reason(MODELS["conv2d"], "") == "the library has no functions of int16"
    assert reason(PRODUCTS["matrices"], "") == "the library has no matmul"


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_a_product_of_activations(loaded: ctypes.CDLL, arm: str, build: Compile, name: str) -> None:
    model = PRODUCTS[name]
    assert reason(model, arm) is None
    lowered = matrices_call(model.operators[0], model, host_library(arm), "mve")
    a, b = (RANDOM.integers(-128, 128, model.tensors[each].shape).astype(np.int8) for each in model.inputs)
    out = np.full(model.tensors["out"].shape, 0x55, np.int8)
    scratch = np.full(lowered.scratch + 16, 0x5A, np.uint8)
    call(loaded, lowered.function.name, a, b, out, scratch)
    assert np.array_equal(out, run(model, build, a, b))
    assert (scratch[lowered.scratch :] == 0x5A).all(), "the call left its scratch"
    assert lowered.scratch == b.shape[-1] * (b.shape[-2] + 4)


def test_matrices_that_are_repeated_are_refused(arm: str) -> None:
    repeated = product((2, 3, 7, 9), (1, 3, 9, 4), (0, 0, 0))
    assert reason(repeated, arm) == "a matrix that is repeated, or a vector"
