"""The kernels of `runtime_c/kernels` in every form that runs here, against plain integers, to the bit."""

import platform
import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels.layout import LINES, PAIRS, WeightLayout
from tests.backends.c.conversion_cases import conversion_cases
from tests.backends.c.hybrid_cases import hybrid_conv2d_cases, hybrid_dense_cases, hybrid_depthwise_cases
from tests.backends.c.integer_cases import integer_cases
from tests.backends.c.kernel_cases import (
    CHOSEN,
    LARGE,
    LONG,
    NARROW,
    Shape,
    conv2d_cases,
    dense_cases,
    depthwise_cases,
    matmul_cases,
    random_shape,
    real_cases,
    real_depthwise_cases,
    stored_matmul_cases,
    sum_cases,
)
from tests.backends.c.kernel_program import FLAGS, NATIVE, Case, mismatches, program
from tests.backends.c.part_cases import part_cases, real_part_cases
from tests.backends.c.place_cases import place_cases
from tests.slow import slow_except

TURNS = Shape(image=(4, 5), channels=(70, 50), kernel=(3, 3), padding=(1, 1, 1, 1))
"""Weights that AMX arranges in two turns, whose windows are no multiple of what a register has."""

HALVES = Shape(image=(4, 5), channels=(120, 20), kernel=(3, 3), padding=(1, 1, 1, 1))
"""Windows of which AMX has eight in its panel, not 16."""


DEEPEST = Shape(image=(4, 5), channels=(2066, 30), kernel=(1, 1))
"""Windows that fill a panel, of which AMX has no room for the weights of 16 outputs."""


BY_HAND = ("sse2", "avx2", "AVX-VNNI", "AVX-512, for this processor alone")
"""What CI leaves to a person: it has plain C, the best of its processor, and AVX2 with weights in lines."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = np.random.default_rng(7)
    shapes = _shapes(rng)
    return [
        *_products(rng, shapes, PAIRS),
        *depthwise_cases(rng, [*NARROW, *(shape for shape in shapes if prod(shape.kernel) <= 25)]),
        *hybrid_depthwise_cases(rng, [*shapes, *NARROW], PAIRS),
        *conversion_cases(rng),
        *place_cases(rng),
        *real_part_cases(rng),
        *real_cases(rng, [*shapes, *LONG]),
        *real_depthwise_cases(rng, shapes),
        *matmul_cases(rng),
        *stored_matmul_cases(rng),
    ]


@pytest.fixture(scope="module")
def in_lines() -> list[Case]:
    rng = np.random.default_rng(8)
    return _products(rng, _shapes(rng), LINES)


def _shapes(rng: np.random.Generator) -> list[Shape]:
    return [*CHOSEN, *LARGE, TURNS, HALVES, DEEPEST, *(random_shape(rng) for _ in range(16))]


def _products(rng: np.random.Generator, shapes: list[Shape], layout: WeightLayout) -> list[Case]:
    """Calls of every driver that sums products of weights in a layout."""
    return [
        *conv2d_cases(rng, shapes, layout),
        *dense_cases(rng, layout),
        *sum_cases(rng, layout),
        *hybrid_dense_cases(rng, layout),
        *hybrid_conv2d_cases(rng, shapes, layout),
        *part_cases(rng, layout),
        *integer_cases(rng, layout),
    ]


@pytest.mark.parametrize("form", slow_except([], NATIVE, by_hand=BY_HAND))
def test_products_are_those_of_plain_integers(
    form: str, cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    assert mismatches(tmp_path, cases, (needs_tool("gcc"), *NATIVE[form])) == []


@pytest.mark.parametrize("form", slow_except([], NATIVE, by_hand=NATIVE))
def test_weights_in_lines_give_the_same(
    form: str, in_lines: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    assert mismatches(tmp_path, in_lines, (needs_tool("gcc"), *NATIVE[form])) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["the best", "AVX2"])
def test_some_weights_in_lines_give_the_same(
    form: str, in_lines: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    flags = () if form == "the best" else ("-DTA_KERNELS_AVX2",)
    assert mismatches(tmp_path, in_lines[::6], (needs_tool("gcc"), *flags)) == []


def test_clang_takes_them_without_a_warning(
    cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    assert mismatches(tmp_path, cases[:8], (needs_tool("clang"),)) == []


INFINITE = """#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "kernels/s8_pairs.h"
#include "kernels/s8_hybrid.h"
int main(void)
{
    static const ta_s8_hybrid layer = {0};
    static const float rows[3][2] = {{INFINITY, 1.0f}, {-INFINITY, 1.0f}, {NAN, INFINITY}};
    for (int n = 0; n < 3; ++n) {
        const ta_s8_grid grid = ta_s8_grid_of(&layer, rows[n], 2);
        int8_t stored[2];
        ta_s8_store(&layer, &grid, rows[n], 2, stored);
        printf("%d\\n", (int)grid.zero);
    }
    return 0;
}
"""
"""Rows with extremes that are no finite number, of floats with int8 weights."""


def test_the_grid_of_infinite_values_is_one_of_eight_bits(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    source, made = tmp_path / "infinite.c", tmp_path / "infinite"
    source.write_text(INFINITE)
    command = (needs_tool("gcc"), *FLAGS, *NATIVE["portable"], str(source), "-o", str(made), "-lm")
    subprocess.run((*command, "-Wno-unused-function"), check=True)
    said = subprocess.run((str(made),), capture_output=True, text=True, check=False)
    assert (said.stderr, said.returncode) == ("", 0)
    assert all(-128 <= int(line) <= 127 for line in said.stdout.split())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the forms are for x86-64")
@pytest.mark.parametrize(
    ("compiler", "forms"), [("gcc", ("AVX512", "AVX_VNNI", "AMX")), ("clang", ("AVX512", "AMX"))]
)
def test_vnni_and_amx_are_compiled_without_flags_for_them(
    compiler: str, forms: tuple[str, ...], cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    source = tmp_path / "calls.c"
    asked = "".join(f"#ifndef TA_KERNELS_{form}\n#error no {form}\n#endif\n" for form in forms)
    source.write_text(program(cases[:8]) + asked)
    flags = (*FLAGS, "-c", "-o", str(tmp_path / "calls.o"))
    subprocess.run((needs_tool(compiler), *flags, str(source)), check=True)
