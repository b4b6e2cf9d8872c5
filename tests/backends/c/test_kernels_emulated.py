"""The kernels of `runtime_c/kernels` in their forms for AArch64 and RISC-V, under QEMU, to the bit."""

import shutil
import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.soc.words import InstructionSet
from tests.backends.c.hybrid_cases import hybrid_conv2d_cases, hybrid_dense_cases, hybrid_depthwise_cases
from tests.backends.c.integer_cases import integer_cases
from tests.backends.c.kernel_cases import (
    CHOSEN,
    conv2d_cases,
    dense_cases,
    depthwise_cases,
    random_shape,
    sum_cases,
)
from tests.backends.c.kernel_program import FLAGS, Case, program
from tests.backends.c.part_cases import part_cases, real_part_cases
from tests.slow import slow_except

ARM, QEMU_ARM = ("aarch64-linux-gnu-gcc",), ("qemu-aarch64", "-cpu", "max")
RISCV = (
    "clang-16" if shutil.which("clang-16") else "clang",
    "--target=riscv64-linux-gnu",
    "-march=rv64gcv",
    "-Wno-unused-command-line-argument",
    *("-mllvm", "-vectorize-loops=false"),
)
"""QEMU 7.2 aborts on vectors of floats that clang would make of loops."""
QEMU_RISCV = ("qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0")
FORMS = {
    "NEON": ((*ARM, "-march=armv8-a"), QEMU_ARM, "TA_KERNELS_NEON"),
    "dot product": ((*ARM, "-march=armv8.2-a+dotprod"), QEMU_ARM, "TA_KERNELS_DOT"),
    "RISC-V V": (RISCV, QEMU_RISCV, "TA_KERNELS_RVV"),
}
"""The compiler, the emulator, and the macro that stands where the form is compiled."""
LIBRARIES = {"qemu-aarch64": "aarch64-linux-gnu-gcc", "qemu-riscv64": "riscv64-linux-gnu-gcc"}
"""The compilers that bring the C library, clang's too."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = np.random.default_rng(11)
    layout = layout_of(InstructionSet.AARCH64)
    shapes = [*CHOSEN, *(random_shape(rng) for _ in range(4))]
    return [
        *conv2d_cases(rng, shapes, layout),
        *dense_cases(rng, layout),
        *depthwise_cases(rng, [shape for shape in shapes if prod(shape.kernel) <= 25]),
        *sum_cases(rng, layout),
        *hybrid_dense_cases(rng, layout),
        *hybrid_conv2d_cases(rng, shapes, layout),
        *hybrid_depthwise_cases(rng, shapes, layout),
        *part_cases(rng, layout),
        *integer_cases(rng, layout),
        *real_part_cases(rng),
    ]


def has_intrinsics(compiler: tuple[str, ...]) -> bool:
    known = subprocess.run((*compiler, "-dM", "-E", "-x", "c", "/dev/null"), capture_output=True, check=True)
    return b"__riscv_v_intrinsic" in known.stdout


@pytest.mark.parametrize("form", slow_except(["NEON"], FORMS))
def test_forms_are_those_of_plain_integers(
    form: str, cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    compiler, emulator, macro = FORMS[form]
    for tool in (compiler[0], emulator[0], LIBRARIES[emulator[0]]):
        needs_tool(tool)
    source, binary = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text(f"{program(cases)}#ifndef {macro}\n#error no form\n#endif\n")
    if emulator is QEMU_RISCV and not has_intrinsics(compiler):
        pytest.skip("Clang 16 or newer, which has the intrinsics of RISC-V V")
    subprocess.run((*compiler, *FLAGS, "-static", str(source), "-o", str(binary), "-lm"), check=True)
    done = subprocess.run((*emulator, str(binary)), capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split("\n")[:-1] == ["0"], done.stdout + done.stderr
