"""Every model on every shipped SoC: compiled, built, run on the simulated chip, compared with its source."""

from pathlib import Path

import pytest

from target_arch.run.verification.verify import verify
from target_arch.soc import shipped_socs
from tests.e2e.conftest import DIGITS, Compile

SHARED_MODELS = ("kws_int8", "vww_96_int8", "ic_resnet_int8", "ad01_int8", "ic_resnet_fp32")
FRAMES = 50

PEAK_BOUND = {
    "kws_int8": 16_000,
    "vww_96_int8": 55_296,
    "ic_resnet_int8": 32_768,
    "ad01_int8": 768,
    "ic_resnet_fp32": 131_072,
}
"""Bytes of activations that no plan of one operator at a time can go below; of the residual networks, whose
sums are made in place by the convolutions before them, two thirds of that.
"""


@pytest.mark.parametrize("soc", shipped_socs())
@pytest.mark.parametrize("name", SHARED_MODELS)
def test_shared_model(compiled: Compile, shared: Path, name: str, soc: str) -> None:
    model = shared / "models" / f"{name}.tflite"
    _, folder = compiled(model, soc)
    verification = verify(model, folder, count=FRAMES)
    assert verification.passed, str(verification)
    assert verification.self_test == "passed"
    if name.endswith("int8"):
        assert verification.equal == verification.outputs == FRAMES, str(verification)


@pytest.mark.parametrize("soc", shipped_socs())
def test_digits(compiled: Compile, soc: str) -> None:
    _, folder = compiled(DIGITS, soc)
    verification = verify(DIGITS, folder, count=FRAMES)
    assert verification.passed, str(verification)


@pytest.mark.parametrize("name", SHARED_MODELS)
def test_peak_of_host_only_plan_is_the_bound(compiled: Compile, shared: Path, name: str) -> None:
    compilation, _ = compiled(shared / "models" / f"{name}.tflite", "mcu_m55")
    peaks = {arena: peak for arena, peak in compilation.plan.peaks.items() if not arena.constant}
    assert sum(peaks.values()) == PEAK_BOUND[name], peaks
    assert peaks.keys() <= {*compilation.plan.proven}


def test_all_four_kinds_of_zynq_edge_work(compiled: Compile, shared: Path) -> None:
    at_work = {
        partition.instance
        for name in SHARED_MODELS
        for partition in compiled(shared / "models" / f"{name}.tflite", "zynq_edge")[0].graph.partitions
    }
    assert at_work == {"host_cpu", "dsp_cpu", "fpga_conv2d", "accelerator"}


def test_the_demo_model_uses_all_four_kinds(compiled: Compile) -> None:
    compilation, _ = compiled(DIGITS, "zynq_edge")
    at_work = {partition.instance for partition in compilation.graph.partitions}
    assert at_work == {"host_cpu", "dsp_cpu", "fpga_conv2d", "accelerator"}


def test_two_instances_of_quad_conv_run_different_programs(compiled: Compile, shared: Path) -> None:
    compilation, _ = compiled(shared / "models" / "ic_resnet_int8.tflite", "quad_conv")
    programs: dict[str, list[str]] = {}
    for partition in compilation.graph.partitions:
        if partition.instance.startswith("fpga_conv2d"):
            programs.setdefault(partition.instance, []).extend(op.id for op in partition.operators)
    assert len(programs) >= 2
    assert len({tuple(program) for program in programs.values()}) == len(programs)
