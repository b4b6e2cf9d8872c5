"""One model on three programs at once: this computer, a Hexagon DSP under QEMU, a Verilated engine."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.division import Divide
from target_arch.plan.memory import BufferKind, IoOwner
from target_arch.plan.resident import Resident
from target_arch.run import build, reference_for, run_frames, verify, write_bundle
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS
from tests.e2e.test_frames import outputs, random_frames
from tests.rtl.conftest import REPOSITORY

SOC = REPOSITORY / "examples" / "hexagon" / "hexagon_edge.toml"
CORE_LOG, RTL_LOG = "TARGET_ARCH_CORE_LOG", "TARGET_ARCH_RTL_CYCLES"

pytestmark = [pytest.mark.usefixtures("verilated"), pytest.mark.slow]

FAULTS = """\
none: TA_OK, no step, stop TA_OK, then equal
axi_dma error: TA_ERROR_DMA, axi_dma.0, stop TA_OK, then equal
ps_dma error: TA_ERROR_DMA, ps_dma.0, stop TA_OK, then equal
axi_dma never completes: TA_ERROR_TIMEOUT, axi_dma.0, stop TA_OK, then equal
ps_dma interrupt lost: TA_ERROR_TIMEOUT, ps_dma.0, stop TA_OK, then equal
engine resets: TA_ERROR_DEVICE, fpga_conv2d, stop TA_OK, then equal
engine interrupt lost: TA_ERROR_TIMEOUT, fpga_conv2d, stop TA_OK, then equal
dsp resets: TA_ERROR_DEVICE, dsp_cpu, stop TA_OK, then equal
dsp doorbell to the host lost: TA_ERROR_TIMEOUT, dsp_cpu, stop TA_OK, then equal
dsp doorbell to the dsp lost: TA_ERROR_TIMEOUT, dsp_cpu, stop TA_OK, then equal
"""


@pytest.fixture(scope="module")
def model(shared: Path) -> Path:
    return shared / "models" / "kws_int8.tflite"


@pytest.fixture(scope="module")
def bundle(model: Path, tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Path:
    """The bundle, built with firmware and RTL."""
    for name in ("clang", "ld.lld", "qemu-hexagon"):
        needs_tool(name)
    made = compile_model(CompileRequest(model_path=model, soc=read_soc(SOC)))
    folder = tmp_path_factory.mktemp("three_programs") / "bundle"
    write_bundle(made.bundle, folder)
    build(folder, rtl=True, firmware=True)
    return folder


@pytest.fixture(scope="module")
def frame(model: Path) -> bytes:
    (values,) = reference_for(model).frames(1, seed=3)
    return b"".join(value.tobytes() for value in values)


def emulators(process: int) -> list[str]:
    """The names of the processes that a process started."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return [Path(f"/proc/{child}/comm").read_text().strip() for child in children]


