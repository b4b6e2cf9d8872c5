"""Models in less memory than one operator at a time needs: the same bits, and what it costs is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.run import build, reference_for, write_bundle
from target_arch.run.verification.verify import compare
from target_arch.soc import read_soc

CASES = [
    ("kws_int8", 9216),
    pytest.param("ic_resnet_int8", 20480, marks=pytest.mark.long),
    pytest.param("vww_96_int8", 34816, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("name", "room"), CASES)
def test_a_model_below_the_bound_of_one_operator(
    name: str, room: int, shared: Path, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    model = shared / "models" / f"{name}.tflite"
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory={"sram": room}))
    assert made.plan.peaks[Arena("sram")] <= room
    assert {attempt.kind for attempt in made.attempts} == {"stripe"}
    (kernel,) = made.kernels.values()
    assert len(kernel.stripes) <= len(kernel.notes)
    write_bundle(made.bundle, tmp_path / "bundle")
    executable = build(tmp_path / "bundle", sanitize=("address", "undefined"))
    found = compare(reference_for(model), executable, count=2)
    assert found.equal == found.outputs
