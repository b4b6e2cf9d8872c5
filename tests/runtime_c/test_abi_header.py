"""What the header of the ABI asks of a compiler."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HEADER = Path(__file__).parents[2] / "runtime_c" / "include" / "target_arch" / "abi.h"


@pytest.mark.parametrize(("target", "taken"), [("avr", False), ("msp430", False), ("thumbv6m", True)])
def test_int_has_32_bits(target: str, taken: bool, needs_tool: Callable[[str], str]) -> None:
    """Arduino's smallest boards have 16; there bundles were compiled, with warnings, and wrong."""
    options = [f"--target={target}-none-eabi", "-ffreestanding", "-fsyntax-only", "-x", "c"]
    done = subprocess.run(
        [needs_tool("clang"), *options, HEADER], capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is taken, done.stderr
    assert ("int_has_32_bits" in done.stderr) is not taken
