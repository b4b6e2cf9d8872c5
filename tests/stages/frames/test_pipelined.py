"""Frames in flight of the example model: the period, its bound, and the bytes."""

from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.plan.frames import FramePipeline
from target_arch.plan.memory import Arena
from target_arch.plan.objective import Objective
from target_arch.plan.printed.frames import frame_curve, frames_in_flight
from target_arch.plan.steps import Copy, Dispatch
from target_arch.resources import examples
from target_arch.soc import read_soc
from target_arch.soc.costs import Costs, OrderCost
from tests.conftest import GoldenCheck
from tests.relax.models import helper, onnx_model, save

DIGITS = examples() / "digits" / "digits_int8.onnx"


def compiled(frames: int | str | None, soc: str = "zynq_edge") -> CompiledModel:
    return compile_model(CompileRequest(model_path=DIGITS, soc=read_soc(soc), frames=frames))


@pytest.fixture(scope="module")
def made() -> CompiledModel:
    return compiled("auto")


def pipeline_of(made: CompiledModel) -> FramePipeline:
    assert made.frames is not None
    return made.frames


def test_text(made: CompiledModel, golden: GoldenCheck) -> None:
    pipeline = pipeline_of(made)
    golden("digits", frames_in_flight(pipeline) + frame_curve(pipeline))


def test_the_period_is_near_its_bound_and_far_below_a_run(made: CompiledModel) -> None:
    pipeline = pipeline_of(made)
    assert made.execution is not None
    assert pipeline.alone == made.execution.makespan
    assert pipeline.bound <= pipeline.period <= 1.05 * pipeline.bound
    assert pipeline.latency < pipeline.period * pipeline.frames * 1.01


def test_more_frames_are_never_slower(made: CompiledModel) -> None:
    curve = pipeline_of(made).curve
    assert [point.frames for point in curve] == list(range(1, pipeline_of(made).frames + 1))
    periods = [point.period for point in curve]
    assert periods == sorted(periods, reverse=True)
    assert periods[-1] == pipeline_of(made).period


def test_the_memory_of_a_bundle_is_that_of_both(made: CompiledModel) -> None:
    pipeline = pipeline_of(made)
    for arena, peak in made.memory.peaks.items():
        assert peak == max(made.plan.peaks[arena], pipeline.plan.peaks[arena])
        assert made.manifest.pools[str(arena)].peak == peak
    assert made.memory.peaks[Arena("sram")] > made.plan.peaks[Arena("sram")]


def test_the_manifest_has_it(made: CompiledModel) -> None:
    entry = made.manifest.frames
    assert entry is not None
    assert (entry.frames, entry.period) == (pipeline_of(made).frames, pipeline_of(made).period)
    assert compiled(None).manifest.frames is None
    assert b'"frames"' not in compiled(None).bundle.files["manifest.json"]


@pytest.mark.slow
def test_orders_take_the_hosts_time_of_every_frame(made: CompiledModel) -> None:
    """With orders of 200 us the host alone sets the period, however many frames are in flight. A port that
    takes calls one by one has an order for each, one that joins them an order for those in a row.
    """
    soc = read_soc("zynq_edge")
    devices = [*(arch.name for arch in soc.archs if not arch.host), *(dma.name for dma in soc.dmas)]
    orders = {name: OrderCost(start=150e-6, end=50e-6) for name in devices}
    prefer = {"*": "dsp_cpu"}
    request = CompileRequest(model_path=DIGITS, soc=soc, frames="auto", prefer=prefer)
    asked = evolve(request, costs=Costs(orders=orders))
    slow, joined = (pipeline_of(compile_model(evolve(asked, port=port))) for port in ("null", "host"))
    steps = [step for step in slow.order.steps if isinstance(step, Copy | Dispatch)]
    ordered = sum(step.event is not None for step in steps) / slow.rounds
    calls = sum(isinstance(step, Dispatch) and step.event is not None for step in steps) / slow.rounds
    assert ordered >= 6
    assert calls >= 2
    assert slow.busiest == joined.busiest == "host_cpu"
    assert 200e-6 * ordered <= slow.bound <= slow.period
    assert joined.bound == pytest.approx(slow.bound - 200e-6 * (calls - 1))
    assert joined.bound <= joined.period < slow.period - 100e-6
    assert joined.period > 2 * pipeline_of(compile_model(request)).period


