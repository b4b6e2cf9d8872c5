"""Models in less memory than one operator at a time needs: the same bits, and what it costs is said."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.run import build, reference_for, write_bundle
from target_arch.run.verification.verify import compare
from target_arch.soc import read_soc
from tests.relax.models import helper, onnx_model, save

CASES = [
    ("kws_int8", 9216),
    ("ic_resnet_int8", 14_400),
    pytest.param("ic_resnet_int8", 20480, marks=pytest.mark.long),
    pytest.param("vww_96_int8", 34816, marks=pytest.mark.long),
]


@pytest.mark.slow
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
    executable = build(tmp_path / "bundle", sanitize=("address", "undefined"), optimize="-O1")
    found = compare(reference_for(model), executable, count=2)
    assert found.equal == found.outputs


ROOMS = [
    ("kws_int8", 9_500),
    *(
        pytest.param(name, room, marks=pytest.mark.long)
        for name, rooms in (
            ("kws_int8", (16_000, 15_500, 11_500, 8_750)),
            ("ad01_int8", (768,)),
            ("ic_resnet_int8", (32_768, 31_744, 24_576, 19_456, 18_944, 16_384, 14_384)),
            ("vww_96_int8", (55_296, 53_568, 36_288, 31_104, 28_032)),
        )
        for room in rooms
    ),
]


@pytest.mark.parametrize(("name", "room"), ROOMS)
def test_no_plan_takes_less_than_its_steps_are_said_to_need(name: str, room: int, shared: Path) -> None:
    """Counted from the offsets: bytes that some live buffer has, step by step."""
    model = shared / "models" / f"{name}.tflite"
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory={"sram": room}))
    plan, arena, taken = made.plan, Arena("sram"), [0]
    there = [buffer for buffer in plan.buffers if buffer.arena == arena]
    for step in range(max(buffer.last for buffer in there) + 1):
        has = np.zeros(plan.peaks[arena], bool)
        for buffer in there:
            if buffer.first <= step <= buffer.last:
                has[plan.offsets[buffer.name] : plan.offsets[buffer.name] + buffer.bytes] = True
        taken.append(int(has.sum()))
    regions = [region for partition in made.graph.partitions for region in partition.regions]
    assert max([region.scratch for region in regions], default=0) <= plan.shared[arena] <= max(taken)
    assert max(taken) <= plan.peaks[arena] <= room


@pytest.mark.slow
def test_what_is_computed_twice_takes_time(shared: Path) -> None:
    """The board counts 34.88 % more instructions in so few bytes, see `docs/memory.md`."""
    model = shared / "models" / "ic_resnet_int8.tflite"
    whole = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7")))
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory={"sram": 14_600}))
    assert whole.execution is not None
    assert made.execution is not None
    more = made.execution.makespan - whole.execution.makespan
    assert more / whole.execution.makespan == pytest.approx(0.35, abs=0.02)
    regions = [region for partition in made.graph.partitions for region in partition.regions]
    assert more == pytest.approx(sum(made.graph.added(region) for region in regions), rel=1e-6)
    assert more == pytest.approx(sum(region.instructions for region in regions) / 216e6, rel=1e-6)


def feed_forward(path: Path, tokens: int = 48, width: int = 24, hidden: int = 160) -> Path:
    """The feed-forward part of a transformer block, with its residual sum."""
    rng, shape = np.random.default_rng(0), (1, tokens, width)
    sizes = {"up": (width, hidden), "first": (hidden,), "down": (hidden, width), "second": (width,)}
    constants = {name: rng.normal(0, 0.2, size).astype(np.float32) for name, size in sizes.items()}
    nodes = [
        helper.make_node("MatMul", ["x", "up"], ["wide"]),
        helper.make_node("Add", ["wide", "first"], ["biased"]),
        helper.make_node("Relu", ["biased"], ["active"]),
        helper.make_node("MatMul", ["active", "down"], ["narrow"]),
        helper.make_node("Add", ["narrow", "second"], ["last"]),
        helper.make_node("Add", ["last", "x"], ["y"]),
    ]
    return save(onnx_model(nodes, {"x": shape}, {"y": shape}, constants), path)


def test_dense_layers_in_rows(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool("gcc")
    model = feed_forward(tmp_path / "block.onnx")
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory={"sram": 10_000}))
    whole = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7")))
    assert (whole.plan.peaks[Arena("sram")], made.plan.peaks[Arena("sram")]) == (35_328, 7_936)
    write_bundle(made.bundle, tmp_path / "bundle")
    executable = build(tmp_path / "bundle", sanitize=("address", "undefined"), optimize="-O1")
    assert compare(reference_for(model), executable, count=2).passed
