"""Maximum pools in float32 in every form that runs here: every bit of their definition."""

import ctypes
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels import real_pool
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.relax.lower.operators import lower_operator
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, one_operator, real

FORMS = {"portable": "-DTA_KERNELS_PORTABLE", "avx2 where the processor has it": "-DTA_KERNELS_AVX2"}
LAYERS: tuple[tuple[tuple[int, ...], int, int, tuple[int, ...], str], ...] = (
    ((1, 7, 6, 3), 3, 1, (1, 1, 1, 1), "none"),
    ((2, 6, 7, 40), 2, 2, (0, 0, 0, 1), "relu"),
    ((1, 5, 5, 77), 5, 1, (2, 2, 2, 2), "relu6"),
    ((1, 9, 4, 32), 3, 2, (0, 1, 1, 0), "none"),
)
"""The shape of an image, the extent of a window, its stride, the padding around, the activation."""


def model_of(
    shape: tuple[int, ...], extent: int, stride: int, around: tuple[int, ...], activation: str
) -> Model:
    places = [(shape[1 + axis] + around[axis] + around[2 + axis] - extent) // stride + 1 for axis in range(2)]
    out = real("out", (shape[0], *places, shape[3]))
    stated: dict[str, Any] = {"kernel": (extent, extent), "strides": (stride, stride), "padding": around}
    return one_operator("max_pool2d", "float", [real("x", shape)], out, (), activation=activation, **stated)


MODELS = [model_of(*each) for each in LAYERS]


def built(functions: Iterable[CFunction], folders: pytest.TempPathFactory, gcc: str, flag: str) -> list[Any]:
    """Functions of C in their order."""
    known, folder = tuple(functions), folders.mktemp("pools")
    headers = dict.fromkeys(f'"{header}"' for each in known for header in each.headers)
    includes = "".join(f"#include {each}\n" for each in ("<math.h>", "<stdint.h>", *headers))
    texts = (each.text.replace("static void", "void", 1) for each in known)
    (folder / "pools.c").write_text(includes + "".join(texts))
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", flag, f"-I{runtime_c()}")
    library = folder / "pools.so"
    subprocess.run((gcc, *flags, str(folder / "pools.c"), "-o", str(library), "-lm"), check=True)
    code = ctypes.CDLL(str(library))
    return [getattr(code, each.name) for each in known]


def answer(function: Any, model: Model, x: Array) -> Array:
    out = np.zeros(model.tensors["out"].shape, np.float32)
    function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    return out


@pytest.mark.parametrize("form", FORMS)
def test_it_is_that_of_the_definition(
    form: str, tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]
) -> None:
    """Of values below all others, too."""
    gcc = needs_tool("gcc")
    kernels = [real_pool.made(model.operators[0], model).function for model in MODELS]
    definitions = [lower_operator(model.operators[0], model).function for model in MODELS]
    pairs = zip(
        MODELS,
        built(kernels, tmp_path_factory, gcc, FORMS[form]),
        built(definitions, tmp_path_factory, gcc, "-O1"),
        strict=True,
    )
    for model, kernel, definition in pairs:
        x = np.random.default_rng(2).normal(1, 4, model.tensors["x"].shape).astype(np.float32)
        x[:, :3] = -np.inf
        assert (answer(kernel, model, x) == answer(definition, model, x)).all()


def test_there_is_a_kernel_on_x86() -> None:
    model = MODELS[0]
    (operator,) = model.operators
    assert pick(operator, None, model, InstructionSet.X86_64).kernel is Driver.REAL_POOL
    assert pick(operator, None, model, InstructionSet.AARCH64).reason == "no kernel for max_pool2d"
    assert pick(operator, None, model, InstructionSet.X86_64, Goal.SIZE).reason == "no kernel for max_pool2d"