def test_one_frame_at_a_time() -> None:
    assert pipeline_of(compiled(1)).frames == 1


def refusal(*requests: CompileRequest) -> str:
    with pytest.raises(DiagnosticError) as failure:
        compile_models(ModelsRequest(models=requests))
    return str(failure.value)


def request(frames: int | str) -> CompileRequest:
    return CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), frames=frames)


@pytest.mark.parametrize("frames", [0, 15, "many"])
def test_how_many_there_can_be(frames: int | str) -> None:
    assert refusal(request(frames)) == (
        f"frames: error: there can be 1 to 14 frames in flight, or `auto`, not `{frames}` [bad-frames]"
    )


def test_several_models() -> None:
    assert refusal(request(2), evolve(request(2), name="other")) == (
        "frames: error: frames in flight are those of one model, several are given [no-frames]"
    )


def test_slices_of_the_host_are_for_frames() -> None:
    assert refusal(CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), divide="host")) == (
        "divide: error: the host is divided for frames in flight, and none are asked for [no-frames]\n"
        'hint: `frames = "auto"`, or `auto` for a run'
    )


def test_what_is_at_its_bound_is_left_whole(made: CompiledModel) -> None:
    again = compile_model(evolve(request("auto"), divide="host"))
    assert again.frames == made.frames
    assert not again.model.slices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "soc", "resident", "above"),
    [
        pytest.param("ic_resnet_int8", "quad_conv", "never", 1.05, marks=pytest.mark.long),
        ("ad01_int8", "zynq_edge", "never", 1.05),
        pytest.param("ic_resnet_int8", "zynq_edge", "never", 1.05, marks=pytest.mark.long),
        pytest.param("ad01_int8", "zynq_edge", "auto", 1.05, marks=pytest.mark.long),
    ],
)
def test_other_kernels_for_frames(model: str, soc: str, resident: str, above: float, shared: Path) -> None:
    """Slices of the host, kernels with half of a memory, copies of constants that come late, and weights that
    leave two kernels room at once: the pairs were 1.37, 1.9, 1.09 and 1.59 times their bounds.
    """
    path = shared / "models" / f"{model}.tflite"
    wanted = CompileRequest(
        model_path=path,
        soc=read_soc(soc),
        divide="host",
        objective=Objective.THROUGHPUT,
        resident=resident,
    )
    pipeline = pipeline_of(compile_model(wanted))
    assert pipeline.bound <= pipeline.period <= above * pipeline.bound


def test_a_model_without_inputs(tmp_path: Path) -> None:
    constant = {"c": np.arange(4, dtype=np.float32)}
    path = save(
        onnx_model([helper.make_node("Identity", ["c"], ["y"])], {}, {"y": (4,)}, constant),
        tmp_path / "c.onnx",
    )
    with pytest.raises(DiagnosticError) as failure:
        compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge"), frames=2))
    assert str(failure.value) == "model c: error: it has no inputs to be frames [no-frames]"


def test_a_second_frame_that_does_not_fit() -> None:
    soc = read_soc("mcu_m7")
    alone = compile_model(CompileRequest(model_path=DIGITS, soc=soc))
    limits = {arena.memory: peak for arena, peak in alone.plan.peaks.items() if arena.shareable}
    with pytest.raises(DiagnosticError) as failure:
        compile_model(CompileRequest(model_path=DIGITS, soc=soc, memory=limits, frames=2))
    assert str(failure.value) == (
        "model digits_int8: error: the inputs and outputs of a second frame do not fit beside those of the "
        "first [no-frames]"
    )
