"""Two branches on the host and on a second core: at the same time, without copies, verified, and paid for."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from target_arch.pipeline import CompileRequest, compile_model, explain_model
from target_arch.plan.division import Divide
from target_arch.plan.memory import IoOwner
from target_arch.plan.steps import Copy, Dispatch
from target_arch.run import read_manifest, verify, write_bundle
from target_arch.soc import SoC, parse_soc, read_soc
from tests.e2e.conftest import DIGITS, PORTABLE
from tests.soc.test_cores import CORES, dual
from tests.systems import BARE_METAL, DUAL

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

CHANNELS, EXTENT = 8, 6
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "cores").glob("*.toml"))
FRAMES = 50
WITHOUT_COUNTING = tuple(
    word for word in BARE_METAL.command(DUAL.name) if word != "-icount" and "shift=" not in word
)
"""The emulator with a thread for each core."""
LENT = Path(__file__).parent / "lent_board.c"
PROGRAM = f"""\
#include <branches.h>
#include "ports/qemu_sse200/qemu_sse200.h"
#include "workers/workers.h"

static float first[BRANCHES_OUTPUT_Y_ELEMENTS];

/* The same frame over and over gives the same bits. Says how often the second core was woken. */
int main(void)
{{
    uint32_t i, frame, equal = 0;
    if (branches_init(&ta_port_qemu_sse200) != TA_OK)
        return 1;
    for (frame = 0; frame <= {FRAMES}; frame++) {{
        for (i = 0; i < BRANCHES_INPUT_X_ELEMENTS; i++)
            branches_input_x()[i] = (float)(i % 13u) - 6.0f;
        if (branches_run() != TA_OK)
            return 2;
        for (i = 0; i < BRANCHES_OUTPUT_Y_ELEMENTS && frame != 0; i++)
            if (first[i] != branches_output_y()[i])
                return 3;
        for (i = 0; i < BRANCHES_OUTPUT_Y_ELEMENTS; i++)
            first[i] = branches_output_y()[i];
        equal += frame != 0;
    }}
    ta_mps2_say_number((int32_t)equal);
    ta_mps2_say(" equal, woken ");
    ta_mps2_say_number((int32_t)ta_workers_wakes(1));
    ta_mps2_say(ta_sse200_stack_used() < 2048u ? ", stack large enough\\n" : ", stack too small\\n");
    return branches_stop() == TA_OK ? 0 : 4;
}}
"""


@pytest.fixture(scope="module")
def branches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two convolutions of one input, joined."""
    random = np.random.default_rng(7)
    shape = [1, CHANNELS, EXTENT, EXTENT]
    weights = [random.standard_normal((CHANNELS // 2, CHANNELS, 3, 3)).astype(np.float32) for _ in "ab"]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "wa"], ["a"], pads=[1, 1, 1, 1]),
            helper.make_node("Conv", ["x", "wb"], ["b"], pads=[1, 1, 1, 1]),
            helper.make_node("Concat", ["a", "b"], ["y"], axis=1),
        ],
        "branches",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(each, f"w{name}") for name, each in zip("ab", weights, strict=True)],
    )
    path = tmp_path_factory.mktemp("model") / "branches.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def chip(wake: str = "1 us") -> SoC:
    """A dual Cortex-M whose cores share flash and SRAM."""
    text = dual(CORES.replace("1 us", wake))
    return parse_soc(
        text.replace('load = "linked"\ncores', 'operands = "outputs"\nload = "linked"\ncores'), "dual.toml"
    )


