"""Inputs and outputs in memory of the caller: right results, and a status for memory that cannot serve."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime_c.test_conformance import (
    C99,
    COMPILERS,
    CORE,
    ROOT,
    SANITIZERS,
    compile_c,
    files,
    links,
)

SOURCE = Path(__file__).parent / "lent.c"
TESTS = ("results", "sums", "behind a cache", "wrong memory", "wrong tables")


@pytest.mark.parametrize("compiler", sorted(COMPILERS))
@pytest.mark.parametrize("sections", ["-DTA_SECTIONS", "-UTA_SECTIONS"])
def test_lent_is_freestanding(
    compiler: str, sections: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool(compiler)
    flags = (*C99, "-Wconversion", "-ffreestanding", "-O2", sections)
    made = str(tmp_path / "lent.o")
    compile_c(compiler, *flags, "-I.", "-Iinclude", "-c", "lent/lent.c", "-o", made)


@pytest.mark.parametrize(
    ("compiler", "sanitizer", "options"),
    [("gcc", "asan+ubsan", ("-UTA_SECTIONS", "-DTA_LENT_CHECK")), ("clang", "plain", ("-DTA_SECTIONS",))],
)
def test_memory_of_the_caller(
    compiler: str,
    sanitizer: str,
    options: tuple[str, ...],
    needs_tool: Callable[[str], str],
    tmp_path: Path,
) -> None:
    needs_tool(compiler)
    if not links(compiler, SANITIZERS[sanitizer], tmp_path):
        pytest.skip(f"{compiler} cannot link with {sanitizer}: install its sanitizer libraries")
    suite = [f"conformance/{name}.c" for name in ("workload", "system", "adder_driver")]
    port = (*files("ports/host", "*.c"), *files("conformance/host", "*.c"))
    program = tmp_path / "lent"
    sources = (*CORE, *port, *suite, "lent/lent.c", str(SOURCE))
    paths = (*sources, "-o", str(program), "-lpthread")
    compile_c(compiler, *C99, *SANITIZERS[sanitizer], *options, "-I.", "-Iinclude", *paths)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    modes = ("eager", "jitter", "lazy", "wrap")
    assert done.stdout.splitlines() == [f"ok {name} ({mode})" for mode in modes for name in TESTS]
