"""Workloads, executed: every job bit-equal to a run of its model alone, in order, whoever preempts whom."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsCompilation, ModelsRequest, compile_models
from target_arch.plan.memory import Arena, IoOwner
from target_arch.plan.printed.workloads import response_times
from target_arch.plan.workloads.workload import Overload, Schedule, TimedModel, Timing, Workload
from target_arch.run import write_bundle
from target_arch.soc import read_soc
from target_arch.stages.check.jobs import check_jobs
from target_arch.stages.errors import CheckError
from tests.e2e.conftest import DIGITS, PORTABLE
from tests.slow import slow_except

PROGRAM = Path(__file__).parent / "workload.c"
FAULTS = Path(__file__).parent / "workload_faults.c"
LENT = Path(__file__).parent / "lent_workload.c"
RUNTIME = Path(__file__).parents[2] / "runtime_c"
Tool = Callable[[str], str]
SANITIZERS = ("address,undefined", "thread")

_MS = 10**9


def timed(name: str, file: Path, period: int, priority: int, **more: object) -> TimedModel:
    timing = Timing(period=period * _MS, deadline=period * _MS, priority=priority)
    return TimedModel(name=name, file=file, timing=evolve(timing, **more))  # type: ignore[misc]


def compiled(
    *models: TimedModel,
    soc: str = "zynq_edge",
    only: dict[str, str] | None = None,
    io: IoOwner = IoOwner.ARENA,
    **options: object,
) -> ModelsCompilation:
    """Models in time; `only` are by name the devices to which some are confined."""
    workload = evolve(Workload(name="w", models=models, overhead=2_000_000), **options)  # type: ignore[misc]
    chip = read_soc(soc)
    devices = {each.name for each in chip.instances} - {chip.host.name}
    forbid = {each.name: {"*": tuple(sorted(devices - {only[each.name]}))} if only else {} for each in models}
    requests = tuple(
        CompileRequest(model_path=each.file, soc=chip, name=each.name, forbid=forbid[each.name], io=io)
        for each in models
    )
    return compile_models(ModelsRequest(models=requests, name="bundle", workload=workload))


def digits(*priorities: int, period: int = 4, **more: object) -> tuple[TimedModel, ...]:
    return tuple(timed(f"m{n}", DIGITS, period, priority, **more) for n, priority in enumerate(priorities))


@frozen
class Counts:
    """A line of the program."""

    released: int
    done: int
    late: int
    dropped: int
    failed: int
    response: int
    run: int
    step: int


def run(
    made: ModelsCompilation, cc: str, folder: Path, seconds: float, *modes: str, flags: tuple[str, ...] = ()
) -> list[Counts]:
    """The counts of each task. The program compares all outputs itself."""
    write_bundle(made.bundle, folder)
    sources = sorted(str(path) for path in folder.rglob("*.c") if path.stem not in ("runner", "selftest"))
    own = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2")
    names = ("-DHEADER=<bundle.h>", '-DINTERNAL="src/bundle_internal.h"', "-DBUNDLE(name)=bundle##name")
    paths = (f"-I{folder}/include", f"-I{folder}/runtime", f"-I{folder}", str(PROGRAM), *sources)
    program = folder / "program"
    subprocess.run((cc, *own, *names, *flags, "-pthread", *paths, "-o", str(program), "-lm"), check=True)
    done = subprocess.run(
        (str(program), str(seconds), ",".join(modes)),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 120,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return [Counts(*map(int, line.split()[1:])) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_priorities(needs_tool: Tool, tmp_path: Path) -> None:
    found = run(compiled(*digits(3, 2, 1)), needs_tool("cc"), tmp_path, 1.0)
    for each in found:
        assert each.done
        assert each.released >= 1000 // 4
    check_jobs_are_counted(*found)


def check_jobs_are_counted(*counts: Counts) -> None:
    """Every job but one that goes on is over or dropped, and none failed, however loaded the machine is."""
    for each in counts:
        assert each.failed == 0
        assert each.released - each.done - each.dropped in (0, 1)


APART = {"m0": "dsp_cpu", "m1": "fpga_conv2d", "m2": "dsp_cpu"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "sanitizer",
    [
        "-fsanitize=thread",
        *(pytest.param(more, marks=pytest.mark.long) for more in ("", "-fsanitize=address,undefined")),
    ],
)
def test_models_on_different_devices_run_at_once(sanitizer: str, needs_tool: Tool, tmp_path: Path) -> None:
    """Two on one device in turn, and both at once with one on another device."""
    made = compiled(*digits(3, 2, 1, period=20), only=APART)
    assert made.timed is not None
    assert [sorted(each) for each in made.timed.analysis.waits] == [[], [], [0]]
    assert "\nat once: m0 and m1, m1 and m2\n" in response_times(made.timed.analysis)
    flags = tuple(filter(None, (sanitizer,)))
    found = run(made, needs_tool("cc"), tmp_path, 1.0, flags=flags)
    assert all(each.done for each in found)
    check_jobs_are_counted(*found)


@pytest.mark.long
def test_copies_take_turns_where_that_keeps_a_deadline(
    shared: Path, needs_tool: Tool, tmp_path: Path
) -> None:
    """Two engines with one DMA engine: `vww` would be over after 25.4 ms if it waited for all of `ic`."""
    ic, vww = (shared / "models" / f"{name}.tflite" for name in ("ic_resnet_int8", "vww_96_int8"))
    models = (timed("ic", ic, 200, 2), timed("vww", vww, 200, 1, deadline=24 * _MS))
    engines = {"ic": "fpga_conv2d[0]", "vww": "fpga_conv2d[1]"}
    made = compiled(*models, soc="quad_conv", only=engines)
    assert made.timed is not None
    assert made.timed.analysis.waits == (frozenset(), frozenset())
    one, other = made.timed.tasks
    assert one.timelines & other.timelines == {"axi_dma.0", "axi_dma.1"}
    check_jobs_are_counted(*run(made, needs_tool("cc"), tmp_path, 2.0))


@pytest.mark.slow
def test_a_table(needs_tool: Tool, tmp_path: Path) -> None:
    models = [*digits(0), timed("slow", DIGITS, 8, 0, offset=_MS)]
    made = compiled(*models, schedule=Schedule.TABLE)
    fast, slow = run(made, needs_tool("cc"), tmp_path, 1.0)
    assert fast.released in range(2 * slow.released - 2, 2 * slow.released + 3)
    assert fast.done
    check_jobs_are_counted(fast, slow)


@pytest.mark.parametrize("sanitizer", slow_except((), SANITIZERS, by_hand=["address,undefined"]))
def test_requests_from_another_thread(sanitizer: str, needs_tool: Tool, tmp_path: Path) -> None:
    demand = timed("asked", DIGITS, 2, 5, demand=True, overload=Overload.DROP_OLDEST)
    made = compiled(demand, *digits(4, 3))
    flags = (f"-fsanitize={sanitizer}", "-g", PORTABLE)
    found = run(made, needs_tool("cc"), tmp_path, 1.0, "demand", "threads", flags=flags)
    assert found[0].done > 5
    assert all(each.failed == 0 for each in found)


@pytest.mark.parametrize("sanitizer", slow_except((), SANITIZERS, by_hand=["address,undefined"]))
def test_what_goes_wrong(sanitizer: str, needs_tool: Tool, tmp_path: Path) -> None:
    asked = timed("asked", DIGITS, 6, 1, demand=True, overload=Overload.QUEUE)
    made = compiled(*digits(3), timed("slower", DIGITS, 8, 2), asked)
    check_program(FAULTS, made, needs_tool("cc"), tmp_path, f"-fsanitize={sanitizer}")


def check_program(source: Path, made: ModelsCompilation, cc: str, folder: Path, *more: str) -> None:
    """The program of a bundle finds no failure."""
    write_bundle(made.bundle, folder / "b")
    sources = sorted(str(path) for path in folder.rglob("*.c") if path.stem not in ("runner", "selftest"))
    flags = (*f"-std=c99 -pedantic -Wall -Wextra -Werror -O1 {PORTABLE}".split(), *more)
    paths = (f"-I{folder}/b/include", f"-I{folder}/b/runtime", f"-I{folder}/b", str(source), *sources)
    program = folder / "program"
    subprocess.run((cc, *flags, "-pthread", *paths, "-o", str(program), "-lm"), check=True)
    done = subprocess.run((str(program),), capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout, done.returncode) == ("0 failures\n", 0), done.stdout + done.stderr


@pytest.mark.parametrize("schedule", slow_except((), Schedule, by_hand=[Schedule.TABLE]))
def test_memory_of_the_caller(schedule: Schedule, needs_tool: Tool, tmp_path: Path) -> None:
    """Nothing is copied, what is lent wrongly has a status, and all of it is given back."""
    made = compiled(*digits(2, 1, period=20), io=IoOwner.CALLER, schedule=schedule)
    lent = [pool for pool in made.pools.pools if pool.pool.caller]
    assert all(pool.bytes >= sum(pool.peaks) for pool in lent)
    assert len(lent) == 2
    flags = ("-fsanitize=address,undefined", "-DTA_LENT_CHECK")
    check_program(LENT, made, needs_tool("cc"), tmp_path, *flags)


@pytest.mark.slow
def test_models_are_placed_for_each_other() -> None:
    """Of four equal devices each model has one, as both are over sooner then."""
    alone = compiled(*digits(2, 1), soc="quad_conv")
    made = compiled(*digits(2, 1), soc="quad_conv", placement="together")
    first, second = (each.request.forbid["*"] for each in made.models)
    assert len(first) == len(second) == 3
    assert first != second
    assert made.timed is not None
    assert alone.timed is not None
    for response, before in zip(made.timed.analysis.responses, alone.timed.analysis.responses, strict=True):
        assert response.worst is not None
        assert before.worst is not None
        assert response.worst < before.worst


@pytest.mark.slow
def test_who_cannot_preempt_shares_memory() -> None:
    sram, alone = Arena("sram"), compiled(*digits(1, 1)).pools.pool(Arena("sram"))
    apart = compiled(*digits(2, 1)).pools
    assert (alone.bytes, apart.pool(sram).bytes) == (max(alone.peaks), sum(alone.peaks))
    three = compiled(*digits(2, 1, 2)).pools
    assert three.pool(sram).bytes == apart.pool(sram).bytes
    assert three.pool(sram).offsets[0] == three.pool(sram).offsets[2]
    inside = next(pool for pool in apart.pools if pool.pool.memory == "dsp_tcm")
    assert inside.bytes >= sum(inside.peaks)


def test_the_checker_finds_jobs_that_share_memory() -> None:
    made = compiled(*digits(2, 1))
    shared = evolve(
        made.pools,
        pools=tuple(
            evolve(pool, offsets=(0, 0)) if pool.pool == Arena("sram") else pool for pool in made.pools.pools
        ),
    )
    plans = {each.model.name: each.memory for each in made.models}
    assert made.timed is not None
    with pytest.raises(CheckError) as caught:
        check_jobs(read_soc("zynq_edge"), shared, plans, made.timed)
    assert str(caught.value) == (
        "model m1: error: overlaps `m0` in pool `sram`, and their jobs may be open at once [overlap]"
    )


def test_what_is_late_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compiled(timed("slow", DIGITS, 100, 9), timed("fast", DIGITS, 1, 1, deadline=30_000_000))
    text = str(caught.value)
    assert text.startswith("workload w: error: not schedulable: fast ")
    assert " of 30 us [not-schedulable]\nhint: any of these would help: " in text


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            {"arenas": "separate"},
            "arenas: error: in a workload, who may preempt whom says who shares memory [bad-workload]",
        ),
        (
            {"frames": 2},
            "frames: error: frames in flight are those of one model, several are given [no-frames]",
        ),
    ],
)
def test_what_a_workload_rules_out(option: dict[str, str], said: str) -> None:
    models, chip = digits(2, 1), read_soc("zynq_edge")
    own = {key: value for key, value in option.items() if key != "arenas"}
    requests = tuple(
        CompileRequest(model_path=each.file, soc=chip, name=each.name, **own)  # type: ignore[arg-type]
        for each in models
    )
    workload = Workload(name="w", models=models)
    arenas = option.get("arenas", "shared")
    with pytest.raises(DiagnosticError) as caught:
        compile_models(ModelsRequest(models=requests, arenas=arenas, workload=workload))
    assert str(caught.value) == said


@pytest.mark.slow
def test_long_steps_become_slices(needs_tool: Tool, tmp_path: Path) -> None:
    """The more urgent model waits less, and every bit is that of a run alone."""
    before, models = compiled(*digits(2, 1)), digits(2, 1)
    made = compiled(models[0], evolve(models[1], longest_step=30_000_000))
    assert before.timed is not None
    assert made.timed is not None
    (first, slow), (less, sliced) = before.timed.analysis.responses, made.timed.analysis.responses
    assert slow.times.longest > 30_000_000 >= sliced.times.longest
    assert less.blocked < first.blocked
    assert not made.models[0].division
    assert made.models[1].division
    check_jobs_are_counted(*run(made, needs_tool("cc"), tmp_path, 1.0))


@pytest.mark.slow
def test_steps_that_stay_too_long_are_refused() -> None:
    models = digits(2, 1)
    with pytest.raises(DiagnosticError) as caught:
        compiled(models[0], evolve(models[1], longest_step=1_000_000))
    assert re.fullmatch(
        r"workload w: error: a copy of `\S+` takes \d+ us at worst, and steps of `m1` may take 1 us "
        r'\[long-step\]\nhint: write `longest_step = "\d+ us"`, or forbid the device: the step is not '
        "divided further",
        str(caught.value),
    )


def test_a_table_that_would_be_too_long() -> None:
    odd = Timing(period=1_000_003 * 10**6, deadline=1_000_003 * 10**6)
    models = (TimedModel(name="a", file=DIGITS, timing=odd), *digits(2, period=1))
    with pytest.raises(DiagnosticError) as caught:
        compiled(*models, schedule=Schedule.TABLE)
    assert str(caught.value) == (
        "workload w: error: the table of times would have 1,001,003 jobs, 20,000 are allowed [long-table]\n"
        "hint: make the periods multiples of each other, or take priorities"
    )


def tiny(shared: Path) -> tuple[TimedModel, ...]:
    names = {"kws_int8": 33, "vww_96_int8": 66, "ic_resnet_int8": 100, "ad01_int8": 200}
    return tuple(
        timed(name.split("_")[0], shared / "models" / f"{name}.tflite", period, 4 - number)
        for number, (name, period) in enumerate(names.items())
    )


@pytest.mark.parametrize("soc", slow_except((), ["zynq_edge", "corstone_u55"], by_hand=["corstone_u55"]))
@pytest.mark.parametrize("seconds", [2, pytest.param(600, marks=pytest.mark.long)])
def test_the_tiny_models(seconds: int, soc: str, shared: Path, needs_tool: Tool, tmp_path: Path) -> None:
    """At 30, 15, 10 and 5 Hz, bits and order of every job."""
    found = run(compiled(*tiny(shared), soc=soc), needs_tool("cc"), tmp_path, seconds)
    for each, period in zip(found, (33, 66, 100, 200), strict=True):
        assert each.released >= seconds * 1000 // period
        assert each.failed == 0


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_arbiter_is_freestanding(compiler: str, needs_tool: Tool, tmp_path: Path) -> None:
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-ffreestanding", "-O2")
    paths = ("-I.", "-Iinclude", "-c", "workload/workload.c", "-o", str(tmp_path / "workload.o"))
    subprocess.run((needs_tool(compiler), *flags, *paths), check=True, cwd=RUNTIME)
