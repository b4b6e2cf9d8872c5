"""Kernels and generated C convert, cast and test nothing by accident, on this computer and on Cortex-M.

clang counts the casts of unaligned loads and stores to vectors, as their intrinsics are declared, as
-Wcast-align; gcc does not. In gcc's header, `__ssat` of Cortex-M7 converts signs.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS

RUNTIME = Path(__file__).parents[2] / "runtime_c"
STRICT = (
    "-std=c99",
    "-pedantic",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wundef",
)
CASTS = "-Wcast-align"
COMPILERS = {
    "portable": ("gcc", CASTS, "-DTA_KERNELS_PORTABLE"),
    "of this computer": ("gcc", CASTS),
    "clang": ("clang",),
    "Cortex-M7": (
        "arm-none-eabi-gcc",
        CASTS,
        "-mcpu=cortex-m7",
        "-Wno-sign-conversion",
        "-mfloat-abi=hard",
        "-mfpu=fpv5-d16",
    ),
    "Cortex-M55": ("arm-none-eabi-gcc", CASTS, "-mcpu=cortex-m55", "-mfloat-abi=hard"),
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example model over all kinds of instances."""
    folder = tmp_path_factory.mktemp("strict") / "digits"
    write_bundle(compile_model(CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"))).bundle, folder)
    return folder


@pytest.mark.parametrize("kind", COMPILERS)
def test_no_conversion_is_an_accident(kind: str, bundle: Path, needs_tool: Callable[[str], str]) -> None:
    compiler, *flags = COMPILERS[kind]
    needs_tool(compiler)
    own = sorted(bundle.glob("src/*.c"))
    runtime = [*bundle.glob("runtime/core/*.c"), *bundle.glob("runtime/integrity/*.c")]
    runtime += bundle.glob("runtime/deadline/*.c")
    hosted = [] if "Cortex" in kind else own
    kernels = [path for path in own if path.name.endswith("_kernels.c")]
    for source in (*(hosted or kernels), *runtime):
        command = [compiler, *STRICT, *flags, "-O1", "-Iinclude", "-Iruntime", "-fsyntax-only", str(source)]
        said = subprocess.run(command, cwd=bundle, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr


ONE_PIXEL = """
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "kernels/f32_conv2d.h"
void convolve(const float *x, const float *w, const float *bias, float *out);
void convolve(const float *x, const float *w, const float *bias, float *out)
{
    static const ta_f32_conv2d sizes = {1, 1, 1, 1, 1, 1, 3, 1, 1, 2, 1, 1, 1, 0, 0, 3, 1, 0,
                                        -INFINITY, INFINITY};
    const ta_f32_end end = {0, -INFINITY, INFINITY};
    ta_f32_convolve(&sizes, &end, x, w, bias, out);
}
"""


def test_a_convolution_of_one_pixel_builds_as_bundles_do(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """gcc did not see that the first block of outputs fills the panel that it reads."""
    source = tmp_path / "one_pixel.c"
    source.write_text(ONE_PIXEL)
    command = [needs_tool("gcc"), *STRICT[:5], "-O2", f"-I{RUNTIME}", "-c", str(source), "-o", f"{source}.o"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
