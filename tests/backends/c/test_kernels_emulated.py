"""The kernels of `runtime_c/kernels` in their forms for AArch64, under QEMU, to the bit."""

import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.soc.words import InstructionSet
from tests.backends.c.kernel_cases import (
    CHOSEN,
    conv2d_cases,
    dense_cases,
    depthwise_cases,
    random_shape,
    sum_cases,
)
from tests.backends.c.kernel_program import FLAGS, Case, program

FORMS = {"NEON": ("-march=armv8-a",), "dot product": ("-march=armv8.2-a+dotprod",)}


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
    ]


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_those_of_plain_integers(
    form: str, cases: list[Case], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    compiler, emulator = needs_tool("aarch64-linux-gnu-gcc"), needs_tool("qemu-aarch64")
    source, binary = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text(program(cases))
    flags = (*FORMS[form], *FLAGS, "-static")
    subprocess.run((compiler, *flags, str(source), "-o", str(binary), "-lm"), check=True)
    done = subprocess.run(
        (emulator, "-cpu", "max", str(binary)), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split("\n")[:-1] == ["0"], done.stdout + done.stderr
