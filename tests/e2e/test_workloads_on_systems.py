"""Workloads without an operating system on an emulated Cortex-M7, and in tasks of FreeRTOS there and here."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
from target_arch.plan.workloads.tasks import TaskTimes, TaskWork, TimedTask
from target_arch.plan.workloads.workload import MICROSECOND, Overload, TimedModel, Timing, Workload
from target_arch.run import read_manifest, write_bundle
from target_arch.soc import read_soc
from target_arch.stages.workloads.response import analysis
from tests.e2e.conftest import DIGITS
from tests.systems import BARE_METAL, COMPILER, EMULATOR, MACHINES

HERE = Path(__file__).parent
PLACES = HERE / "freertos"
Tool = Callable[[str], str]
_MS = 10**9
TURN = 100 * MICROSECOND
"""About 400 instructions of the arbiter for each step."""
_NAMES = ("-DHEADER=<bundle.h>", '-DINTERNAL="src/bundle_internal.h"', "-DBUNDLE(name)=bundle##name")


def written(folder: Path, soc: str, port: str, *timings: Timing) -> Path:
    models = tuple(TimedModel(name=f"m{n}", file=DIGITS, timing=each) for n, each in enumerate(timings))
    chip = read_soc(soc)
    requests = tuple(
        CompileRequest(model_path=each.file, soc=chip, name=each.name, port=port) for each in models
    )
    workload = Workload(name="w", models=models)
    write_bundle(
        compile_models(ModelsRequest(models=requests, name="bundle", workload=workload)).bundle, folder
    )
    return folder


def built(folder: Path, program: str, flags: Sequence[str], kernel: Sequence[Path] = ()) -> Path:
    """A program of ours with the sources of a bundle and of a kernel."""
    sources = sorted(path for path in folder.rglob("*.c") if path.stem not in ("runner", "selftest"))
    own = (f"-I{folder}", f"-I{folder}/include", f"-I{folder}/runtime", str(HERE / program))
    made = folder / "program"
    files = map(str, (*sources, *kernel))
    subprocess.run((*flags, *_NAMES, *own, *files, "-lm", "-o", str(made)), check=True, cwd=folder)
    return made


def on_board(needs_tool: Tool) -> tuple[str, ...]:
    """The command of the compiler for the board."""
    needs_tool(EMULATOR)
    script = ("-nostartfiles", "-Wl,-T,mcu_m7.ld", "-Wl,-T,qemu_mps2.ld", "-Wl,--no-warn-rwx-segments")
    flags = ("-std=gnu99", "-O2", "-Wall", "-Wextra", "-DTA_SECTIONS", *MACHINES["mps2-an500"].flags)
    return (needs_tool(COMPILER), *flags, *script, f"-I{PLACES / 'cortex_m'}")


def emulated(program: Path) -> subprocess.CompletedProcess[str]:
    command = (*BARE_METAL.command("mps2-an500"), str(program))
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def every(milliseconds: int, priority: int) -> Timing:
    return Timing(period=milliseconds * _MS, deadline=milliseconds * _MS, priority=priority)


def asked(priority: int) -> Timing:
    return evolve(every(20 // priority, priority), demand=True, overload=Overload.QUEUE)


def kernel_of(shared: Path) -> tuple[Path, list[Path]]:
    """The folder of FreeRTOS, and its files that every port needs."""
    folder = shared / "third_party" / "FreeRTOS-Kernel"
    if not folder.is_dir():
        pytest.skip("needs FreeRTOS: its kernel in ../shared/third_party/FreeRTOS-Kernel")
    return folder, [folder / f"{name}.c" for name in ("tasks", "list", "queue")]


@pytest.mark.slow
def test_without_an_operating_system(needs_tool: Tool, tmp_path: Path) -> None:
    """The emulator takes 256 ns for an instruction, so a run takes 196 ms. With the longest run and step that
    it measured, the analysis is above the longest responses, and not far.
    """
    timings = (every(450, 2), every(1100, 1))
    folder = written(tmp_path, "mcu_m7", "qemu_mps2", *timings)
    done = emulated(built(folder, "workload_board.c", on_board(needs_tool)))
    assert done.returncode == 0, done.stderr
    lines = [[int(word) * MICROSECOND for word in line.split()] for line in done.stderr.splitlines()]
    models = read_manifest(folder).models
    tasks, measured = [], []
    for (_, _, run, step), model, timing in zip(lines, models, timings, strict=True):
        cost = run + (len(model.steps) + 1) * TURN
        times = TaskTimes(
            cost=cost, last=0, longest=step + TURN, longest_step=0, loss=0, losses=(), flights={}, flown={},
            counts={}, tails={}, hosted=cost, hosted_steps=(step + TURN,) * len(model.steps), pauses=0,
            where="", busy=cost,
        )  # fmt: skip
        tasks.append(TimedTask(name=model.name, timing=timing, steps=(TaskWork(takes=1),) * 2))
        measured.append(times)
    for response, line in zip(analysis(tasks, measured).responses, lines, strict=True):
        assert response.worst is not None
        assert line[1] <= response.worst <= 1.5 * line[1], (response, line)


@pytest.mark.slow
def test_freertos_on_a_cortex_m7(needs_tool: Tool, shared: Path, tmp_path: Path) -> None:
    root, kernel = kernel_of(shared)
    port = root / "portable" / "GCC" / "ARM_CM7" / "r0p1"
    folder = written(tmp_path, "mcu_m7", "qemu_mps2", asked(2), asked(1))
    flags = (*on_board(needs_tool), f"-I{PLACES}", f"-I{root / 'include'}", f"-I{port}")
    done = emulated(built(folder, "workload_freertos.c", flags, [*kernel, port / "port.c"]))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_freertos_on_a_computer(needs_tool: Tool, shared: Path, tmp_path: Path) -> None:
    root, kernel = kernel_of(shared)
    port = root / "portable" / "ThirdParty" / "GCC" / "Posix"
    folder = written(tmp_path, "zynq_edge", "host", asked(2), asked(1))
    paths = (PLACES, PLACES / "posix", root / "include", port, port / "utils")
    flags = (needs_tool("cc"), "-std=gnu99", "-O1", "-pthread", *(f"-I{path}" for path in paths))
    own = [*kernel, port / "port.c", port / "utils" / "wait_for_event.c"]
    program = built(folder, "workload_freertos.c", flags, own)
    done = subprocess.run((str(program),), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
