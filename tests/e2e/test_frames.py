"""Frames in flight, executed: bit-equal to runs, in order, whatever takes how long and fails."""

import re
import subprocess
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from conformance import soak_frames
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.frames import FramePipeline
from target_arch.plan.memory import IoOwner
from target_arch.plan.steps import Dispatch
from target_arch.resources import examples
from target_arch.run import build, verify, write_bundle
from target_arch.run.executables.executable import Executable
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS, PORTABLE
from tests.slow import slow_except
from tests.stages.check.test_frames import recurrent

PROGRAM = Path(__file__).parent / "frames.c"
LENT = Path(__file__).parent / "lent_frames.c"
RUNTIME = Path(__file__).parents[2] / "runtime_c"
FRAMES = 200


def written(model: Path, soc: str, folder: Path, **options: object) -> Path:
    request = CompileRequest(model_path=model, soc=read_soc(soc), frames="auto", **options)  # type: ignore[arg-type]
    write_bundle(compile_model(request).bundle, folder)
    return folder


def outputs(program: Executable, frames: bytes, *options: str) -> bytes:
    command = (str(program.runner.absolute()), *options)
    done = subprocess.run(command, input=frames, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def random_frames(program: Executable, seed: int) -> bytes:
    """Small floats where a frame is of floats, else any bytes."""
    size = sum(program.input_bytes)
    random = np.random.default_rng(seed)
    if program.manifest.models[0].inputs[0].dtype == "float32":
        return random.normal(size=size // 4 * FRAMES).astype(np.float32).tobytes()
    return random.integers(0, 256, size * FRAMES, dtype=np.uint8).tobytes()


def check_bits(folder: Path, *modes: tuple[str, ...]) -> None:
    program = build(folder, optimize="-O1")
    frames = random_frames(program, 3)
    alone = outputs(program, frames)
    assert len(alone) == FRAMES * sum(program.output_bytes)
    for mode in modes:
        assert outputs(program, frames, "--in-flight", *mode) == alone, mode


def test_digits(tmp_path: Path) -> None:
    check_bits(written(DIGITS, "zynq_edge", tmp_path / "b"), (), ("--lazy",), ("--jitter", "5"))


@pytest.mark.slow
def test_verify(tmp_path: Path) -> None:
    folder = written(DIGITS, "zynq_edge", tmp_path / "b")
    found = verify(DIGITS, folder, count=20)
    assert (found.passed, found.in_flight) == (True, 20)
    assert "  in flight           20 of 20 frames as single runs\n" in str(found)
    assert not evolve(found, in_flight=19).passed


def test_states_go_from_frame_to_frame(tmp_path: Path) -> None:
    model = recurrent(tmp_path / "recurrent.onnx")
    folder = written(model, "zynq_edge", tmp_path / "b", states={"h": "h_out"}, prefer={"*": "dsp_cpu"})
    check_bits(folder, (), ("--lazy",), ("--jitter", "5"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "soc"), [("kws_int8", "zynq_edge"), ("kws_int8", "orin_like"), ("ad01_int8", "vta_edge")]
)
def test_models(model: str, soc: str, shared: Path, tmp_path: Path) -> None:
    check_bits(written(shared / "models" / f"{model}.tflite", soc, tmp_path / "b"), ("--jitter", "1"))


def on_cores(folder: Path, model: Path = DIGITS, soc: str = "dual_m33", **options: object) -> Path:
    """A bundle whose frames take turns on the cores of a chip."""
    chip = read_soc(examples() / "cores" / f"{soc}.toml")
    made = compile_model(CompileRequest(model_path=model, soc=chip, frames="auto", **options))  # type: ignore[arg-type]
    assert made.frames is not None
    assert made.frames.cores == tuple(sorted(each.name for each in chip.instances))
    write_bundle(made.bundle, folder)
    return folder


def test_frames_take_turns_on_cores(tmp_path: Path) -> None:
    check_bits(on_cores(tmp_path / "b"), (), ("--lazy",), ("--jitter", "5"))


def orders(frames: FramePipeline, core: str) -> int:
    """How often calls on a core come one behind the other: a port takes them as one order."""
    on_core = (isinstance(step, Dispatch) and step.instance == core for step in frames.order.steps)
    return sum(own for own, _ in groupby(on_core))


def apart(folder: Path) -> Path:
    """A bundle whose cores begin apart, as they would lose much where they wait for each other."""
    chip = read_soc(examples() / "cores" / "dual_m33.toml")
    late = tuple(
        arch if arch.cores is None else evolve(arch, cores=evolve(arch.cores, wake=1e-3))
        for arch in chip.archs
    )
    made = compile_model(CompileRequest(model_path=DIGITS, soc=evolve(chip, archs=late), frames="auto"))
    assert made.frames is not None
    assert made.frames.frames > len(made.frames.cores) == 2
    assert orders(made.frames, "second_cpu") == made.frames.rounds / 2
    write_bundle(made.bundle, folder)
    return folder


def test_cores_that_begin_apart(tmp_path: Path) -> None:
    check_bits(apart(tmp_path / "b"), (), ("--lazy",), ("--jitter", "5"))


@pytest.mark.slow
def test_turns_on_cores_of_aarch64(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Two threads of a program for another processor, which orders its stores less strictly."""
    folder = apart(tmp_path / "b")
    program = build(folder, optimize="-O1")
    frames = random_frames(program, 3)[: 50 * sum(program.input_bytes)]
    tool = f"CC={needs_tool('aarch64-linux-gnu-gcc')}"
    command = ("make", "-s", tool, "LDFLAGS=-static", "BUILD=arm", "arm/runner")
    subprocess.run(command, cwd=folder, check=True)
    for mode in ((), ("--in-flight",), ("--in-flight", "--jitter", "5")):
        run = (needs_tool("qemu-aarch64"), "arm/runner", *mode)
        done = subprocess.run(run, input=frames, cwd=folder, capture_output=True, check=True, timeout=300)
        assert done.stdout == outputs(program, frames), mode


@pytest.mark.slow
def test_turns_on_eight_cores(tmp_path: Path) -> None:
    check_bits(on_cores(tmp_path / "b", soc="octa_rv64"), (), ("--lazy",), ("--jitter", "5"))


@pytest.mark.parametrize(
    "sanitizer",
    slow_except((), ["address,undefined", "thread"], by_hand=["address,undefined"]),
)
def test_what_goes_wrong_on_cores(sanitizer: str, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Calls that fail, hang or come late are some of an order of several."""
    check_program(PROGRAM, apart(tmp_path / "b"), needs_tool("cc"), f"-fsanitize={sanitizer}", "-DTWO_CORES")


@pytest.mark.long
def test_slices_of_the_host(shared: Path, tmp_path: Path) -> None:
    model = shared / "models" / "ic_resnet_int8.tflite"
    folder = written(model, "quad_conv", tmp_path / "b", divide="host")
    check_bits(folder, ("--jitter", "1"))


@pytest.mark.long
@pytest.mark.parametrize("soc", ["zynq_edge", "quad_conv", "orin_like", "vta_edge", "corstone_u55"])
@pytest.mark.parametrize("model", ["kws_int8", "vww_96_int8", "ic_resnet_int8", "ad01_int8"])
def test_every_model_on_every_chip(model: str, soc: str, shared: Path, tmp_path: Path) -> None:
    test_models(model, soc, shared, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address,undefined", pytest.param("thread", marks=pytest.mark.long)])
def test_what_goes_wrong(sanitizer: str, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    folder = written(DIGITS, "zynq_edge", tmp_path / "b")
    check_program(PROGRAM, folder, needs_tool("cc"), f"-fsanitize={sanitizer}")


@pytest.mark.slow
def test_memory_of_the_caller(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    folder = written(DIGITS, "zynq_edge", tmp_path / "b", io=IoOwner.CALLER)
    check_bits(folder, (), ("--lazy",), ("--jitter", "5"))
    check_program(LENT, folder, needs_tool("cc"), "-fsanitize=address,undefined", "-DTA_LENT_CHECK")


def check_program(source: Path, folder: Path, cc: str, *more: str) -> None:
    """The program of a bundle finds no failure."""
    program = folder.parent / "program"
    sources = sorted(str(path) for path in folder.rglob("*.c") if path.stem not in ("runner", "selftest"))
    flags = f"-std=c99 -pedantic -Wall -Wextra -Werror -O1 {PORTABLE}".split()
    paths = (f"-I{folder}/include", f"-I{folder}/runtime", str(source), *sources, "-o", str(program))
    typed = f"-DDIGITS_TYPE={element_type(folder)}"
    subprocess.run((cc, *flags, *more, typed, "-pthread", *paths, "-lm"), check=True)
    done = subprocess.run((str(program),), capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout, done.returncode) == ("0 failures\n", 0), done.stdout + done.stderr


@pytest.mark.long
def test_faults_among_many_frames(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool("cc")
    command = (str(soak_frames.build(tmp_path)), "3000", "1")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout
    assert "3000 frames, 6 faults, 6 frames failed, 0 wrong, " in done.stdout


def element_type(folder: Path) -> str:
    """The C type of the model's input and output."""
    text = (folder / "include" / "digits_int8.h").read_text()
    found = re.search(r"_(?:frame_inputs|io) \{\n    const (\w+) ", text)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_frames_is_freestanding(compiler: str, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-ffreestanding", "-O2")
    paths = ("-I.", "-Iinclude", "-c", "frames/frames.c", "-o", str(tmp_path / "frames.o"))
    subprocess.run((needs_tool(compiler), *flags, *paths), check=True, cwd=RUNTIME)