@pytest.mark.long
def test_three_programs_at_once(
    bundle: Path, model: Path, frame: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame in, the answer out, and then, while it waits for the next, all three are there."""
    (values,) = reference_for(model).frames(1, seed=3)
    expected = reference_for(model).answer(values)[0]
    for name in (CORE_LOG, RTL_LOG):
        monkeypatch.setenv(name, str(tmp_path / name))
    executable = build(bundle, rtl=True, firmware=True)
    assert b"Verilated" in executable.runner.read_bytes()
    with subprocess.Popen(
        [str(executable.runner)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
    ) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        runner.stdin.write(frame * 2)
        runner.stdin.flush()
        for name in (CORE_LOG, RTL_LOG):
            _wait_for(tmp_path / name)
        if Path(f"/proc/{runner.pid}/task/{runner.pid}/children").exists():
            assert emulators(runner.pid) == ["qemu-hexagon"]
        answers, _ = runner.communicate(timeout=120)
    assert answers == expected[0].tobytes() * 2
    assert {line.split()[0] for line in (tmp_path / RTL_LOG).read_text().splitlines()} == {"conv2d_engine"}
    assert {line.split()[0] for line in (tmp_path / CORE_LOG).read_text().splitlines()} == {"164"}
    steps = json.loads((bundle / "manifest.json").read_text())["models"][0]["steps"]
    channels = {step["event"].split("#")[0] for step in steps if step["kind"] == "copy" and step["event"]}
    assert {"ps_dma.0", "axi_dma.0"} <= channels


def _wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path.name} did not come")


def test_they_agree_with_the_reference(bundle: Path, model: Path) -> None:
    found = verify(model, bundle, count=3, rtl=True, firmware=True, record=False)
    assert found.passed, str(found)
    assert found.equal == found.outputs == 3
    assert found.self_test == "passed"


@pytest.mark.long
def test_divided_operators_and_residents(tmp_path: Path) -> None:
    """Slices on the DSP and the engine, with constants that stay there: 50 frames, each bit by bit."""
    request = CompileRequest(model_path=DIGITS, soc=read_soc(SOC), divide=Divide.AUTO, resident=Resident.AUTO)
    made = compile_model(request)
    shares = {share.instance for cut in made.division.values() for share in cut.shares}
    assert shares == {"dsp_cpu", "fpga_conv2d"}
    assert any(buffer.kind is BufferKind.RESIDENT for buffer in made.plan.buffers)
    write_bundle(made.bundle, tmp_path / "bundle")
    found = verify(DIGITS, tmp_path / "bundle", count=50, rtl=True, firmware=True, record=False)
    assert found.passed, str(found)
    assert found.equal == found.outputs == 50


def convolutions_with_a_state(path: Path) -> Path:
    """Two int8 convolutions, between which a state is added to what the next frame adds."""
    random, node = np.random.default_rng(1), helper.make_node
    constants = {
        "weights": random.integers(-100, 100, (16, 16, 3, 3)).astype(np.int8),
        "biases": random.integers(-500, 500, 16).astype(np.int32),
        "zero": np.int8(0),
        "zero32": np.int32(0),
    }
    scales = {"fine": 0.05, "coarse": 0.1, "weight": 0.01, "first": 0.0005, "second": 0.001}
    arrays = {**constants, **{name: np.float32(scale) for name, scale in scales.items()}}

    def read(name: str, scale: str, zero: str = "zero") -> onnx.NodeProto:
        return node("DequantizeLinear", [name, scale, zero], [f"{name}.{scale}"])

    def written(name: str, result: str) -> onnx.NodeProto:
        return node("QuantizeLinear", [name, "coarse", "zero"], [result])

    def convolution(x: str, biases: str, result: str) -> onnx.NodeProto:
        return node("Conv", [x, "weights.weight", biases], [result], pads=[1, 1, 1, 1])

    nodes = [
        read("weights", "weight"),
        read("biases", "first", "zero32"),
        read("biases", "second", "zero32"),
        read("x", "fine"),
        convolution("x.fine", "biases.first", "c"),
        written("c", "q"),
        read("q", "coarse"),
        read("h", "coarse"),
        node("Add", ["q.coarse", "h.coarse"], ["sum"]),
        written("sum", "h_out"),
        read("h_out", "coarse"),
        convolution("h_out.coarse", "biases.second", "d"),
        written("d", "y"),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.INT8, [1, 16, 8, 8])
        for name in ("x", "h", "y", "h_out")
    ]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "state", ends[:2], ends[2:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize(
    ("states", "io"),
    [
        (True, IoOwner.ARENA),
        *(pytest.param(False, owner, marks=pytest.mark.long) for owner in IoOwner),
    ],
)
def test_frames_in_flight(
    states: bool, io: IoOwner, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """200 frames on three programs, with the bits and the order of single runs on this computer."""
    needs_tool("qemu-hexagon")
    request = CompileRequest(model_path=DIGITS, soc=read_soc(SOC), frames="auto", io=io)
    if states:
        request = evolve(
            request,
            model_path=convolutions_with_a_state(tmp_path / "state.onnx"),
            states={"h": "h_out"},
            prefer={"*": "dsp_cpu", "conv2d_4": "fpga_conv2d"},
        )
    made = compile_model(request)
    assert made.frames is not None
    assert made.frames.frames > 1
    assert {"dsp_cpu", "fpga_conv2d"} <= {choice.instance for choice in made.graph.choices}
    write_bundle(made.bundle, tmp_path / "bundle")
    plain = build(tmp_path / "bundle")
    frames = random_frames(plain, 3)
    expected = outputs(plain, frames)
    assert outputs(build(tmp_path / "bundle", rtl=True, firmware=True), frames, "--in-flight") == expected


@pytest.mark.long
def test_every_fault_is_named_and_survived(bundle: Path, frame: bytes, tmp_path: Path) -> None:
    """On real programs: a run that fails names the device, and after stop and init the next one is right."""
    expected = run_frames(build(bundle, rtl=True, firmware=True), (frame,))[0]
    folder = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    shutil.copy(Path(__file__).with_name("three_programs_faults.c"), folder / "src" / "runner.c")
    executable = build(folder, rtl=True, firmware=True)
    done = subprocess.run(
        [str(executable.runner)], input=frame, capture_output=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout
    text, output = done.stdout[: -len(expected)].decode(), done.stdout[-len(expected) :]
    assert re.sub(r"(_dma)\.\d", r"\1.0", text) == FAULTS
    assert output == expected
