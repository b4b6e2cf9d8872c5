"""Rows that become columns, of float32 and of bytes, in every form that runs here."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.kernels import transposes
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.plan.goal import Goal
from target_arch.plan.model import Model
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import one_operator, quantized, real

FORMS = {"portable": "-DTA_KERNELS_PORTABLE", "sse2 where the processor has it": "-DTA_KERNELS_SSE2"}
TURNED = (
    ((2, 9, 5, 7), (0, 2, 3, 1), "float32"),
    ((1, 16, 24, 1), (0, 3, 2, 1), "float32"),
    ((3, 6, 5, 17), (0, 3, 1, 2), "int8"),
    ((8, 40), (1, 0), "uint8"),
    ((4, 3, 11), (2, 0, 1), "float32"),
    ((33, 1, 2, 31), (2, 3, 1, 0), "int8"),
)
"""A shape, its dimensions in their new order, and the type of elements."""


def model_of(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> Model:
    after = tuple(shape[axis] for axis in axes)
    if dtype == "float32":
        x, out = real("x", shape), real("out", after)
    else:
        x, out = quantized("x", shape, 0.5, 3, dtype), quantized("out", after, 0.5, 3, dtype)
    return one_operator("transpose", "float" if dtype == "float32" else "onnx", [x], out, axes=axes)


@pytest.mark.parametrize("form", FORMS)
def test_elements_are_where_they_belong(form: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    models = [model_of(*each) for each in TURNED]
    kernels = [transposes.made(model.operators[0], model).function for model in models]
    (headers,) = {kernel.headers for kernel in kernels}
    texts = "".join(kernel.text.replace("static void", "void", 1) for kernel in kernels)
    (tmp_path / "all.c").write_text("".join(f'#include "{each}"\n' for each in headers) + texts)
    flags = (
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Werror",
        "-O2",
        "-shared",
        "-fPIC",
        FORMS[form],
    )
    command = (
        needs_tool("gcc"),
        *flags,
        f"-I{runtime_c()}",
        str(tmp_path / "all.c"),
        "-o",
        str(tmp_path / "all.so"),
    )
    subprocess.run(command, check=True)
    code = ctypes.CDLL(str(tmp_path / "all.so"))
    for kernel, (shape, axes, dtype) in zip(kernels, TURNED, strict=True):
        x = np.random.default_rng(1).integers(0, 128, shape).astype(dtype)
        wanted = np.ascontiguousarray(x.transpose(axes))
        out = np.zeros_like(wanted)
        getattr(code, kernel.name)(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    ("shape", "axes", "reason"),
    [
        ((1, 3, 16, 16), (0, 2, 3, 1), "rows or columns of fewer than 8 elements"),
        ((2, 9, 10, 11), (0, 2, 1, 3), "no rows that become columns"),
        ((9, 10, 11), (2, 1, 0), "no rows that become columns"),
        ((2, 9, 1, 8), (0, 2, 1, 3), "no rows that become columns"),
    ],
)
def test_others_are_their_definition(shape: tuple[int, ...], axes: tuple[int, ...], reason: str) -> None:
    model = model_of(shape, axes, "float32")
    assert transposes.refusal(model.operators[0], model) == reason


def test_there_is_a_kernel_on_x86() -> None:
    model = model_of(*TURNED[0])
    (operator,) = model.operators
    assert pick(operator, None, model, InstructionSet.X86_64).kernel is Driver.TRANSPOSE
    assert pick(operator, None, model, InstructionSet.AARCH64).reason == "no kernel for transpose"
    assert pick(operator, None, model, InstructionSet.X86_64, Goal.SIZE).reason == "no kernel for transpose"
    wide = {**model.tensors, "x": evolve(model.tensors["x"], dtype="int64")}
    assert transposes.refusal(operator, evolve(model, tensors=wide)) == "`x` is int64"
