"""One C program of many calls of kernels, which compares each result with what it should be.

The program has its inputs, constants and expected results in it and needs nothing but C99, so it runs
natively under sanitizers, and on other cores under QEMU. It is compiled once for each form of the kernels.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels.text import Made
from target_arch.emit.model.kernels import left_out
from target_arch.plan.model import C_TYPES
from target_arch.resources import runtime_c
from tests.backends.c.one import Array, array_of

FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{runtime_c()}")
SANITIZE = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
NATIVE = {
    "portable": ("-DTA_KERNELS_PORTABLE", *SANITIZE),
    "sse2": ("-DTA_KERNELS_SSE2",),
    "avx2": ("-DTA_KERNELS_AVX2", *SANITIZE),
    "AVX-VNNI": ("-DTA_KERNELS_NO_AVX512", *SANITIZE),
    "the best": SANITIZE,
    "AVX-512, for this processor alone": ("-DTA_KERNELS_NO_AMX", "-march=native", *SANITIZE),
}
"""Flags of the forms, which compute the same; where the processor lacks one, the next that it has runs."""


@frozen(kw_only=True, eq=False)
class Case:
    """A call: its inputs, the constants of `made`, `others` that are read, and its result as plain integers
    have it. Where a result may take the place of something that is read, it does in a second call.
    """

    name: str
    made: Made
    inputs: tuple[Array, ...]
    others: tuple[Array, ...] = ()
    expected: Array


def program(cases: Sequence[Case]) -> str:
    """The C text. It prints the name of each call whose result differs, and returns how many do."""
    headers = dict.fromkeys(header for case in cases for header in case.made.function.headers)
    macros = left_out([case.made.function for case in cases])
    functions = {case.made.function.name: case.made.function.text for case in cases}
    includes = ["#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", "#include <string.h>"]
    includes += [f"#define {macro}" for macro in macros]
    parts = [*includes, *(f'#include "{header}"' for header in headers), *functions.values()]
    for number, case in enumerate(cases):
        parts.append(_data(number, case))
    parts += ["int main(void)", "{", "    int wrong = 0;"]
    for number, case in enumerate(cases):
        parts.append(_call(number, case))
    parts += ['    printf("%d\\n", wrong);', "    return wrong != 0;", "}"]
    return "\n".join(parts) + "\n"


def mismatches(folder: Path, cases: Sequence[Case], compiler: Sequence[str]) -> list[str]:
    """The names of the calls that go wrong in the program, as this compiler with its flags makes it."""
    source, binary = folder / "calls.c", folder / "calls"
    source.write_text(program(cases))
    subprocess.run([*compiler, *FLAGS, str(source), "-o", str(binary), "-lm"], check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    assert lines[-1] == str(len(lines) - 1), done.stderr
    return lines[:-1]


def _data(number: int, case: Case) -> str:
    constants = [array_of(constant) for constant in case.made.packed]
    named = [
        (f"in{number}_{index}", array) for index, array in enumerate((*case.inputs, *constants, *case.others))
    ]
    named.append((f"expected{number}", case.expected))
    lines = [
        f"static const {C_TYPES[str(array.dtype)]} {name}[] = {{{_numbers(array)}}};" for name, array in named
    ]
    kind = C_TYPES[str(case.expected.dtype)]
    lines += [f"static int8_t own{number}_{index}[{size}];" for index, size in enumerate(case.made.scratch)]
    room = max(case.expected.size, *(each.size for each in (*case.inputs, *case.others)))
    return "\n".join((*lines, f"static {kind} out{number}[{room}];"))


def _numbers(array: Array) -> str:
    if array.dtype.kind == "f":
        return ", ".join(f"{float(value).hex()}f" for value in array.ravel())
    return ", ".join("INT32_MIN" if value == -(2**31) else str(value) for value in array.ravel())


def _call(number: int, case: Case) -> str:
    reads = len(case.inputs) + len(case.made.packed) + len(case.others)
    names = [f"in{number}_{index}" for index in range(reads)]
    out = f"out{number}"
    own = [f"own{number}_{index}" for index in range(len(case.made.scratch))]
    lines = [f"    memset({out}, 0x55, sizeof {out});", *_compared(number, case, [*names, out, *own])]
    for _, read in case.made.function.in_place:
        place = names[read] if read < len(case.inputs) else names[-1]
        lines.append(f"    memcpy({out}, {place}, sizeof {place});")
        lines += _compared(number, case, [*(out if name == place else name for name in names), out, *own])
    return "\n".join(lines)


def _compared(number: int, case: Case, arguments: list[str]) -> tuple[str, ...]:
    return (
        f"    {case.made.function.name}({', '.join(arguments)});",
        f"    if (memcmp(out{number}, expected{number}, sizeof expected{number}) != 0) {{",
        f'        printf("%s\\n", "{case.name}");',
        "        ++wrong;",
        "    }",
    )


def spaced(values: Array, apart: int) -> Array:
    """What memory of 0x55 holds where the last axis of a result was written every `apart` elements."""
    rows = values.reshape(-1, values.shape[-1])
    out = np.full((rows.shape[0], apart), 0x55, values.dtype)
    out[:, : rows.shape[1]] = rows
    return out
