"""The CUDA port, on a driver and a compiler of the test's own that run kernels on the CPU.

`cuda_on_cpu.cpp` implements what the port uses of the driver API, by its documentation. It shows that the
port asks for the right things in the right order; that NVIDIA's driver agrees shows on a GPU only. That
NVIDIA's compiler takes the modules is tested where it is installed (extra `cuda`).
"""

import ctypes
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch import calibrate_costs
from target_arch.api.views.times import measured
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.run import (
    Executable,
    ToolMissing,
    build,
    run_frames,
    run_self_test,
    verify,
    verify_models,
    write_bundle,
)
from target_arch.soc import read_soc
from tests.runtime_c.test_conformance import C99, ROOT, compile_c
from tests.slow import slow_except

SOURCE = Path(__file__).with_name("cuda_on_cpu.cpp")
DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.onnx"
FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-pthread")


SURVIVED = (
    "none: TA_OK, no device, stop TA_OK, then equal",
    r"launch: TA_ERROR_(DEVICE, cuda|DMA, copy_engine\.\d), stop TA_OK, then equal",
    r"copy: TA_ERROR_(DEVICE, cuda|DMA, copy_engine\.\d), stop TA_OK, then equal",
    "hang: TA_ERROR_TIMEOUT, cuda, stop TA_OK, then equal",
    r"stall: TA_ERROR_TIMEOUT, copy_engine\.\d, stop TA_OK, then equal",
    "lost: TA_ERROR_DEVICE, cuda, stop TA_OK, then equal",
)
"""What went wrong is told by the first that asks, a copy or a kernel."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Path:
    """The driver and the compiler that need no GPU, in one library."""
    made = tmp_path_factory.mktemp("cuda") / "libcuda_on_cpu.so"
    command = (needs_tool("g++"), *FLAGS, "-o", str(made), str(SOURCE), "-ldl")
    subprocess.run(command, check=True)
    return made


@pytest.fixture
def on_cpu(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TA_CUDA_DRIVER", str(library))
    monkeypatch.setenv("TA_CUDA_COMPILER", str(library))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits") / "bundle"
    request = CompileRequest(model_path=DIGITS, soc=read_soc("orin_like"), port="cuda")
    write_bundle(compile_model(request).bundle, folder)
    return folder


@pytest.fixture(scope="module")
def executable(bundle: Path, needs_tool: Callable[[str], str]) -> Executable:
    needs_tool("gcc")
    return build(bundle)


@pytest.mark.parametrize("compiler", slow_except((), ["gcc", "clang"], by_hand=["clang"]))
def test_the_port_conforms(
    compiler: str, library: Path, on_cpu: None, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool(compiler)
    folders = ("core", "ports/cuda", "conformance", "conformance/cuda")
    sources = [str(path) for name in folders for path in sorted((ROOT / name).glob("*.c"))]
    program = tmp_path / "conformance"
    flags = ("-O1", "-g")
    compile_c(compiler, *C99, *flags, "-I.", "-Iinclude", *sources, "-o", str(program), "-ldl")
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    passed = [line for line in lines if line.startswith("ok ")]
    for what in (
        "copies by DMA: sizes and alignments",
        "calls on another core",
        "another core reads shared memory",
    ):
        assert any(what in line for line in passed), done.stdout
    reason = "constants are out of the device's reach"
    assert any(
        line.startswith("skip") and line.endswith(f"another core reads constants: {reason}") for line in lines
    )
    assert not any(line.startswith("not ok") for line in lines)
    assert len(passed) > 10


@pytest.mark.slow
def test_digits_run_as_a_module(bundle: Path, on_cpu: None) -> None:
    found = verify(DIGITS, bundle, count=5)
    assert found.passed, str(found)
    assert found.self_test == "passed"


@pytest.mark.slow
def test_every_step_of_a_device_is_timed(bundle: Path, on_cpu: None) -> None:
    steps = measured(bundle, None).steps
    done = [step for step in steps if step.what.startswith(("copy", "dispatch"))]
    assert any(step.what.endswith("on cuda") for step in done)
    assert all(step.seconds > 0 and step.predicted is not None for step in done)


@pytest.mark.long
def test_a_device_is_calibrated(on_cpu: None) -> None:
    report = calibrate_costs([DIGITS], "orin_like", port="cuda")
    made = report.costs.calibration
    assert made is not None
    assert made.tools.endswith(", a CPU")
    assert report.costs.fitted["cuda"].rates.keys() >= {"launch", "turn, products of int8"}
    assert report.costs.fitted.keys() == {"cuda", "host_cpu"}
    assert {path.engine for path in report.costs.copies} == {"copy_engine"}
    assert report.costs.orders.keys() == {"copy_engine", "cuda"}
    assert all(0 < each < 0.01 for order in report.costs.orders.values() for each in order.usual)
    assert "a step of cuda takes " in str(report)


def test_the_module_is_the_image_and_lies_beside_it_as_text(bundle: Path) -> None:
    tag, _, text = (bundle / "src" / "digits_int8_cuda_module.cu").read_text().partition("\n")
    assert "SPDX-License-Identifier" in tag
    assert 'extern "C" __global__' in text
    source = (bundle / "src" / "digits_int8_cuda_module.c").read_text()
    digits = source.partition("= {")[2].partition("}")[0].replace("\n", " ")
    assert bytes(int(each) for each in digits.split(",") if each.strip()) == text.encode() + b"\0"


@pytest.mark.parametrize("fault", ["launch", "copy"])
def test_a_failure_names_its_step_and_the_next_process_runs(
    executable: Executable, on_cpu: None, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The driver tells a failure to whoever asks first, a copy or a kernel, and goes on telling it."""
    monkeypatch.setenv("CUDA_ON_CPU_FAULT", fault)
    with pytest.raises(DiagnosticError) as caught:
        run_frames(executable, [bytes(sum(executable.input_bytes))])
    assert re.search(r"run failed with TA_ERROR_(DEVICE|DMA)", str(caught.value))
    assert str(caught.value).startswith("step ")
    monkeypatch.delenv("CUDA_ON_CPU_FAULT")
    assert run_self_test(executable) is True


