"""Register maps, drivers and simulators of the engines: one description, and faults not wrong answers."""

import ctypes
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.backends.conv2d_engine import registers as conv2d_engine
from target_arch.backends.gemm_npu import registers as gemm_npu
from target_arch.backends.registers import STATUS, RegisterMap
from target_arch.backends.sources import driver_files, simulator_files
from target_arch.plan.arithmetic import multiply_onnx, multiply_tflite, multiply_tflite_single
from target_arch.plan.kernels import Operand
from tests.backends.engines import Device, bench

Build = Callable[[str], ctypes.CDLL]
RUNTIME = Path(__file__).parent.parent.parent / "runtime_c"
RTL = RUNTIME.parent / "rtl"
MAPS = {"conv2d_engine": conv2d_engine.REGISTERS, "gemm_npu": gemm_npu.REGISTERS}
OK, ARGUMENT, STATE, DEVICE, BUSY = 0, 1, 3, 7, 9
CODES = {name: value for name, value, _ in STATUS}
INPUT, WEIGHTS, PARAMETERS, OUTPUT, SUMS = 0, 64, 128, 192, 256
ONE_BY_ONE = {"ROWS": 1, "DEPTH": 1, "COLUMNS": 1, "FLAGS": 3}
SCALING = {"INPUT_ZERO_POINT": 0, "OUTPUT_ZERO_POINT": 0, "CLAMP_MIN": -128, "CLAMP_MAX": 127, "ROUNDING": 0}
PIXEL = dict.fromkeys((name for name, _ in conv2d_engine.REGISTERS.words[:10]), 1) | {
    "PAD_TOP": 0,
    "PAD_LEFT": 0,
}
WORDS = {"conv2d_engine": {**PIXEL, **SCALING}, "gemm_npu": {**ONE_BY_ONE, **SCALING}}
ADDRESSES = {
    "conv2d_engine": (INPUT, WEIGHTS, PARAMETERS, OUTPUT),
    "gemm_npu": (INPUT, WEIGHTS, SUMS, PARAMETERS, OUTPUT),
}


@pytest.fixture(params=sorted(MAPS))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def device(build: Build, engine: str) -> Device:
    """One memory of 1 KiB at address 0, with parameters that are valid."""
    on = bench(engine, {"m": 1024})
    device = Device(build(engine), on.soc, on.instance)
    put(device, PARAMETERS, struct.pack("<iii", 0, 1 << 30, 0))
    return device


def put(device: Device, address: int, data: bytes) -> None:
    ctypes.memmove(ctypes.byref(device.memories["m"], address), data, len(data))


def start(device: Device, engine: str, **changes: int) -> int:
    words = {**WORDS[engine], **changes}
    ordered = [words[name] & 0xFFFFFFFF for name, _ in MAPS[engine].words]
    return device.start(ordered, ADDRESSES[engine])


def status(device: Device, engine: str) -> int:
    return int(device.library.engine_register(MAPS[engine].offsets["STATUS"]))


def test_the_header_is_what_python_says(engine: str) -> None:
    assert (RUNTIME / "drivers" / f"{engine}.h").read_text() == MAPS[engine].header()


def test_the_verilog_header_is_what_python_says() -> None:
    header = RTL / "conv2d_engine" / "conv2d_engine_registers.vh"
    assert header.read_text() == MAPS["conv2d_engine"].verilog_header()


