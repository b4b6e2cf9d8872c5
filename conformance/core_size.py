"""Bytes of code and read-only data of the runtime's core, for every kind of core a bundle may run on.

    python conformance/core_size.py

Each file is compiled for size (`-Os`), and the sections that go to flash are counted. Needs arm-none-eabi-gcc
for Cortex-M, clang for the rest.
"""

import io
import subprocess
import tempfile
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from target_arch.plan.printed.text import table
from target_arch.ports.qemu_mps2 import port
from target_arch.resources import runtime_c
from target_arch.soc.cores import CORES

CORTEX = {
    "Cortex-M3": "mps2-an385",
    "Cortex-M4": "mps2-an386",
    "Cortex-M7": "mps2-an500",
    "Cortex-M55": "mps3-an547",
}
EXECUTES = ("core/execute.c", "core/places.c", "core/runtime.c")
CHECKS, NAMES = "core/validate.c", "core/names.c"
TRUSTS = "-DTA_TRUST_TABLES"
COLUMNS = ("target", "executes", "checks", "whole core", "tables trusted", "names")

_C99 = ("-Os", "-std=c99", "-I.", "-Iinclude", "-ffreestanding", "-fno-asynchronous-unwind-tables")


def commands() -> dict[str, tuple[str, ...]]:
    """The compiler of every target, with the flags that choose it."""
    bare = port.bare_metal
    assert bare is not None
    made = {name: (bare.compiler, *bare.machine(board).flags) for name, board in CORTEX.items()}
    for name in sorted(CORES):
        made[name] = ("clang", f"--target={CORES[name].triple}", *CORES[name].flags)
    made["x86-64"] = ("clang", "--target=x86_64-linux-gnu")
    return made


def size(command: tuple[str, ...], *sources: str) -> int:
    """Bytes that sources take in flash; flags may be among them."""
    flags = tuple(each for each in sources if each.startswith("-"))
    with tempfile.TemporaryDirectory() as folder:
        made = [
            _compiled((*command, *_C99, *flags), source, Path(folder) / f"{number}.o")
            for number, source in enumerate(each for each in sources if each not in flags)
        ]
        return sum(map(_flash, made))


def _compiled(command: tuple[str, ...], source: str, made: Path) -> Path:
    subprocess.run((*command, "-c", source, "-o", str(made)), cwd=runtime_c(), check=True)
    return made


def _flash(path: Path) -> int:
    elf = ELFFile(io.BytesIO(path.read_bytes()))
    return sum(
        section["sh_size"]
        for section in elf.iter_sections()
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] == "SHT_PROGBITS"
    )


def rows() -> list[tuple[str, ...]]:
    """A row per target, in the order of COLUMNS."""
    found = []
    for name, command in commands().items():
        executes, checks = size(command, *EXECUTES), size(command, CHECKS)
        trusted, names = executes + size(command, CHECKS, TRUSTS), size(command, NAMES)
        sizes = (executes, checks, executes + checks, trusted, names)
        found.append((name, *(f"{each:,}" for each in sizes)))
    return found


def markdown() -> str:
    """The table of docs/port-the-runtime.md."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * (len(COLUMNS) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows())])


if __name__ == "__main__":
    print(table(COLUMNS, rows(), right=range(1, len(COLUMNS))), end="")
