"""The kernels of `runtime_c/kernels` laid out for Cortex-M, on emulated boards and natively, to the bit."""

import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.emit.model.kernels import left_out
from target_arch.soc.words import InstructionSet
from tests.backends.c.hybrid_cases import hybrid_conv2d_cases, hybrid_dense_cases, hybrid_depthwise_cases
from tests.backends.c.integer_cases import integer_cases
from tests.backends.c.kernel_cases import (
    CHOSEN,
    NARROW,
    conv2d_cases,
    dense_cases,
    depthwise_cases,
    random_shape,
    strip_cases,
    sum_cases,
)
from tests.backends.c.kernel_program import FLAGS, NATIVE, Case, mismatches, program
from tests.backends.c.part_cases import part_cases
from tests.slow import slow_except
from tests.systems import COMPILER, EMULATOR, MACHINES

BOARDS = {InstructionSet.ARMV7E_M: "mps2-an500", InstructionSet.ARMV8_1_M: "mps3-an547"}
FAMILIES = ("integer", "hybrid", "hybrid_depthwise", "parts", "strips")
ROUNDINGS = {"TA_S8_WITHOUT_TFLITE", "TA_S8_WITHOUT_TFLITE_SINGLE", "TA_S8_WITHOUT_ONNX"}
START = """
extern void _start(void);
__attribute__((naked, used)) void reset(void)
{
    __asm__ volatile("ldr r0, =0xe000ed88\\nldr r1, [r0]\\norr r1, r1, #0xf00000\\nstr r1, [r0]\\n"
                     "dsb\\nisb\\nldr r0, =_start\\nbx r0\\n.ltorg\\n");
}
__attribute__((section(".vectors"), used)) const uintptr_t vectors[16] = {0x80000, (uintptr_t)&reset};
"""
"""Turns the floating point unit on; the C library's own start, with semihosting, does the rest."""


def cases(isa: InstructionSet, family: str) -> list[Case]:
    """Cases of one family: those of all do not fit a board's memory."""
    rng = np.random.default_rng(11)
    layout = layout_of(isa)
    shapes = [*CHOSEN, *(random_shape(rng) for _ in range(4))]
    if family == "hybrid":
        return [*hybrid_dense_cases(rng, layout), *hybrid_conv2d_cases(rng, shapes, layout)]
    if family == "hybrid_depthwise":
        return list(hybrid_depthwise_cases(rng, [*shapes, *NARROW], layout))
    if family == "strips":
        return [case for _ in range(3) for case in strip_cases(rng)]
    if family == "parts":
        return [*part_cases(rng, layout), *integer_cases(rng, layout)]
    return [
        *conv2d_cases(rng, shapes, layout),
        *dense_cases(rng, layout),
        *depthwise_cases(rng, [*NARROW, *(shape for shape in shapes if prod(shape.kernel) <= 25)]),
        *sum_cases(rng, layout),
    ]


@pytest.mark.parametrize("family", slow_except(["parts"], FAMILIES))
@pytest.mark.parametrize("isa", BOARDS)
def test_forms_are_those_of_plain_integers(
    isa: InstructionSet, family: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    check(isa, cases(isa, family), tmp_path, needs_tool)


@pytest.mark.parametrize("rounding", sorted(ROUNDINGS))
@pytest.mark.parametrize("isa", BOARDS)
def test_models_with_one_rounding_leave_the_others_out(
    isa: InstructionSet, rounding: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    others = ROUNDINGS - {rounding}
    made = [*cases(isa, "integer"), *cases(isa, "strips")]
    made = [case for case in made if ROUNDINGS & case.made.function.without == others]
    assert others <= set(left_out([case.made.function for case in made]))
    check(isa, made, tmp_path, needs_tool)


def check(isa: InstructionSet, made: list[Case], folder: Path, needs_tool: Callable[[str], str]) -> None:
    """No call goes wrong on the emulated board."""
    compiler, emulator = needs_tool(COMPILER), needs_tool(EMULATOR)
    source, binary = folder / "calls.c", folder / "calls"
    source.write_text(program(made) + START)
    link = ("--specs=rdimon.specs", "-Wl,--section-start=.vectors=0", "-lm")
    flags = (*MACHINES[BOARDS[isa]].flags, *FLAGS)
    subprocess.run((compiler, *flags, str(source), "-o", str(binary), *link), check=True)
    machine = ("-machine", BOARDS[isa], "-semihosting", "-nographic", "-monitor", "none", "-serial", "none")
    done = subprocess.run(
        (emulator, *machine, "-kernel", str(binary)), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split("\n")[:-1] == ["0"], done.stdout + done.stderr


@pytest.mark.parametrize("family", slow_except(["parts"], FAMILIES))
@pytest.mark.parametrize("isa", BOARDS)
def test_portable_forms_read_the_same_layout(
    isa: InstructionSet, family: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    compiler = (needs_tool("gcc"), *NATIVE["portable"])
    assert mismatches(tmp_path, cases(isa, family), compiler) == []
