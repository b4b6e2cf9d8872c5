"""Sealed bytes: a flipped bit is found, in slices of any size, by software and by the processor's CRC-32C."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime_c.test_conformance import C99, COMPILERS, CORE, SANITIZERS, compile_c, files, links

SOURCE = Path(__file__).parent / "integrity.c"


@pytest.mark.parametrize("compiler", sorted(COMPILERS))
def test_integrity_is_freestanding(compiler: str, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool(compiler)
    flags = (*C99, "-Wconversion", "-ffreestanding", "-O2", "-I.", "-Iinclude")
    compile_c(compiler, *flags, "-c", "integrity/integrity.c", "-o", str(tmp_path / "integrity.o"))


@pytest.mark.parametrize(("compiler", "sanitizer"), [("gcc", "asan+ubsan"), ("clang", "plain")])
def test_a_flipped_bit_is_found(
    compiler: str, sanitizer: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool(compiler)
    if not links(compiler, SANITIZERS[sanitizer], tmp_path):
        pytest.skip(f"{compiler} cannot link with {sanitizer}: install its sanitizer libraries")
    program = tmp_path / "integrity"
    sources = (*CORE, *files("ports/host", "*.c"), "integrity/integrity.c", str(SOURCE))
    flags = (*C99, *SANITIZERS[sanitizer], "-I.", "-Iinclude")
    compile_c(compiler, *flags, *sources, "-o", str(program), "-lpthread")
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["ok software", "ok host", "ok residents", "ok arguments"]
