"""Several models on one runtime: who holds which program, whatever fails, in every mode of the host port."""

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

SOURCE = Path(__file__).parent / "models.c"
TESTS = ("alternating", "one program", "a load fails", "init fails", "wrong tables")


@pytest.mark.parametrize("compiler", sorted(COMPILERS))
def test_models_is_freestanding(compiler: str, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool(compiler)
    flags = (*C99, "-Wconversion", "-ffreestanding", "-O2")
    made = str(tmp_path / "models.o")
    compile_c(compiler, *flags, "-I.", "-Iinclude", "-c", "models/models.c", "-o", made)


@pytest.mark.parametrize(("compiler", "sanitizer"), [("gcc", "asan+ubsan"), ("clang", "plain")])
def test_every_model_runs_with_its_own_program(
    compiler: str, sanitizer: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool(compiler)
    if not links(compiler, SANITIZERS[sanitizer], tmp_path):
        pytest.skip(f"{compiler} cannot link with {sanitizer}: install its sanitizer libraries")
    suite = [f"conformance/{name}.c" for name in ("workload", "system", "adder_driver")]
    port = (*files("ports/host", "*.c"), *files("conformance/host", "*.c"))
    program = tmp_path / "models"
    sources = (*CORE, *port, *suite, "models/models.c", str(SOURCE))
    paths = (*sources, "-o", str(program), "-lpthread")
    compile_c(compiler, *C99, *SANITIZERS[sanitizer], "-I.", "-Iinclude", *paths)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    modes = ("eager", "jitter", "lazy", "wrap")
    assert done.stdout.splitlines() == [f"ok {name} ({mode})" for mode in modes for name in TESTS]
