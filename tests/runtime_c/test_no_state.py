"""The core, the loader and the drivers have no heap and no static state: what they link with shows it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.resources import runtime_c

FOLDERS = ("core", "load", "lent", "drivers", "deadline", "integrity")
SOURCES = sorted(path for folder in FOLDERS for path in (runtime_c() / folder).glob("*.c"))
OF_COMPILERS = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
"""What a compiler calls by itself."""
VARIABLES = "bBdDC"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_is_kept_and_nothing_allocated(
    source: Path, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    flags = ("-std=c99", "-O1", "-fno-pic", "-I.", "-Iinclude", "-Idrivers")
    made = tmp_path / "object.o"
    command = (needs_tool("gcc"), *flags, "-c", str(source), "-o", str(made))
    subprocess.run(command, cwd=runtime_c(), check=True)
    listing = subprocess.run((needs_tool("nm"), "-P", str(made)), capture_output=True, text=True, check=True)
    symbols = [line.split()[:2] for line in listing.stdout.splitlines()]
    assert [name for name, kind in symbols if kind in VARIABLES] == []
    foreign = {name for name, kind in symbols if kind == "U" and not name.startswith("ta_")}
    assert foreign <= OF_COMPILERS
