"""No Copy step is there for nothing: a bundle that lacks any one of them gives wrong answers."""

import shutil
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.run.executables.executable import Executable, build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from tests.e2e.conftest import DIGITS, Compile
from tests.slow import slow_except
from tests.step_deletion import delete_step, restore, step_numbers

FRAMES = 4


def _answers(executable: Executable, frames: tuple[bytes, ...]) -> tuple[bytes, ...] | str:
    """The outputs, or what the bundle said when a device found its own operands impossible."""
    try:
        return run_frames(executable, frames)
    except DiagnosticError as refused:
        return str(refused)


def _assert_each_matters(model: Path, folder: Path, scratch: Path) -> None:
    reference = reference_for(model)
    frames = tuple(b"".join(part.tobytes() for part in frame) for frame in reference.frames(FRAMES, seed=5))
    shutil.copytree(folder, scratch)
    right = run_frames(build(scratch), frames)
    unnoticed, wrong = [], 0
    copies = step_numbers(scratch, "COPY")
    assert copies
    for number in copies:
        text = delete_step(scratch, number)
        answers = _answers(build(scratch), frames)
        restore(scratch, text)
        wrong += isinstance(answers, tuple) and answers != right
        if answers == right:
            unnoticed.append(number)
    assert unnoticed == []
    assert wrong > len(copies) // 2, "most deletions must show as wrong answers, not as failed runs"


@pytest.mark.parametrize("soc", slow_except([], ["zynq_edge", "quad_conv"], by_hand=["quad_conv"]))
def test_digits(compiled: Compile, tmp_path: Path, soc: str) -> None:
    _, folder = compiled(DIGITS, soc)
    _assert_each_matters(DIGITS, folder, tmp_path / "bundle")


@pytest.mark.long
def test_kws(compiled: Compile, shared: Path, tmp_path: Path) -> None:
    model = shared / "models" / "kws_int8.tflite"
    _, folder = compiled(model, "zynq_edge")
    _assert_each_matters(model, folder, tmp_path / "bundle")


@pytest.mark.long
@pytest.mark.parametrize("name", ["vww_96_int8", "ic_resnet_int8", "ad01_int8"])
def test_larger_models(compiled: Compile, shared: Path, tmp_path: Path, name: str) -> None:
    model = shared / "models" / f"{name}.tflite"
    _, folder = compiled(model, "zynq_edge")
    _assert_each_matters(model, folder, tmp_path / "bundle")
