"""The suites take the branches of the C runtime, and the host port keeps its contract where systems fail."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.coverage_c import LEAST, REPOSITORY, ROOT, WRAPPED, measure
from tests.runtime_c.test_conformance import C99, SANITIZERS, compile_c, links

Tool = Callable[[str], str]


@pytest.mark.slow
def test_every_file_has_most_of_its_branches_taken(needs_tool: Tool) -> None:
    needs_tool("gcc")
    if shutil.which("gcov") is None:
        pytest.skip("no gcov: apt-get install gcc")
    found = measure()
    assert {each.path: each.missing for each in found if each.percent < LEAST} == {}


@pytest.mark.slow
def test_the_host_port_where_systems_fail(needs_tool: Tool, tmp_path: Path) -> None:
    needs_tool("gcc")
    flags = SANITIZERS["asan+ubsan"]
    if not links("gcc", flags, tmp_path):
        pytest.skip("gcc cannot link with the sanitizers: install their libraries")
    folders = (ROOT / "core", ROOT / "ports" / "host")
    sources = [str(path) for folder in folders for path in sorted(folder.glob("*.c"))]
    sources += [str(ROOT / "conformance" / f"{name}.c") for name in ("system", "workload", "adder_driver")]
    sources.append(str(REPOSITORY / "tests" / "runtime_c" / "host_port.c"))
    wrap = f"-Wl,{','.join(f'--wrap={name}' for name in WRAPPED)}"
    program = tmp_path / "host_port"
    options = (*C99, *flags, "-DTA_HOST_PATIENCE_US=100000u", "-I.", "-Iinclude", wrap)
    compile_c("gcc", *options, *sources, "-lpthread", "-o", str(program))
    run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
