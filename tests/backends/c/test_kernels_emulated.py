"""The kernels of `runtime_c/kernels` in their forms for AArch64 and RISC-V, under QEMU, to the bit."""

import shutil
import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.soc.words import InstructionSet
from tests.backends.c.hybrid_cases import hybrid_conv2d_cases, hybrid_dense_cases, hybrid_depthwise_cases
from tests.backends.c.integer_cases import integer_cases
from tests.backends.c.kernel_cases import (
    CHOSEN,
    LARGE,
    LINES,
    NARROW,
    conv2d_cases,
    dense_cases,
    depthwise_case,
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
QEMU_RISCV_LONG = (*QEMU_RISCV[:-1], f"{QEMU_RISCV[-1]},vlen=256")


@frozen(kw_only=True)
class Form:
    """A compiler, the emulators that run its program, the macro that stands where the form is compiled, and
    the instruction set whose layout it reads; with `tiles`, products alone.
    """

    compiler: tuple[str, ...]
    emulators: tuple[tuple[str, ...], ...]
    macro: str
    isa: InstructionSet
    tiles: bool = False


NEON = Form(
    compiler=(*ARM, "-march=armv8-a"),
    emulators=(QEMU_ARM,),
    macro="TA_KERNELS_NEON",
    isa=InstructionSet.AARCH64,
)
DOT = evolve(NEON, compiler=(*ARM, "-march=armv8.2-a+dotprod"), macro="TA_KERNELS_DOT")
I8MM = evolve(NEON, compiler=(*ARM, "-march=armv8.2-a+dotprod+i8mm"), macro="TA_KERNELS_I8MM")
FORMS = {
    "NEON": NEON,
    "dot product": DOT,
    "i8mm": I8MM,
    "NEON, laid out for others": evolve(NEON, isa=InstructionSet.GENERIC, tiles=True),
    "dot product, laid out for others": evolve(DOT, isa=InstructionSet.GENERIC, tiles=True),
    "RISC-V V": Form(
        compiler=RISCV,
        emulators=(QEMU_RISCV, QEMU_RISCV_LONG),
        macro="TA_KERNELS_RVV",
        isa=InstructionSet.RV64GCV,
    ),
}
LIBRARIES = {"qemu-aarch64": "aarch64-linux-gnu-gcc", "qemu-riscv64": "riscv64-linux-gnu-gcc"}
"""The compilers that bring the C library, clang's too."""


def cases_of(form: Form) -> list[Case]:
    rng = np.random.default_rng(11)
    layout = layout_of(form.isa)
    shapes = [*CHOSEN, *LARGE, *(random_shape(rng) for _ in range(4))]
    products = [*conv2d_cases(rng, shapes, layout), *dense_cases(rng, layout)]
    if form.tiles:
        return products
    return [
        *products,
        *depthwise_cases(rng, [*NARROW, *(shape for shape in shapes if prod(shape.kernel) <= 25)]),
        *(depthwise_case(rng, shape, "tflite", "int8") for shape in LINES),
        *sum_cases(rng, layout),
        *hybrid_dense_cases(rng, layout),
        *hybrid_conv2d_cases(rng, shapes, layout),
        *hybrid_depthwise_cases(rng, [*shapes, *NARROW], layout),
        *part_cases(rng, layout),
        *integer_cases(rng, layout),
        *real_part_cases(rng),
    ]


def has_intrinsics(compiler: tuple[str, ...]) -> bool:
    known = subprocess.run((*compiler, "-dM", "-E", "-x", "c", "/dev/null"), capture_output=True, check=True)
    return b"__riscv_v_intrinsic" in known.stdout


@pytest.mark.parametrize("name", slow_except([], FORMS))
def test_forms_are_those_of_plain_integers(
    name: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    form = FORMS[name]
    for tool in (form.compiler[0], form.emulators[0][0], LIBRARIES[form.emulators[0][0]]):
        needs_tool(tool)
    source, binary = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text(f"{program(cases_of(form))}#ifndef {form.macro}\n#error no form\n#endif\n")
    if form.compiler is RISCV and not has_intrinsics(form.compiler):
        pytest.skip("Clang 16 or newer, which has the intrinsics of RISC-V V")
    command = (*form.compiler, *FLAGS, "-static", str(source), "-o", str(binary), "-lm")
    subprocess.run(command, check=True)
    for emulator in form.emulators:
        run = (*emulator, str(binary))
        done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.split("\n")[:-1] == ["0"], done.stdout + done.stderr
