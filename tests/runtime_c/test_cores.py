"""Cores that share a program: at the same time on the host port, and as workers where there is no system."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.emit.build.machine import compile_flags, machine_script
from target_arch.soc.model import DLDevice, Memory, MemoryMode, Port, SoC, TargetArch
from tests.runtime_c.test_conformance import C99, CORE, ROOT, SANITIZERS, compile_c, files, links
from tests.runtime_c.test_models import run_on_host_port
from tests.slow import slow_except
from tests.systems import BARE_METAL, COMPILER, DUAL, EMULATOR

HERE = Path(__file__).parent
Tool = Callable[[str], str]
OF_CORES = (
    "a call",
    "both at once",
    "calls in order",
    "a failure is said once",
    "a call that stays too long",
    "stop and start",
    "a stack of its own",
    "out of reach",
)


@pytest.mark.parametrize(
    "looks",
    slow_except(["TA_HOST_SPIN_US=0"], ["TA_HOST_SPIN_US=200u", "TA_HOST_SPIN_US=1u", "TA_HOST_SPIN_US=0"]),
)
@pytest.mark.parametrize("sanitizer", slow_except(["tsan"], ["plain", "tsan"]))
def test_two_cores_meet_in_every_run(looks: str, sanitizer: str, needs_tool: Tool, tmp_path: Path) -> None:
    """A thread sanitizer sees what each core wrote for the other without a lock."""
    needs_tool("gcc")
    lines = run_on_host_port("gcc", sanitizer, tmp_path, f"-D{looks}", str(HERE / "cores.c"))
    assert lines == ["500 runs, both cores in each"]


def conforms(lines: list[str], *, skipped: str = "") -> None:
    """Nothing failed, and every test of further cores ran but those that are said to be skipped."""
    kinds = {kind: [line for line in lines if line.startswith(f"{kind} ")] for kind in ("ok", "skip")}
    assert len(kinds["ok"]) + len(kinds["skip"]) + 1 == len(lines), "\n".join(lines)
    done = [line.partition("a core of the host: ")[2] for line in kinds["ok"] if "a core of" in line]
    assert done == [name for name in OF_CORES if name != skipped]


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", sorted(SANITIZERS))
def test_workers_conform_as_threads(sanitizer: str, needs_tool: Tool, tmp_path: Path) -> None:
    needs_tool("gcc")
    if not links("gcc", SANITIZERS[sanitizer], tmp_path):
        pytest.skip(f"gcc cannot link with {sanitizer}: install its sanitizer libraries")
    suite = [each for each in files("conformance", "*.c") if each.count("/") == 1]
    parts = (
        *CORE,
        *files("workers", "*.c"),
        *files("ports/null", "*.c"),
        *files("conformance/workers", "*.c"),
    )
    program = tmp_path / "workers"
    options = (*C99, *SANITIZERS[sanitizer], "-I.", "-Iinclude")
    compile_c("gcc", *options, *parts, *suite, "-lpthread", "-o", str(program))
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    conforms(done.stdout.splitlines(), skipped="a stack of its own")


@pytest.mark.parametrize("flags", [("-mcpu=cortex-m0plus", "-mthumb"), DUAL.flags], ids=["m0+", "m33"])
def test_workers_need_no_compare_and_swap(flags: tuple[str, ...], needs_tool: Tool, tmp_path: Path) -> None:
    needs_tool(COMPILER)
    made = str(tmp_path / "workers.o")
    options = (*C99, *flags, "-Wconversion", "-ffreestanding", "-Os", "-I.", "-Iinclude")
    compile_c(COMPILER, *options, "-c", "workers/workers.c", "-o", made)
    listing = subprocess.run(("arm-none-eabi-nm", "-u", made), capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in listing.stdout.splitlines()} <= {"ta_pointer", "memcpy", "memset"}


def board() -> tuple[SoC, Port]:
    """A description with code and data where the board of two cores has memory."""
    port = Port(name="qemu_sse200", machine=DUAL.name, code="code", data="data", stack=8192)
    size = 512 * 1024
    memories = (
        Memory(name="code", size=size, base=0x1000_0000),
        Memory(name="data", size=size, base=0x3800_0000),
    )
    cpu = TargetArch(
        name="cpu", backend="c", device=DLDevice(type="kDLCPU", id=0), host=True, memory=("data",)
    )
    soc = SoC(
        name="board",
        memories=memories,
        dmas=(),
        copies=(),
        archs=(cpu,),
        modes=(MemoryMode(name="default", workspace=("data",), constants=("code",), io=("data",)),),
        partitioning=("cpu",),
        ports=(port,),
    )
    return soc, port


@pytest.mark.slow
def test_the_board_of_two_cores_conforms(needs_tool: Tool, tmp_path: Path) -> None:
    """Without `-icount` QEMU executes each core in a thread of its own, so that both compute at once."""
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    script = tmp_path / "board.ld"
    script.write_text(machine_script(*board(), DUAL, "ta_mps2"))
    folders = (
        "core",
        "workers",
        "ports/qemu_mps2",
        "ports/qemu_sse200",
        "conformance",
        "conformance/qemu_sse200",
    )
    sources = [str(path) for folder in folders for path in sorted((ROOT / folder).glob("*.c"))]
    program = tmp_path / "conformance"
    link = ("-nostartfiles", "--specs=nosys.specs", f"-Wl,-T,{script}", "-Wl,--defsym=end=ta_bss_end", "-w")
    command = (COMPILER, *compile_flags(BARE_METAL, DUAL), "-O2", *C99, "-I.", "-Iinclude", *sources)
    compiled = subprocess.run(
        (*command, *link, "-o", str(program)), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stderr
    emulator = [word for word in BARE_METAL.command(DUAL.name) if word != "-icount" and "shift=" not in word]
    done = subprocess.run((*emulator, str(program)), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    conforms(done.stderr.splitlines())