@pytest.mark.slow
def test_a_kernel_that_does_not_end_is_a_timeout(
    bundle: Path, on_cpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_ON_CPU_FAULT", "hang")
    folder = shutil.copytree(bundle, tmp_path / "bundle", ignore=shutil.ignore_patterns("build"))
    command = ["make", "-s", "CPPFLAGS=-DTA_DEFAULT_TIMEOUT_US=200000u", "selftest"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "TA_ERROR_TIMEOUT" in done.stderr


@pytest.mark.slow
def test_every_fault_is_survived_in_one_process(
    bundle: Path, on_cpu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_ON_CPU_FAULT_S", "1")
    folder = Path(shutil.copytree(bundle, tmp_path / "bundle", ignore=shutil.ignore_patterns("build")))
    shutil.copy(SOURCE.with_name("cuda_faults.c"), folder / "src" / "runner.c")
    executable = build(folder, sanitize=("undefined",))
    frame = bytes(sum(executable.input_bytes))
    done = subprocess.run([executable.runner], input=frame, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b""), done.stdout
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(SURVIVED)
    for said, expected in zip(lines, SURVIVED, strict=True):
        assert re.fullmatch(expected, said), said


def test_no_driver(executable: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TA_CUDA_DRIVER", "libnothing_of_this_name.so")
    with pytest.raises(ToolMissing) as caught:
        run_self_test(executable)
    assert str(caught.value) == (
        "cuda: error: no CUDA driver: `libcuda.so.1` not found [tool-missing]\n"
        "hint: run it where an NVIDIA driver is installed; `port='host'` simulates the device"
    )


def test_no_device(executable: Executable, on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_ON_CPU_DEVICES", "0")
    with pytest.raises(ToolMissing) as caught:
        run_self_test(executable)
    assert str(caught.value) == (
        "cuda: error: the CUDA driver finds no device [tool-missing]\n"
        "hint: `nvidia-smi` lists what there is; `port='host'` simulates the device"
    )


def test_no_compiler(executable: Executable, on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TA_CUDA_COMPILER", "libnothing_of_this_name.so")
    with pytest.raises(ToolMissing) as caught:
        run_self_test(executable)
    assert str(caught.value) == (
        "nvrtc: error: no run-time compiler for CUDA C: `libnvrtc.so` not found [tool-missing]\n"
        "hint: install the CUDA toolkit, or nvidia-cuda-nvrtc and set TA_CUDA_COMPILER to its file"
    )


def test_other_devices_have_no_place_on_this_port() -> None:
    request = CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), port="cuda")
    with pytest.raises(
        DiagnosticError, match=r"port `cuda` has the host and devices that take modules"
    ) as caught:
        compile_model(request)
    assert caught.value.diagnostics[0].rule == "no-module"


def nvrtc() -> ctypes.CDLL:
    """NVIDIA's compiler, of the package or of the system."""
    found = importlib.util.find_spec("nvidia")
    folders = [] if found is None else list(found.submodule_search_locations or ())
    for folder in folders:
        for path in sorted(Path(folder).glob("*/lib/libnvrtc.so*")):
            return ctypes.CDLL(str(path))
    pytest.skip("no NVRTC: install the extra `cuda`")


@pytest.mark.parametrize("capability", [53, 87, 90])
def test_nvidias_compiler_takes_the_module(bundle: Path, capability: int) -> None:
    compiler = nvrtc()
    text = (bundle / "src" / "digits_int8_cuda_module.cu").read_bytes()
    program = ctypes.c_void_p()
    assert compiler.nvrtcCreateProgram(ctypes.byref(program), text, b"module.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture=compute_{capability}".encode(), b"--fmad=false")
    result = compiler.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetProgramLog(program, log)
    assert result == 0, log.value.decode()
    compiler.nvrtcDestroyProgram(ctypes.byref(program))


@pytest.mark.slow
def test_several_models_are_one_module(on_cpu: None, tmp_path: Path) -> None:
    models = tuple(
        CompileRequest(model_path=DIGITS, soc=read_soc("orin_like"), port="cuda", name=name) for name in "ab"
    )
    made = compile_models(ModelsRequest(models=models))
    assert [path for path in made.bundle.files if path.endswith(".cu")] == [
        "src/orin_like_models_cuda_module.cu"
    ]
    write_bundle(made.bundle, tmp_path)
    assert all(
        found.passed for found in verify_models({"a": DIGITS, "b": DIGITS}, tmp_path, count=2).values()
    )
