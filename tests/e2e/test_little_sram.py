"""A chip with little SRAM, through which weights go to engines: what fits is found without a rule."""

from pathlib import Path

import pytest

from conformance.little_sram import KIB, chip
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.run.bundles.write import write_bundle
from target_arch.run.verification.verify import verify

LONG = pytest.mark.long


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sram"),
    [
        ("ic_resnet_int8", 36),
        pytest.param("ic_resnet_int8", 40, marks=LONG),
        pytest.param("vww_96_int8", 56, marks=LONG),
        pytest.param("vww_96_int8", 64, marks=LONG),
    ],
)
def test_weights_on_their_way_go_in_pieces(shared: Path, tmp_path: Path, name: str, sram: int) -> None:
    model = shared / "models" / f"{name}.tflite"
    made = compile_model(CompileRequest(model_path=model, soc=chip(sram), keep_dead=True))
    assert made.plan.peaks[Arena("sram")] <= sram * KIB
    assert made.attempts == ()
    assert any(".ring.sram." in buffer.name for buffer in made.plan.buffers)
    write_bundle(made.bundle, tmp_path)
    found = verify(model, tmp_path, count=2)
    assert found.equal == found.outputs == 2, str(found)
