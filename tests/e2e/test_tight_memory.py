"""Tensors rest in little SRAM alone: the operators that overflow it go to the DSP, and engines keep the
others.
"""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.run.bundles.write import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc
from target_arch.soc.model import SoC

KIB = 1024


def chip() -> SoC:
    soc = read_soc("zynq_edge")
    return evolve(soc, modes=(evolve(soc.mode(), workspace=("sram",), io=("sram",)),))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sram", "most"),
    [
        ("vww_96_int8", 40, 2.8e-3),
        pytest.param("vww_96_int8", 28, 2.8e-3, marks=pytest.mark.long),
        pytest.param("ic_resnet_int8", 16, 3.4e-3, marks=pytest.mark.long),
        ("ic_resnet_int8", 20, 3.4e-3),
    ],
)
def test_few_operators_leave_the_engines(
    shared: Path, tmp_path: Path, name: str, sram: int, most: float
) -> None:
    model = shared / "models" / f"{name}.tflite"
    made = compile_model(CompileRequest(model_path=model, soc=chip(), memory={"sram": sram * KIB}))
    assert made.plan.peaks[Arena("sram")] <= sram * KIB
    assert made.execution is not None
    assert made.execution.makespan <= most
    assert {attempt.kind for attempt in made.attempts} == {"re-place", "improve"}
    write_bundle(made.bundle, tmp_path)
    found = verify(model, tmp_path, count=2)
    assert found.equal == found.outputs == 2, str(found)
