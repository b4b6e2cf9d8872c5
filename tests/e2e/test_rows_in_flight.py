"""A DSP that computes rows while others are on their way: a shorter run, and the same bits."""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.run import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc
from target_arch.soc.model import SoC


def chip(*, rows_in_flight: bool) -> SoC:
    soc = read_soc("zynq_edge")
    archs = (
        evolve(each, options={**each.options, "rows_in_flight": rows_in_flight})
        if each.name == "dsp_cpu"
        else each
        for each in soc.archs
    )
    return evolve(soc, archs=tuple(archs))


def made(shared: Path, name: str, *, rows_in_flight: bool) -> CompiledModel:
    model = shared / "models" / f"{name}.tflite"
    return compile_model(CompileRequest(model_path=model, soc=chip(rows_in_flight=rows_in_flight)))


def makespan(compiled: CompiledModel) -> float:
    assert compiled.execution is not None
    return compiled.execution.makespan


def test_the_run_is_shorter(shared: Path) -> None:
    whole, pieces = (made(shared, "kws_int8", rows_in_flight=each) for each in (False, True))
    assert makespan(pieces) < 0.95 * makespan(whole)
    assert sum("pieces of rows" in note for kernel in pieces.kernels.values() for note in kernel.notes) == 4


@pytest.mark.long
@pytest.mark.parametrize("name", ["kws_int8", "vww_96_int8", "ic_resnet_int8"])
def test_the_results_are_those_of_the_reference(shared: Path, tmp_path: Path, name: str) -> None:
    compiled = made(shared, name, rows_in_flight=True)
    write_bundle(compiled.bundle, tmp_path)
    found = verify(shared / "models" / f"{name}.tflite", tmp_path, count=3)
    assert found.equal == found.outputs == 3, str(found)
