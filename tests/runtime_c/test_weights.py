"""Weights files in C: addresses that cannot serve, and code that needs nothing from a system."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime_c.test_conformance import C99, COMPILERS, SANITIZERS, compile_c, links

SOURCE = Path(__file__).parent / "weights.c"


@pytest.mark.parametrize("compiler", sorted(COMPILERS))
@pytest.mark.parametrize("sections", ["-DTA_SECTIONS", "-UTA_SECTIONS"])
def test_weights_are_freestanding(
    compiler: str, sections: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool(compiler)
    flags = (*C99, "-Wconversion", "-ffreestanding", "-O2", sections)
    for source in ("weights/weights.c", "integrity/integrity.c"):
        compile_c(compiler, *flags, "-I.", "-Iinclude", "-c", source, "-o", str(tmp_path / "one.o"))


@pytest.mark.parametrize(
    ("compiler", "sanitizer", "sections"),
    [("gcc", "asan+ubsan", "-UTA_SECTIONS"), ("clang", "plain", "-DTA_SECTIONS")],
)
def test_addresses_and_checks(
    compiler: str, sanitizer: str, sections: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool(compiler)
    if not links(compiler, SANITIZERS[sanitizer], tmp_path):
        pytest.skip(f"{compiler} cannot link with {sanitizer}: install its sanitizer libraries")
    program = tmp_path / "weights"
    sources = ("weights/weights.c", "integrity/integrity.c", "mapped/map.c", str(SOURCE), "-o", str(program))
    compile_c(compiler, *C99, *SANITIZERS[sanitizer], sections, "-I.", "-Iinclude", *sources)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
