"""The kernels of `runtime_c/kernels` in every form that runs here, against plain integers, to the bit."""

import platform
import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels.layout import PAIRS
from tests.backends.c.kernel_cases import (
    CHOSEN,
    conv2d_cases,
    dense_cases,
    depthwise_cases,
    matmul_cases,
    random_shape,
    real_cases,
    real_depthwise_cases,
    sum_cases,
)
from tests.backends.c.kernel_program import FLAGS, NATIVE, VNNI, Case, mismatches, program


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = np.random.default_rng(7)
    shapes = [*CHOSEN, *(random_shape(rng) for _ in range(16))]
    return [
        *conv2d_cases(rng, shapes, PAIRS),
        *dense_cases(rng, PAIRS),
        *depthwise_cases(rng, [shape for shape in shapes if prod(shape.kernel) <= 25]),
        *sum_cases(rng, PAIRS),
        *real_cases(rng, shapes),
        *real_depthwise_cases(rng, shapes),
        *matmul_cases(rng),
    ]


@pytest.mark.parametrize("form", NATIVE)
def test_products_are_those_of_plain_integers(
    form: str, cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    assert mismatches(tmp_path, cases, (needs_tool("gcc"), *NATIVE[form])) == []


def test_clang_takes_them_without_a_warning(
    cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    assert mismatches(tmp_path, cases[:8], (needs_tool("clang"),)) == []


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("form", VNNI if platform.machine() == "x86_64" else ())
def test_vnni_compiles_wherever_x86_does(
    form: str, compiler: str, cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    source = tmp_path / "calls.c"
    source.write_text(f"{program(cases[:8])}#ifndef TA_KERNELS_VNNI\n#error no form\n#endif\n")
    flags = (*VNNI[form], *FLAGS, "-c", "-o", str(tmp_path / "calls.o"))
    subprocess.run((needs_tool(compiler), *flags, str(source)), check=True)
