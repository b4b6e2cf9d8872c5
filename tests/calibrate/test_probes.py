"""Probes: nets of integers and of floats that are always the same, and what a calibration makes of them."""

from pathlib import Path

import onnx
import pytest
from attrs import evolve

from target_arch.api.calibration import calibrate_costs
from target_arch.calibrate import CalibrateRequest, calibrate
from target_arch.calibrate.probes import probes
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, partition_model
from target_arch.soc import read_soc
from target_arch.soc.files.cost_file import parse_costs

SOC = read_soc("mcu_m7")
NAMES = (
    "probe_dense",
    "probe_depthwise",
    "probe_moves",
    "probe_sequence",
    "probe_spectrum",
    "probe_windows",
)
OF_FLOATS = ("probe_memories_float32", "probe_recurrent_float32")


def written(folder: Path, name: str) -> CompileRequest:
    (made,) = [probe for probe in probes() if probe.graph.name == name]
    file = folder / f"{name}.onnx"
    file.write_bytes(made.SerializeToString())
    return CompileRequest(model_path=file, soc=SOC)


def test_probes_are_the_same_at_every_call() -> None:
    first, again = probes(), probes()
    assert [one.SerializeToString() for one in first] == [one.SerializeToString() for one in again]
    assert sorted(one.graph.name for one in first) == sorted(
        [*NAMES, *(f"{name}_float32" for name in NAMES), *OF_FLOATS]
    )
    for one in first:
        onnx.checker.check_model(one, full_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_probe_of_integers_is_integers_throughout(tmp_path: Path, name: str) -> None:
    model = partition_model(written(tmp_path, name)).model
    ends = {"quantize", "dequantize"}
    inner = [operator for operator in model.operators if str(operator.kind) not in ends]
    assert len(inner) > 8
    assert {model.tensors[operator.output].dtype for operator in inner} == {"int8"}
    assert not any(str(operator.kind) in ("relax", "elementwise") for operator in inner)


@pytest.mark.parametrize(
    ("name", "kind", "count"), [(OF_FLOATS[0], "products", 3), (OF_FLOATS[1], "recurrent", 4)]
)
def test_a_probe_of_floats_has_the_operators_that_it_is_for(
    tmp_path: Path, name: str, kind: str, count: int
) -> None:
    model = partition_model(written(tmp_path, name)).model
    assert sum(str(operator.kind) == kind for operator in model.operators) == count


@pytest.mark.slow
def test_probes_alone_give_costs_without_an_error(tmp_path: Path) -> None:
    report = calibrate(
        CalibrateRequest(compilations=(), probes=(written(tmp_path, "probe_dense"),), port="host")
    )
    made, fit = report.costs.calibration, report.costs.fitted["host_cpu"]
    assert made is not None
    assert (made.models, made.probes) == ((), 1)
    assert str(made).endswith(", of 1 probe")
    assert fit.error is None
    assert report.left_out == ()
    assert parse_costs(report.cost_file, "c.json", SOC).calibration == made


@pytest.mark.slow
def test_with_probes_one_model_has_an_error(tmp_path: Path) -> None:
    """The model is left out; the probes are not."""
    model, probe = (written(tmp_path, name) for name in ("probe_dense", "probe_windows"))
    report = calibrate(CalibrateRequest(compilations=(model,), probes=(probe,), port="host"))
    error = report.costs.fitted["host_cpu"].error
    assert error is not None
    assert {one.work.model for one in report.left_out} == {"probe_dense"}
    assert error.steps == len(report.left_out)


@pytest.mark.slow
def test_a_probe_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    said: list[str] = []
    small = evolve(written(tmp_path, "probe_windows"), memory={"sram": 2048})
    probe = written(tmp_path, "probe_dense")
    report = calibrate(
        CalibrateRequest(compilations=(), probes=(small, probe), port="host", said=said.append)
    )
    assert report.costs.calibration is not None
    assert report.costs.calibration.probes == 1
    assert any(line.startswith("probe_windows on host_cpu: left out, ") for line in said)


def test_without_models_and_probes_there_is_nothing_to_measure() -> None:
    with pytest.raises(DiagnosticError) as caught:
        calibrate_costs([], SOC)
    assert "ask for probes" in str(caught.value)
