"""Engines of one kind really work at the same time, on threads, and the answer is the host's to the bit."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import Executable, build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.soc import read_soc
from tests.relax.models import onnx_model, quantized

BRANCHES = 4
FRAMES = 5

_WORK = "    const ta_status status = do_work(lane, next_piece(lane));\n"
_COUNTED = f"""\
    count(lane, 1);
{_WORK}    count(lane, -1);
"""
_NEXT = "static void do_next(ta_host_lane *lane)\n"
_COUNT = f"""\
#include <stdio.h>
#include <stdlib.h>

static int at_work, most_at_work; /* instances */

static void say_most(void)
{{
    fprintf(stderr, "most at work: %d\\n", most_at_work);
}}

static void count(const ta_host_lane *lane, int more)
{{
    if (lane->number < ta_host.soc->channel_count)
        return;
    ta_host_take(&ta_host.lock);
    if (most_at_work == 0)
        (void)atexit(say_most);
    at_work += more;
    if (at_work > most_at_work)
        most_at_work = at_work;
    pthread_mutex_unlock(&ta_host.lock);
}}

{_NEXT}"""


def branches(folder: Path) -> Path:
    """Four convolutions of one tensor, and the sum of all."""
    draw = np.random.default_rng(7)
    nodes = [helper.make_node("Conv", ["x", "w"], ["s"], pads=[1, 1, 1, 1])]
    constants = {"w": (draw.standard_normal((8, 4, 3, 3)) * 0.3).astype(np.float32)}
    for n in range(BRANCHES):
        nodes.append(helper.make_node("Conv", ["s", f"w{n}"], [f"c{n}"], pads=[1, 1, 1, 1]))
        constants[f"w{n}"] = (draw.standard_normal((8, 8, 3, 3)) * 0.2).astype(np.float32)
    nodes += [
        helper.make_node("Add", ["c0", "c1"], ["a"]),
        helper.make_node("Add", ["c2", "c3"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (1, 4, 16, 16)}, {"y": (1, 8, 16, 16)}, constants)
    return quantized(model, folder, activations="QInt8", per_channel=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return branches(tmp_path_factory.mktemp("branches"))


def compiled(model: Path, folder: Path, **wishes: object) -> CompiledModel:
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("quad_conv"), **wishes))  # type: ignore[arg-type]
    write_bundle(made.bundle, folder)
    return made


@pytest.fixture(scope="module")
def frames(model: Path) -> tuple[bytes, ...]:
    return tuple(b"".join(part.tobytes() for part in f) for f in reference_for(model).frames(FRAMES, seed=3))


@pytest.fixture(scope="module")
def answers(
    model: Path, frames: tuple[bytes, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, ...]:
    folder = tmp_path_factory.mktemp("host") / "bundle"
    compiled(model, folder, require={"*": "host_cpu"})
    return run_frames(build(folder), frames)


def most_at_work(executable: Executable, frames: tuple[bytes, ...]) -> int:
    command = (str(executable.runner.absolute()), "--jitter", "5")
    said = subprocess.run(command, input=b"".join(frames), capture_output=True, check=True).stderr.decode()
    return int(said.rpartition(":")[2])


@pytest.mark.slow
def test_two_engines_are_at_work_at_the_same_time(
    model: Path, frames: tuple[bytes, ...], answers: tuple[bytes, ...], tmp_path: Path
) -> None:
    made = compiled(model, tmp_path / "bundle")
    engines = {part.instance for part in made.graph.partitions} - {"host_cpu"}
    assert len(engines) > 1
    lanes = tmp_path / "bundle" / "runtime" / "ports" / "host" / "lanes.c"
    text = lanes.read_text()
    assert (text.count(_WORK), text.count(_NEXT)) == (1, 1)
    lanes.write_text(text.replace(_WORK, _COUNTED).replace(_NEXT, _COUNT))
    executable = build(tmp_path / "bundle")
    for seed in (0, 1, 2):
        assert run_frames(executable, frames, jitter=seed) == answers
    assert run_frames(executable, frames, lazy=True) == answers
    assert most_at_work(executable, frames) > 1


@pytest.mark.slow
def test_no_thread_meets_another_in_a_byte(
    model: Path, frames: tuple[bytes, ...], answers: tuple[bytes, ...], tmp_path: Path
) -> None:
    compiled(model, tmp_path / "bundle")
    executable = build(tmp_path / "bundle", sanitize=("thread",), optimize="-O1")
    for seed in (0, 1):
        assert run_frames(executable, frames, jitter=seed) == answers