def test_a_call_names_every_word_and_enough_operands(engine: str) -> None:
    registers: RegisterMap = MAPS[engine]
    operands = tuple(Operand(of="a", access="r") for _ in registers.operands)
    call = registers.call("go", "op", operands, WORDS[engine])
    assert call.words[-3:] == (0xFFFFFF80, 127, 0)
    with pytest.raises(ValueError, match="takes the words"):
        registers.call("go", "op", operands, {})
    with pytest.raises(ValueError, match="operands"):
        registers.call("go", "op", operands[:1], WORDS[engine])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_drivers_and_simulators_compile_without_a_warning(
    compiler: str, engine: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    files = {**driver_files(engine), **simulator_files(engine)}
    flags = [
        "-std=c99",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Werror",
        f"-I{RUNTIME / 'include'}",
    ]
    for path in sorted(files):
        assert (RUNTIME / path).read_text() == files[path]
        if path.endswith(".c"):
            command = [needs_tool(compiler), *flags, "-c", str(RUNTIME / path), "-o", str(tmp_path / "x.o")]
            subprocess.run(command, check=True)


def test_a_command_runs_and_polling_again_answers_the_same(device: Device, engine: str) -> None:
    assert device.poll() == STATE
    assert start(device, engine) == OK
    assert [device.poll(), device.poll()] == [OK, OK]
    assert status(device, engine) == CODES["DONE"]


def test_a_running_engine_is_busy(device: Device, engine: str) -> None:
    device.library.engine_write(MAPS[engine].offsets["START"], 1)
    assert device.poll() == BUSY


def test_a_command_starts_after_one_that_was_cancelled(device: Device, engine: str) -> None:
    device.library.engine_write(MAPS[engine].offsets["START"], 1)
    assert start(device, engine) == OK
    assert device.poll() == OK


def test_what_is_no_command_is_refused(device: Device, engine: str) -> None:
    words = [0] * len(MAPS[engine].words)
    assert device.start(words[1:], ADDRESSES[engine]) == ARGUMENT
    assert device.start(words, ADDRESSES[engine][:2]) == ARGUMENT
    assert device.start(words, (*ADDRESSES[engine], 0, 0)) == ARGUMENT
    assert device.start(words, (1 << 32, *ADDRESSES[engine][1:])) == ARGUMENT
    assert device.poll() == STATE


@pytest.mark.parametrize(
    ("engines", "changes", "fault"),
    [
        ("conv2d_engine", {"IN_HEIGHT": 0}, "FAULT_GEOMETRY"),
        ("conv2d_engine", {"OUT_CHANNELS": 0}, "FAULT_GEOMETRY"),
        ("conv2d_engine", {"STRIDE_WIDTH": 0x10000}, "FAULT_GEOMETRY"),
        ("conv2d_engine", {"PAD_TOP": 1}, "FAULT_GEOMETRY"),
        ("conv2d_engine", {"IN_HEIGHT": 1025}, "FAULT_ADDRESS"),
        ("conv2d_engine", {"OUT_WIDTH": 833}, "FAULT_ADDRESS"),
        ("gemm_npu", {"ROWS": 0}, "FAULT_GEOMETRY"),
        ("gemm_npu", {"FLAGS": 4}, "FAULT_GEOMETRY"),
        ("gemm_npu", {"DEPTH": 1 << 24}, "FAULT_GEOMETRY"),
        ("gemm_npu", {"ROWS": 193}, "FAULT_ADDRESS"),
        ("gemm_npu", {"DEPTH": 1025, "FLAGS": 1}, "FAULT_ADDRESS"),
        *(
            (engine, changes, "FAULT_ARITHMETIC")
            for engine in sorted(MAPS)
            for changes in (
                {"ROUNDING": 3},
                {"INPUT_ZERO_POINT": 128},
                {"OUTPUT_ZERO_POINT": -129},
                {"CLAMP_MIN": 5, "CLAMP_MAX": 4},
            )
        ),
    ],
)
def test_a_bad_command_is_a_fault(build: Build, engines: str, changes: dict[str, int], fault: str) -> None:
    on = bench(engines, {"m": 1024})
    device = Device(build(engines), on.soc, on.instance)
    put(device, PARAMETERS, struct.pack("<iii", 0, 1 << 30, 0))
    before = device.memories["m"].raw
    assert start(device, engines, **changes) == OK
    assert device.poll() == DEVICE
    assert status(device, engines) == CODES[fault]
    assert device.memories["m"].raw == before


@pytest.mark.parametrize(("multiplier", "shift"), [(-1, 0), (1, 31), (1, -32)])
def test_parameters_out_of_range_are_a_fault(
    device: Device, engine: str, multiplier: int, shift: int
) -> None:
    put(device, PARAMETERS, struct.pack("<iii", 0, multiplier, shift))
    assert start(device, engine) == OK
    assert device.poll() == DEVICE
    assert status(device, engine) == CODES["FAULT_ARITHMETIC"]


def test_accumulators_must_be_aligned(build: Build) -> None:
    on = bench("gemm_npu", {"m": 1024})
    device = Device(build("gemm_npu"), on.soc, on.instance)
    words = [WORDS["gemm_npu"][name] & 0xFFFFFFFF for name, _ in MAPS["gemm_npu"].words]
    assert device.start(words, (INPUT, WEIGHTS, SUMS + 2, PARAMETERS, OUTPUT)) == OK
    assert status(device, "gemm_npu") == CODES["FAULT_ADDRESS"]


VALUES = (0, 1, -1, 2, -2, 3, 127, -128, 1 << 20, -(1 << 20), (1 << 31) - 1, -(1 << 31), 1 << 30, -(1 << 30))
TFLITE = [
    (m, s) for m in (0, 1 << 30, (1 << 30) + 1, (1 << 31) - 1) for s in (-31, -30, -8, -1, 0, 1, 12, 30)
]
ONNX = [(m, s) for m in (0, 1, 1 << 23, (1 << 24) - 1, (1 << 31) - 1) for s in (0, 1, 2, 24, 31, 32, 40, 62)]


@pytest.mark.parametrize(
    ("rounding", "scales"), [(0, TFLITE), (1, ONNX), (2, TFLITE)], ids=["tflite", "onnx", "tflite_single"]
)
def test_requantization_is_exact_at_the_extremes(
    device: Device, engine: str, rounding: int, scales: list[tuple[int, int]]
) -> None:
    scale = (multiply_tflite, multiply_onnx, multiply_tflite_single)[rounding]
    put(device, INPUT, b"\x00")
    for multiplier, shift in scales:
        # Values near the points where the result changes, besides the extremes.
        near = [sign * ((1 << max(0, min(30, 31 + shift))) + d) for sign in (1, -1) for d in (-1, 0, 1)]
        for bias in (*VALUES, *(value for value in near if abs(value) < 1 << 31)):
            put(device, PARAMETERS, struct.pack("<iii", bias, multiplier, shift))
            assert start(device, engine, ROUNDING=rounding, OUTPUT_ZERO_POINT=-7) == OK
            assert device.poll() == OK
            (result,) = struct.unpack("b", device.memories["m"].raw[OUTPUT : OUTPUT + 1])
            expected = min(max(scale(bias, multiplier, shift) - 7, -128), 127)
            assert result == expected, (bias, multiplier, shift)
