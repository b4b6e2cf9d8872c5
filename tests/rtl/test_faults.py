"""Faults on the pins of the Verilated core: the C driver tells, a restart mends, the guards are untouched."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run import build, reference_for, write_bundle
from target_arch.soc import read_soc
from tests.rtl.conftest import CORE, REPOSITORY

DIGITS = REPOSITORY / "examples" / "digits" / "digits_int8.onnx"
GUARD = 256

pytestmark = pytest.mark.usefixtures("verilated")

TOLD = """\
none: TA_OK, no step, no device, guards intact, stop TA_OK, then equal
reset while busy: TA_ERROR_DEVICE, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
reset while busy, unseen: TA_ERROR_TIMEOUT, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
reset at the start: TA_ERROR_DEVICE, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
interrupt masked: TA_ERROR_TIMEOUT, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
read error: TA_ERROR_DEVICE, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
read error in the first beat: TA_ERROR_DEVICE, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
read never answers: TA_ERROR_TIMEOUT, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
write error: TA_ERROR_DEVICE, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
write never answers: TA_ERROR_TIMEOUT, dispatch, fpga_conv2d, guards intact, stop TA_OK, then equal
"""


def add_guards(simulation: Path) -> None:
    """Bytes behind the pools of every memory of a device, which the device sees too."""
    text = simulation.read_text()
    for form in (r"(memory_\w+\[)(\d+)(\])", r"(\{\w+, )(\d+)(, memory_\w+\})"):
        text, count = re.subn(form, lambda hit: f"{hit[1]}{int(hit[2]) + GUARD}{hit[3]}", text)
        assert count >= 1
    simulation.write_text(text)


@pytest.mark.slow
def test_every_fault_on_the_pins_is_named_and_survived(tmp_path: Path) -> None:
    made = compile_model(CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge")))
    folder = tmp_path / "bundle"
    write_bundle(made.bundle, folder)
    add_guards(folder / "src" / "zynq_edge_simulation.c")
    shutil.copy(Path(__file__).with_name("rtl_faults.c"), folder / "src" / "runner.c")
    shutil.copy(CORE / "verilated_faults.h", folder / "src")
    executable = build(folder, rtl=True, sanitize=("address", "undefined"))
    (values,) = reference_for(DIGITS).frames(1, seed=3)
    frame = b"".join(value.tobytes() for value in values)
    done = subprocess.run(
        [str(executable.runner)], input=frame, capture_output=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stdout
    assert done.stdout.decode() == TOLD