@pytest.mark.slow
def test_both_cores_work_without_a_copy(
    branches: Path, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    made = compile_model(CompileRequest(model_path=branches, soc=chip()))
    steps = made.steps.steps
    convolutions = {step.instance for step in steps if isinstance(step, Dispatch) and "conv" in step.operator}
    assert convolutions == {"host_cpu", "second_cpu"}
    assert not any(isinstance(step, Copy) for step in steps)
    write_bundle(made.bundle, tmp_path)
    (stack,) = read_manifest(tmp_path).stacks
    assert (stack.instance, stack.memory, stack.offset, stack.bytes) == ("second_cpu", "sram", 129024, 2048)
    assert verify(branches, tmp_path, count=5).passed
    flags = ("CC=gcc", f"CFLAGS=-std=c99 -O1 -g {PORTABLE} -fsanitize=thread", "LDFLAGS=-fsanitize=thread")
    command = ("make", "-s", "-C", str(tmp_path), "BUILD=tsan", *flags, "selftest")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wake_up_has_its_price(branches: Path) -> None:
    def compute(wake: str) -> float:
        graph = explain_model(CompileRequest(model_path=branches, soc=chip(wake)), ("conv2d_1",))
        return next(each for each in graph.choices if each.operator == "conv2d_1").compute("second_cpu")

    assert compute("30 us") - compute("0 ns") == pytest.approx(30e-6)
    slow = compile_model(CompileRequest(model_path=branches, soc=chip("1 s")))
    assert {partition.instance for partition in slow.graph.partitions} == {"host_cpu"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_describe_chips(path: Path, branches: Path) -> None:
    soc = read_soc(path)
    (cores,) = (arch for arch in soc.archs if arch.cores is not None)
    rules = {"conv2d_1": f"{soc.host.name}", "conv2d_2": cores.name}
    made = compile_model(CompileRequest(model_path=branches, soc=soc, require=rules))
    assert {p.instance.partition("[")[0] for p in made.graph.partitions} >= {cores.name, soc.host.name}
    assert made.execution is not None
    assert made.execution.makespan >= made.execution.bound


@pytest.mark.slow
def test_the_board_of_two_cores(branches: Path, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Under `-icount` cores take turns, so each frame is verified in both ways; wake-ups are counted."""
    needs_tool("arm-none-eabi-gcc")
    needs_tool("qemu-system-arm")
    request = CompileRequest(model_path=branches, soc=read_soc(EXAMPLES[-2]), port="qemu_sse200")
    made = compile_model(request)
    assert {p.instance for p in made.graph.partitions} == {"host_cpu", "second_cpu"}
    write_bundle(made.bundle, tmp_path)
    assert verify(branches, tmp_path, count=5).passed
    (tmp_path / "src" / "runner.c").write_text(PROGRAM)
    program = f"EMULATOR={' '.join(WITHOUT_COUNTING)}"
    command = ("make", "-s", "-C", str(tmp_path), "BUILD=both", program, "run")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    equal, _, rest = done.stderr.partition(" equal, woken ")
    woken, _, stack = rest.partition(", ")
    assert (int(equal), stack.strip()) == (FRAMES, "stack large enough")
    assert 1 <= int(woken) <= FRAMES + 1


@pytest.mark.slow
def test_frames_in_memory_of_the_caller_on_the_board(
    needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    """In turn, as instructions are counted, and then each core in a thread of the emulator's."""
    needs_tool("arm-none-eabi-gcc")
    needs_tool("qemu-system-arm")
    request = CompileRequest(
        model_path=DIGITS,
        soc=read_soc(EXAMPLES[-2]),
        port="qemu_sse200",
        objective="throughput",
        frames="auto",
        io=IoOwner.CALLER,
    )
    made = compile_model(request)
    assert made.frames is not None
    assert made.frames.cores == ("host_cpu", "second_cpu")
    write_bundle(made.bundle, tmp_path)
    (tmp_path / "src" / "runner.c").write_text(LENT.read_text())
    for emulator in (BARE_METAL.command(DUAL.name), WITHOUT_COUNTING):
        command = ("make", "-s", "-C", str(tmp_path), f"EMULATOR={' '.join(emulator)}", "run")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stderr) == (0, "every bit, in order\n"), done.stdout + done.stderr


@pytest.mark.slow
def test_a_divided_network_computes_on_both_cores_at_once(
    shared: Path, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    """In turn, as instructions are counted, and then each core in a thread of the emulator's."""
    needs_tool("arm-none-eabi-gcc")
    needs_tool("qemu-system-arm")
    model, soc = shared / "models" / "kws_int8.tflite", read_soc(EXAMPLES[-2])
    made = compile_model(CompileRequest(model_path=model, soc=soc, port="qemu_sse200", divide=Divide.AUTO))
    slices = [operator for operator in made.model.operators if "slice" in operator.id]
    assert len(slices) >= 4
    write_bundle(made.bundle, tmp_path)
    for emulator in (None, WITHOUT_COUNTING):
        if emulator is not None:
            manifest = json.loads((tmp_path / "manifest.json").read_text())
            manifest["toolchain"]["emulator"] = list(emulator)
            (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        found = verify(model, tmp_path, count=FRAMES, record=False)
        assert (found.passed, found.equal, found.outputs) == (True, FRAMES, FRAMES), str(found)
