"""Bundles on the Verilated core: equal to the behavioural simulator, two cores at once, what is refused."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.run import build, run_frames, verify, write_bundle
from target_arch.soc import read_soc
from tests.relax.models import onnx_model, quantized
from tests.rtl.conftest import REPOSITORY
from tests.slow import slow_except
from tests.step_deletion import delete_step, step_numbers

DIGITS = REPOSITORY / "examples" / "digits" / "digits_int8.onnx"
LOG = "TARGET_ARCH_RTL_CYCLES"

Compiled = tuple[CompiledModel, Path]
Compile = Callable[[Path, str], Compiled]

pytestmark = pytest.mark.usefixtures("verilated")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """`compiled(model, soc)`: the compilation, and the folder its bundle was written to."""

    @cache
    def one(model: Path, soc: str) -> Compiled:
        made = compile_model(CompileRequest(model_path=model, soc=read_soc(soc)))
        folder = tmp_path_factory.mktemp(f"{model.stem}_{soc}") / "bundle"
        write_bundle(made.bundle, folder)
        return made, folder

    return one


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "bundle", ignore=shutil.ignore_patterns("build")))


def frames(made: CompiledModel, count: int) -> tuple[bytes, ...]:
    sizes = [made.model.tensors[name] for name in made.model.inputs]
    draw = np.random.default_rng(3)
    return tuple(
        b"".join(
            draw.standard_normal(tensor.shape).astype(np.float32).tobytes()
            if tensor.dtype == "float32"
            else draw.bytes(tensor.bytes)
            for tensor in sizes
        )
        for _ in range(count)
    )


@pytest.mark.parametrize("soc", slow_except((), ["zynq_edge", "quad_conv"], by_hand=["quad_conv"]))
@pytest.mark.parametrize("name", slow_except(["digits"], ["digits", "kws"], by_hand=["kws"]))
def test_the_bundle_gives_the_same_bytes(
    compiled: Compile, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, soc: str,
) -> None:  # fmt: skip
    model = DIGITS if name == "digits" else request.getfixturevalue("shared") / "models" / "kws_int8.tflite"
    made, folder = compiled(model, soc)
    inputs = frames(made, 3)
    expected = run_frames(build(folder), inputs)
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    executable = build(copied(folder, tmp_path), rtl=True)
    assert run_frames(executable, inputs) == expected
    assert log.read_text().startswith("conv2d_engine 0 ")
    assert run_frames(executable, inputs, lazy=True) == expected
    assert run_frames(executable, inputs, jitter=5) == expected


@pytest.mark.slow
def test_the_bundle_agrees_with_the_reference(compiled: Compile, shared: Path, tmp_path: Path) -> None:
    model = shared / "models" / "kws_int8.tflite"
    _, folder = compiled(model, "quad_conv")
    verification = verify(model, copied(folder, tmp_path), count=3, rtl=True)
    assert verification.passed
    assert verification.equal == verification.outputs == 3
    assert verification.self_test == "passed"


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two convolutions of one input, added."""
    folder = tmp_path_factory.mktemp("fork")
    draw = np.random.default_rng(0)
    weights = {f"w{side}": (draw.standard_normal((32, 8, 3, 3)) * 0.2).astype(np.float32) for side in "ab"}
    nodes = [
        helper.make_node("Conv", ["x", "wa"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["x", "wb"], ["b"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (1, 8, 24, 24)}, {"y": (1, 32, 24, 24)}, weights)
    return quantized(model, folder, activations="QInt8", per_channel=True)


def core_times(log: Path) -> list[tuple[int, int, int]]:
    """Core, begin and end of every command."""
    return [tuple(int(field) for field in line.split()[1:4]) for line in log.read_text().splitlines()]  # type: ignore[misc]


@pytest.mark.slow
def test_two_cores_serve_one_model(
    compiled: Compile, fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, folder = compiled(fork, "quad_conv")
    inputs = frames(made, 2)
    expected = run_frames(build(folder), inputs)
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    assert run_frames(build(copied(folder, tmp_path), rtl=True), inputs) == expected
    assert {core for core, _, _ in core_times(log)} == {0, 1}


@pytest.mark.slow
def test_two_cores_run_at_once(
    compiled: Compile, fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step order gives the engines their work one after the other, so this starts commands itself.

    A busy machine may run two threads in turn: any one of several attempts has to show them at once.
    """
    _, folder = compiled(fork, "quad_conv")
    bundle = copied(folder, tmp_path)
    shutil.copy(Path(__file__).with_name("two_cores.c"), bundle / "src" / "runner.c")
    executable = build(bundle, rtl=True)
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    at_once = False
    for _ in range(25):
        subprocess.run([str(executable.runner)], check=True, timeout=120)
        (first, begin, end), (second, other_begin, other_end) = core_times(log)[-2:]
        assert first != second
        at_once = begin < other_end and other_begin < end
        if at_once:
            break
    assert at_once


@pytest.mark.slow
def test_a_dispatch_before_the_bitstream_is_loaded_is_an_error(compiled: Compile, tmp_path: Path) -> None:
    made, folder = compiled(DIGITS, "quad_conv")
    bundle = copied(folder, tmp_path)
    loads = step_numbers(bundle, "LOAD")
    assert len(loads) >= 1
    delete_step(bundle, loads[0])
    with pytest.raises(DiagnosticError, match="run failed with TA_ERROR_STATE"):
        run_frames(build(bundle, rtl=True), frames(made, 1))


def test_the_load_process_is_bytes_and_time(compiled: Compile) -> None:
    made, folder = compiled(DIGITS, "quad_conv")
    engines = {each.instance for each in made.graph.partitions} - {"host_cpu"}
    loads = {made.request.soc.instance(name).arch.load for name in engines}
    (load,) = loads
    assert (load.process, load.bytes, load.time) == ("bitstream", 512 * 1024, 4e-3)
    assert len(step_numbers(folder, "LOAD")) == len(engines)
    assert made.graph.facts is not None
    assert made.graph.facts.load == pytest.approx(len(engines) * load.time)


def test_a_bundle_without_such_a_device_is_refused(compiled: Compile) -> None:
    _, folder = compiled(DIGITS, "orin_like")
    with pytest.raises(DiagnosticError, match="no device of this bundle has RTL to simulate"):
        build(folder, rtl=True)


@pytest.mark.slow
def test_without_verilator_the_command_says_how_to_get_it(
    compiled: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, folder = compiled(DIGITS, "zynq_edge")
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder_of_programs in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder_of_programs).glob("*"):
            if program.name != "verilator" and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", str(programs))
    assert main(["run", str(copied(folder, tmp_path)), "--rtl"]) == 3
    said = capsys.readouterr().err
    assert "verilator: error: no Verilator: `verilator` not found [tool-missing]" in said
    assert "hint: install it (`apt-get install verilator`; `make simulators` installs all simulators)" in said
