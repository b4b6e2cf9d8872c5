"""Normalization in float32 in every form that runs here, and as it is defined, against double precision."""

import ctypes
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels import real_norms
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.relax.lower.operators import lower_operator
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, constant, one_operator, real

FORMS = {"portable": "-DTA_KERNELS_PORTABLE", "avx2 where the processor has it": "-DTA_KERNELS_AVX2"}
EPSILON = 1e-3
SHAPES = {
    "layer_norm": ((3, 40), (1, 256), (2, 7), (1, 2, 5000)),
    "group_norm": ((1, 6, 5, 7), (2, 6, 4, 8), (1, 6, 100, 103), (3, 6, 1)),
    "batch_norm": ((1, 6, 5, 7), (2, 6, 4, 8), (3, 6)),
}
CASES = [(name, shape) for name, shapes in SHAPES.items() for shape in shapes]
Functions = list[Any]


def layer(name: str, shape: tuple[int, ...]) -> tuple[Model, Array, Array, CFunction]:
    """The model of one operator, its scale, its offset and its kernel; groups have two channels."""
    rng, count = np.random.default_rng(sum(shape)), shape[-1] if name == "layer_norm" else shape[1]
    scale, offset = (rng.normal(0, 1, count).astype(np.float32) for _ in range(2))
    own: dict[str, Any] = {"length": count} if name == "layer_norm" else {"groups": 3}
    stated = {} if name == "batch_norm" else {**own, "epsilon": EPSILON}
    constants = tuple(constant(real(key, (count,)), values) for key, values in (("s", scale), ("o", offset)))
    model = one_operator(
        "normalize", "float", [real("x", shape)], real("out", shape), constants, operator=name, **stated
    )
    assert real_norms.refusal(model.operators[0], model) is None
    return model, scale, offset, real_norms.made(model.operators[0], model).function


LAYERS = [layer(name, shape) for name, shape in CASES]


def exact(name: str, x: Array, scale: Array, offset: Array) -> Array:
    values = x.astype(np.float64)
    if name != "layer_norm":
        scale, offset = (each.reshape(-1, *[1] * (x.ndim - 2)) for each in (scale, offset))
    if name == "batch_norm":
        return np.asarray(values * scale + offset)
    rows = values.reshape((-1, x.shape[-1]) if name == "layer_norm" else (x.shape[0] * 3, -1))
    apart = rows - rows.mean(-1, keepdims=True)
    unit = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + EPSILON)
    return np.asarray(unit.reshape(x.shape) * scale + offset)


@pytest.fixture(scope="module", params=FORMS)
def kernels(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]
) -> Functions:
    return built((each[3] for each in LAYERS), tmp_path_factory, needs_tool("gcc"), FORMS[request.param])


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Functions:
    functions = (lower_operator(model.operators[0], model).function for model, *_ in LAYERS)
    return built(functions, tmp_path_factory, needs_tool("gcc"), "-O1")


def built(functions: Iterable[CFunction], folders: pytest.TempPathFactory, gcc: str, flag: str) -> Functions:
    """Functions of C, which take arrays, in their order."""
    known, folder = tuple(functions), folders.mktemp("norms")
    headers = dict.fromkeys(f'"{header}"' for each in known for header in each.headers)
    includes = "".join(f"#include {each}\n" for each in ("<math.h>", "<stdint.h>", *headers))
    texts = (each.text.replace("static void", "void", 1) for each in known)
    (folder / "norms.c").write_text(includes + "".join(texts))
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", flag, f"-I{runtime_c()}")
    library = folder / "norms.so"
    subprocess.run((gcc, *flags, str(folder / "norms.c"), "-o", str(library), "-lm"), check=True)
    code = ctypes.CDLL(str(library))
    return [getattr(code, each.name) for each in known]


def answer(function: Any, *operands: Array, over: bool = False) -> Array:
    """What a function of these operands gives; `over` the first of them."""
    given = [each.copy() for each in operands]
    out = given[0] if over else np.zeros_like(given[0])
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (*given, out)))
    return out


@pytest.mark.parametrize("mean", [0.0, 1000.0])
def test_it_is_that_of_double_precision(kernels: Functions, mean: float) -> None:
    """Of values far from zero, too, of which the mean of squares less the square of the mean has no digit."""
    near = 2e-6 if mean == 0.0 else 1e-3
    for (name, shape), (_, scale, offset, _), function in zip(CASES, LAYERS, kernels, strict=True):
        x = np.random.default_rng(5).normal(mean, 1.0, shape).astype(np.float32)
        for over in (False, True):
            found, wanted = answer(function, x, scale, offset, over=over), exact(name, x, scale, offset)
            np.testing.assert_allclose(found, wanted, rtol=near, atol=2 * near, err_msg=f"{name} {shape}")


def test_the_definition_is_that_of_double_precision(definitions: Functions) -> None:
    for (name, shape), (_, scale, offset, _), function in zip(CASES, LAYERS, definitions, strict=True):
        x = np.random.default_rng(6).normal(0.5, 2.0, shape).astype(np.float32)
        found, wanted = answer(function, x, scale, offset), exact(name, x, scale, offset)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{name} {shape}")


def test_there_is_a_kernel_where_it_has_a_form() -> None:
    """In that of other instruction sets it is as long as the definition."""
    model, *_ = LAYERS[0]
    (operator,) = model.operators
    assert pick(operator, None, model, InstructionSet.X86_64).kernel is Driver.REAL_NORM
    assert pick(operator, None, model, InstructionSet.GENERIC).kernel is Driver.REAL_NORM
    assert pick(operator, None, model, InstructionSet.ARMV7E_M).reason == "no kernel for normalize"
    assert pick(operator, None, model, InstructionSet.X86_64, Goal.SIZE).reason == "no kernel for normalize"
