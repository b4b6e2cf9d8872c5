"""A residual network whose sums overwrite their operands: the same bits, and nothing for the sanitizers."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from tests.e2e.conftest import Compile, portable

FRAMES = 2


@pytest.mark.slow
def test_a_residual_network_in_place(
    compiled: Compile, shared: Path, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    model = shared / "models" / "ic_resnet_int8.tflite"
    compilation, folder = compiled(model, "mcu_m7")
    over = dict(compilation.plan.in_place)
    assert over == {
        "add_3_out@sram": "conv2d_0_out@sram",
        "add_7_out@sram": "conv2d_5_out@sram",
        "add_11_out@sram": "conv2d_9_out@sram",
    }
    shutil.copytree(folder, tmp_path / "bundle")
    executable = build(
        tmp_path / "bundle", sanitize=("address", "undefined"), compiler=portable(), optimize="-O1"
    )
    reference = reference_for(model)
    frames = reference.frames(FRAMES, seed=4)
    packed = tuple(b"".join(part.tobytes() for part in frame) for frame in frames)
    expected = tuple(b"".join(part.tobytes() for part in reference.answer(frame)[0]) for frame in frames)
    assert run_frames(executable, packed) == expected
