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

HERE = Path(__file__).parent
TESTS = (
    "alternating",
    "re-entry",
    "one program",
    "a load fails",
    "init fails",
    "wrong tables",
    "residents",
    "a program of two",
)


@pytest.mark.parametrize("compiler", sorted(COMPILERS))
def test_models_is_freestanding(compiler: str, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool(compiler)
    flags = (*C99, "-Wconversion", "-ffreestanding", "-O2")
    made = str(tmp_path / "models.o")
    compile_c(compiler, *flags, "-I.", "-Iinclude", "-c", "models/models.c", "-o", made)


def run_on_host_port(compiler: str, sanitizer: str, folder: Path, *sources: str) -> list[str]:
    """Return what a C program of this folder prints, built with the core, the host port and the suite's SoC.

    Skips where the compiler cannot link with the sanitizer; fails unless the program exits with 0.
    """
    if not links(compiler, SANITIZERS[sanitizer], folder):
        pytest.skip(f"{compiler} cannot link with {sanitizer}: install its sanitizer libraries")
    suite = [f"conformance/{name}.c" for name in ("workload", "system", "adder_driver")]
    port = (*files("ports/host", "*.c"), *files("conformance/host", "*.c"))
    program = folder / "program"
    paths = (*CORE, *port, *suite, *sources, "-o", str(program), "-lpthread")
    compile_c(compiler, *C99, *SANITIZERS[sanitizer], "-I.", "-Iinclude", *paths)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(("compiler", "sanitizer"), [("gcc", "asan+ubsan"), ("clang", "plain")])
def test_every_model_runs_with_its_own_program(
    compiler: str, sanitizer: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool(compiler)
    lines = run_on_host_port(compiler, sanitizer, tmp_path, "models/models.c", str(HERE / "models.c"))
    modes = ("eager", "jitter", "lazy", "wrap")
    assert lines == [f"ok {name} ({mode})" for mode in modes for name in TESTS]


def test_of_two_threads_one_runs(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """TSan sees what the host kernel counts: only who runs may touch it."""
    needs_tool("gcc")
    (line,) = run_on_host_port("gcc", "tsan", tmp_path, str(HERE / "threads.c"))
    runs, kernels, others = (int(word) for word in line.split() if word.isdigit())
    assert runs == kernels
    assert others == 0
