"""A few inputs of each fuzz target, each in a process of its own; `conformance/fuzz_c.py` runs many."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import soak_c
from conformance.fuzz_c import SANITIZERS, TARGETS, build
from tests.runtime_c.test_conformance import links

INPUTS = {"port": 300, "tables": 1500}
"""Random bytes are no image, so `elf` needs libFuzzer and its corpus."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_no_input_crashes(needs_tool: Callable[[str], str], tmp_path: Path, name: str) -> None:
    needs_tool("clang")
    if not links("clang", (SANITIZERS,), tmp_path):
        pytest.skip("clang cannot link with its sanitizers: make simulators")
    program = tmp_path / name
    build(name, program, SANITIZERS, "fuzz/replay.c")
    command = [str(program), "0", str(INPUTS[name]), str(TARGETS[name].most_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    if name == "tables":
        assert " 0 accepted" not in done.stdout


def test_a_soak_runs(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """`conformance/soak_c.py` runs a million, under sanitizers."""
    program = tmp_path / "soak"
    soak_c.build(program, needs_tool("cc"), "-std=c99", "-I.", "-Iinclude")
    done = subprocess.run(
        [str(program), "1000", "7"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1000 runs, 0 wrong" in done.stdout
