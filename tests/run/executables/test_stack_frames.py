"""Frames and calls read from object code: as the section that clang writes, and on hand-made listings."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.resources import runtime_c
from target_arch.run.executables.firmware import compile_command
from target_arch.run.executables.stack_depth import INDIRECT, Calls
from target_arch.run.executables.stack_frames import UNREADABLE, read_frames
from target_arch.soc.cores import CORES

Tool = Callable[[str], str]

SOURCES = (
    "firmware/firmware.c",
    "firmware/library.c",
    "core/execute.c",
    "core/runtime.c",
    "core/validate.c",
    "simulators/conv2d_engine.c",
)
HEXAGON_PAIR = 8
"""What `allocframe` pushes; clang's section leaves it out."""


def compiled(needs_tool: Tool, folder: Path, core: str, source: str) -> tuple[Calls, dict[str, int]]:
    """What we read of a source file's object, and the bytes that clang says of each function."""
    made, root = folder / "made.o", runtime_c()
    macros = (
        "-DTA_FIRMWARE_FUNCTIONS=3u",
        "-DTA_FIRMWARE_ABI_HASH=1ULL",
        f"-I{root}",
        f"-I{root / 'include'}",
    )
    needs_tool("clang")
    command = (*compile_command(CORES[core]), "-fstack-size-section", *macros, "-c", str(root / source))
    subprocess.run((*command, "-o", str(made)), check=True)
    listing = subprocess.run(
        (needs_tool("llvm-objdump"), "-dr", "--no-show-raw-insn", str(made)),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return read_frames(core, source, listing, ()), said(needs_tool, made)


def said(needs_tool: Tool, made: Path) -> dict[str, int]:
    needs_tool("llvm-readelf")
    text = subprocess.run(
        ("llvm-readelf", "--stack-sizes", str(made)), capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[1]: int(row[0]) for row in rows if len(row) == 2 and row[0].isdigit()}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("core", sorted(CORES))
def test_frames_are_those_that_clang_says(needs_tool: Tool, tmp_path: Path, core: str, source: str) -> None:
    calls, expected = compiled(needs_tool, tmp_path, core, source)
    assert expected
    for name, size in expected.items():
        extra = calls.frames[name] - size
        assert extra == 0 or (core == "hexagon" and extra == HEXAGON_PAIR), name
        assert (name, UNREADABLE) not in calls.edges


@pytest.mark.parametrize("core", sorted(CORES))
def test_calls_are_those_of_the_source(needs_tool: Tool, tmp_path: Path, core: str) -> None:
    calls, _ = compiled(needs_tool, tmp_path, core, "core/execute.c")
    callees = {callee for caller, callee in calls.edges if caller == "ta_execute"}
    assert callees == {"ta_settle", "ta_pointer", "submit", INDIRECT}
    main, _ = compiled(needs_tool, tmp_path, core, "firmware/firmware.c")
    assert ("ta_firmware_main", INDIRECT) in main.edges


@pytest.mark.parametrize(
    ("core", "instruction", "frame"),
    [
        ("hexagon", "{ \tallocframe(r29,#208):raw }", 216),
        ("hexagon", "{ \tr29 = and(r29,#-16) }", 15),
        ("hexagon", "{ \tr29 = add(r29,#64) }", 0),
        ("riscv64", "addi\tsp, sp, -464", 464),
        ("riscv64", "andi\tsp, sp, -32", 31),
        ("aarch64", "stp\tx29, x30, [sp, #-80]!", 80),
        ("aarch64", "sub\tsp, sp, #1, lsl #12", 4096),
        ("aarch64", "sub\tx9, sp, #0x40", 64),
    ],
)
def test_what_an_instruction_takes(core: str, instruction: str, frame: int) -> None:
    found = read_frames(core, "f.o", listing(instruction), ())
    assert found.frames == {"f": frame}
    assert found.edges == ()


@pytest.mark.parametrize(
    ("core", "instruction"),
    [("hexagon", "{ \tr29 = sub(r29,r2) }"), ("riscv64", "sub\tsp, sp, a0"), ("aarch64", "sub\tsp, sp, x8")],
)
def test_a_computed_stack_pointer_is_not_read(core: str, instruction: str) -> None:
    assert read_frames(core, "f.o", listing(instruction), ()).edges == (("f", UNREADABLE),)


def listing(instruction: str) -> str:
    return f"\nDisassembly of section .text:\n\n00000000 <f>:\n       0:      \t{instruction}\n"
