"""Whole models through the library: every bit as LiteRT's reference kernels, on host and emulated board."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.resources import examples
from target_arch.run import build, reference_for, run_frames, verify, write_bundle
from tests.backends.cmsis_nn.conftest import Changed, library_soc
from tests.systems import COMPILER, EMULATOR

EXAMPLE = str(examples() / "c_library" / "soc.toml")
SLOW = pytest.mark.slow
CALLS = {"kws_int8": 11, "ad01_int8": 10, "ic_resnet_int8": 11, "vww_96_int8": 29}
MODELS = (
    "kws_int8",
    "ad01_int8",
    *(pytest.param(name, marks=SLOW) for name in ("ic_resnet_int8", "vww_96_int8")),
)


def made(shared: Path, name: str, port: str = "host", **options: int | float | str | bool) -> CompiledModel:
    model = shared / "models" / f"{name}.tflite"
    return compile_model(CompileRequest(model_path=model, soc=library_soc(**options), port=port))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_equal_to_the_bit(shared: Path, tmp_path: Path, name: str) -> None:
    compilation = made(shared, name)
    notes = [note for kernel in compilation.kernels.values() for note in kernel.notes]
    assert sum(" by arm_" in note for note in notes) == CALLS[name]
    write_bundle(compilation.bundle, tmp_path / name)
    found = verify(shared / "models" / f"{name}.tflite", tmp_path / name, count=10)
    assert found.passed, str(found)
    assert found.equal == found.outputs == 10
    assert found.self_test == "passed"


def test_scratch_is_in_the_plan(shared: Path) -> None:
    plan = made(shared, "kws_int8").plan
    sizes = {buffer.name: buffer.bytes for buffer in plan.buffers if buffer.name.endswith(".scratch")}
    assert sizes["p0.conv2d_0.scratch"] == 10 * 4 * 2
    assert sizes["p0.avg_pool2d_9.scratch"] == 64 * 4
    assert len(sizes) == 10, "nine convolutions and a pool; what dense_10 wants is a constant"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kws_int8", "ad01_int8"])
def test_in_the_emulator(shared: Path, tmp_path: Path, needs_tool: Callable[[str], str], name: str) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    write_bundle(made(shared, name, port="qemu_mps2").bundle, tmp_path / name)
    found = verify(shared / "models" / f"{name}.tflite", tmp_path / name, count=2)
    assert found.equal == found.outputs == 2, str(found)
    image = build(tmp_path / name).image
    assert image is not None
    assert image.differences == ()


@pytest.mark.slow
def test_a_library_left_where_it_is(
    shared: Path, tmp_path: Path, needs_tool: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bundle"
    write_bundle(made(shared, "ad01_int8", carry=False).bundle, folder)
    assert not (folder / "libraries").exists()
    monkeypatch.delenv("CMSIS_NN", raising=False)
    with pytest.raises(DiagnosticError) as refusal:
        build(folder)
    assert str(refusal.value) == (
        f"{folder}: error: the bundle needs the library `cmsis_nn` and does not carry it: `CMSIS_NN` is not "
        "set [library-missing]\nhint: set the environment variable `CMSIS_NN` to the library's folder"
    )
    make = [needs_tool("make"), "-s", "-C", str(folder), "selftest"]
    answer = subprocess.run(make, capture_output=True, text=True, check=False)
    assert "set CMSIS_NN to the folder of the library `cmsis_nn`" in answer.stderr
    monkeypatch.setenv("CMSIS_NN", str(tmp_path))
    with pytest.raises(DiagnosticError, match=f"`{tmp_path}` is not it"):
        build(folder)
    monkeypatch.setenv("CMSIS_NN", str(examples() / "c_library"))
    found = verify(shared / "models" / "ad01_int8.tflite", folder, count=3)
    assert found.equal == found.outputs == 3
    answer = subprocess.run(make, capture_output=True, text=True, check=False)
    assert answer.stdout.startswith("pass"), answer.stderr


@pytest.mark.parametrize("carry", [True, False])
def test_cmake_builds_it(shared: Path, tmp_path: Path, needs_tool: Callable[[str], str], carry: bool) -> None:
    write_bundle(made(shared, "ad01_int8", carry=carry).bundle, tmp_path / "bundle")
    cmake, build_folder = needs_tool("cmake"), str(tmp_path / "build")
    library = {} if carry else {"CMSIS_NN": str(examples() / "c_library")}
    environment = {**os.environ, **library}
    for command in (["-S", str(tmp_path / "bundle"), "-B", build_folder], ["--build", build_folder]):
        subprocess.run([cmake, *command], check=True, capture_output=True, env=environment)


@pytest.mark.slow
def test_make_builds_what_is_carried(shared: Path, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    write_bundle(made(shared, "ad01_int8").bundle, tmp_path / "bundle")
    make = [needs_tool("make"), "-s", "-C", str(tmp_path / "bundle"), "selftest"]
    assert subprocess.run(make, capture_output=True, text=True, check=True).stdout.startswith("pass")


def test_a_library_that_refuses_while_it_runs_stops_the_model(
    shared: Path, tmp_path: Path, changed: Changed
) -> None:
    copy = changed("source/arm_avgpool_s8.c", "if (count == 0)", "if (count != 0)")
    write_bundle(made(shared, "kws_int8", library=str(copy)).bundle, tmp_path / "bundle")
    executable = build(tmp_path / "bundle")
    (frame,) = reference_for(shared / "models" / "kws_int8.tflite").frames(1, seed=0)
    with pytest.raises(DiagnosticError, match=r"step 9 .*dispatch avg_pool2d_9.*TA_ERROR_DEVICE"):
        run_frames(executable, [b"".join(part.tobytes() for part in frame)])


def test_the_options_of_the_command_line(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, library = str(shared / "models" / "ad01_int8.tflite"), tmp_path / "own"
    shutil.copytree(examples() / "c_library", library)
    bundle = str(tmp_path / "bundle")
    options = ["--host_cpu-library", str(library), "--host_cpu-carry=false"]
    assert main(["compile", model, "--soc", EXAMPLE, *options, "-o", bundle]) == 0
    assert str(tmp_path) not in (tmp_path / "bundle" / "manifest.json").read_text()
    assert str(tmp_path) not in (tmp_path / "bundle" / "Makefile").read_text()
    assert "bundle in" in capsys.readouterr().out
