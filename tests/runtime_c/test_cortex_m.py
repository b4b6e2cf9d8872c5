"""The runtime on Cortex-M: how small its core is, and the conformance suite on every emulated board."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.backend.port import Machine
from target_arch.emit.build.machine import compile_flags, machine_script
from target_arch.resources import runtime_c
from target_arch.soc.model import DLDevice, Memory, MemoryMode, Port, SoC, TargetArch
from tests.slow import slow_except
from tests.systems import BARE_METAL, COMPILER, EMULATOR, MACHINES

ROOT = runtime_c()
C99 = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I.", "-Iinclude")
CORE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "core").glob("*.c"))
EXECUTES = tuple(f"core/{name}.c" for name in ("execute", "places", "runtime"))
CHECKS, NAMES, FILLS = "core/validate.c", "core/names.c", "core/fill.c"
EXECUTES_BYTES, CHECKS_BYTES, NAMES_BYTES, FILLS_BYTES = 2048, 2000, 512, 256
TRUSTS = "-DTA_TRUST_TABLES"
"""A build in which CHECKS is a few instructions instead."""
TRUSTS_BYTES = 64

Tool = Callable[[str], str]


def text_bytes(folder: Path, *sources: str) -> int:
    """Code and read-only data of parts of the core on a Cortex-M55, for size; flags may be among them."""
    joined, machine = folder / "core.o", MACHINES["mps3-an547"]
    command = (COMPILER, *machine.flags, "-Os", *C99, "-nostdlib", "-r", *sources, "-o", str(joined))
    subprocess.run(command, cwd=ROOT, check=True)
    listing = subprocess.run(
        ("arm-none-eabi-size", str(joined)), capture_output=True, text=True, check=True
    ).stdout
    return int(listing.splitlines()[1].split()[0])


def test_the_core_is_these_files() -> None:
    assert sorted((*EXECUTES, CHECKS, NAMES, FILLS)) == CORE


@pytest.mark.parametrize(
    ("sources", "most"),
    [
        (EXECUTES, EXECUTES_BYTES),
        ((CHECKS,), CHECKS_BYTES),
        ((CHECKS, TRUSTS), TRUSTS_BYTES),
        ((NAMES,), NAMES_BYTES),
        ((FILLS,), FILLS_BYTES),
    ],
    ids=["executes", "checks", "trusts", "names", "fills"],
)
def test_what_the_core_takes(needs_tool: Tool, tmp_path: Path, sources: tuple[str, ...], most: int) -> None:
    """What executes a bundle takes at most 2 KiB; the check of its tables and names count apart."""
    needs_tool(COMPILER)
    assert text_bytes(tmp_path, *sources) <= most


def test_names_are_linked_only_where_they_are_used(needs_tool: Tool, tmp_path: Path) -> None:
    needs_tool(COMPILER)
    joined = tmp_path / "core.o"
    machine = MACHINES["mps3-an547"]
    command = (COMPILER, *machine.flags, "-Os", *C99, "-nostdlib", "-r", *EXECUTES, CHECKS, "-o", str(joined))
    subprocess.run(command, cwd=ROOT, check=True)
    listing = subprocess.run(
        ("arm-none-eabi-nm", "-u", str(joined)), capture_output=True, text=True, check=True
    ).stdout
    assert "ta_status_name" not in listing
    assert "ta_failed_device" not in listing


def board(machine: Machine) -> tuple[SoC, Port]:
    """A description with code and data where every board has memory."""
    port = Port(name="qemu_mps2", machine=machine.name, code="code", data="data", stack=8192)
    memories = (
        Memory(name="code", size=512 * 1024, base=0),
        Memory(name="data", size=512 * 1024, base=0x2000_0000),
    )
    cpu = TargetArch(
        name="cpu", backend="c", device=DLDevice(type="kDLCPU", id=0), host=True, memory=("data",)
    )
    mode = MemoryMode(name="default", workspace=("data",), constants=("code",), io=("data",))
    soc = SoC(
        name="board",
        memories=memories,
        dmas=(),
        copies=(),
        archs=(cpu,),
        modes=(mode,),
        partitioning=("cpu",),
        ports=(port,),
    )
    return soc, port


@pytest.mark.parametrize("name", slow_except(["mps3-an547"], sorted(MACHINES)))
def test_port_conforms_and_skips_what_it_lacks(needs_tool: Tool, tmp_path: Path, name: str) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    machine = MACHINES[name]
    script = tmp_path / "board.ld"
    script.write_text(machine_script(*board(machine), machine, "ta_mps2"))
    folders = ("core", "ports/qemu_mps2", "conformance", "conformance/qemu_mps2")
    sources = [str(path) for folder in folders for path in sorted((ROOT / folder).glob("*.c"))]
    program = tmp_path / "conformance"
    link = ("-nostartfiles", "--specs=nosys.specs", f"-Wl,-T,{script}", "-Wl,--defsym=end=ta_bss_end", "-w")
    command = (COMPILER, *compile_flags(BARE_METAL, machine), "-O2", *C99, *sources, "-o", str(program))
    compiled = subprocess.run((*command, *link), cwd=ROOT, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run(
        (*BARE_METAL.command(name), str(program)), capture_output=True, text=True, check=False, timeout=120
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    kinds = {kind: [line for line in lines if line.startswith(f"{kind} ")] for kind in ("ok", "skip")}
    assert len(kinds["ok"]) + len(kinds["skip"]) + 1 == len(lines)
    assert any("calls on the host" in line for line in kinds["ok"])
    assert any("copies by DMA: sizes and alignments" in line for line in kinds["skip"])


@pytest.mark.parametrize("name", sorted(MACHINES))
@pytest.mark.parametrize("stray", slow_except(["DATA"], ["NOWHERE", "CONSTANTS", "DATA", "BEHIND"]))
def test_a_stray_write_is_caught(needs_tool: Tool, tmp_path: Path, name: str, stray: str) -> None:
    """The memory protection unit lets a kernel write to arenas and the stack alone."""
    done = emulated(needs_tool, tmp_path, name, ("stray.c",), f"-DSTRAY={stray}")
    assert done.returncode == (0 if stray == "NOWHERE" else 71), done.stderr
    assert ("neither an arena nor the stack" in done.stderr) == (stray != "NOWHERE")


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_a_late_step_is_reported(needs_tool: Tool, tmp_path: Path, name: str) -> None:
    """Deadlines count the time of the board's own clock."""
    done = emulated(needs_tool, tmp_path, name, ("late.c", str(ROOT / "deadline" / "deadline.c")))
    assert done.returncode == 0, done.stderr


def emulated(
    needs_tool: Tool, folder: Path, name: str, own: tuple[str, ...], *flags: str
) -> subprocess.CompletedProcess[str]:
    """A program of this folder on a board, with the workload of the conformance suite."""
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    machine = MACHINES[name]
    script = folder / "board.ld"
    script.write_text(machine_script(*board(machine), machine, "ta_mps2"))
    sources = [str(path) for each in ("core", "ports/qemu_mps2") for path in (ROOT / each).glob("*.c")]
    sources += [f"conformance/{each}.c" for each in ("system", "workload", "adder_driver")]
    sources += ["conformance/qemu_mps2/under_test.c", *(str(Path(__file__).parent / each) for each in own)]
    program = folder / "program"
    link = ("-nostartfiles", "--specs=nosys.specs", f"-Wl,-T,{script}", "-Wl,--defsym=end=ta_bss_end", "-w")
    compiler = (COMPILER, *compile_flags(BARE_METAL, machine), "-O2", *flags, *C99)
    compiled = subprocess.run(
        (*compiler, *sources, "-o", str(program), *link),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    command = (*BARE_METAL.command(name), str(program))
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
