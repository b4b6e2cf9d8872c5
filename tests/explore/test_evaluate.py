"""A point has the numbers of the bundle that its SoC file makes, and the reason where it has none."""

from pathlib import Path

import pytest

from target_arch import compile_models, point_chip
from target_arch.diagnostics import DiagnosticError
from target_arch.explore.chip import chip_file
from target_arch.explore.content import content_key
from target_arch.explore.evaluate import Evaluator, PointTask
from target_arch.explore.measures import measure
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.search import point_task
from target_arch.pipeline.compile import compile_model
from target_arch.pipeline.request import CompileRequest
from target_arch.registry.plug_ins import PlugIns
from tests.explore.spaces import DIGITS, ZYNQ, space, space_file

EVALUATE = Evaluator(PlugIns.discover(()))
TWO = ZYNQ.replace("[vary.tcm]", '[model.other]\nfile = "digits_int8.onnx"\n\n[vary.tcm]')


def test_the_numbers_are_those_of_the_bundle(tmp_path: Path) -> None:
    """... that `compile` makes of the written SoC file."""
    made = space(TWO)
    point = (0, 1, 0)
    outcome = EVALUATE(point_task(made, point))
    file = tmp_path / "chip.toml"
    folder = space_file(tmp_path, TWO)
    file.write_text(point_chip(folder, made.number(point), tmp_path))
    models = [(DIGITS, {"name": "digits"}), (DIGITS, {"name": "other"})]
    bundle = compile_models(models, file)  # type: ignore[arg-type]
    for model in bundle.models:
        assert model.timeline.value.makespan == outcome.models[model.name].latency
    together: dict[str, int] = {}
    for pool in bundle.pools.value.pools:
        together[pool.memory] = together.get(pool.memory, 0) + pool.bytes
    assert outcome.bytes == together
    assert outcome.models["digits"].energy is None


SMALL = """
schema = 1
soc = "mcu_m7"
minimize = "latency"
[model.digits]
file = "digits_int8.onnx"
[vary.sram]
key = "memory.sram.size"
values = ["256 B", "5 KiB", "64 GiB"]
"""


def test_a_refusal_is_a_result_with_its_reason() -> None:
    outcome = EVALUATE(point_task(space(SMALL), (0,)))
    assert (outcome.status, outcome.rule) == (Status.REFUSED, "does-not-fit")
    assert "pool `sram` needs" in outcome.reason
    assert "hint" not in outcome.reason


def test_a_point_that_is_no_chip_has_the_readers_message_with_its_values() -> None:
    """QEMU's stack is 4 KiB of the same memory, and the Cortex-M7 has 32-bit addresses."""
    text = SMALL.replace('"memory.sram.size"', '"memory.sram.base"').replace(
        '"256 B", "5 KiB", "64 GiB"', "0, 0x20000000"
    )
    outcome = EVALUATE(point_task(space(text), (0,)))
    assert (outcome.status, outcome.rule) == (Status.NO_CHIP, "address-overlap")
    assert outcome.reason.startswith("soc_configs/mcu_m7.toml with sram = 0:")


def test_a_crash_stays_with_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("of a planted defect")

    monkeypatch.setattr("target_arch.explore.evaluate.plan_models", crash)
    outcome = EVALUATE(point_task(space(), (0, 1, 0)))
    assert (outcome.status, outcome.rule) == (Status.CRASHED, "defect")
    assert outcome.reason.endswith("ZeroDivisionError: of a planted defect\n")


def test_models_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"none")
    task = PointTask(chip=chip_file(space(), (0, 1, 0)), models={"x": tmp_path / "x.onnx"})
    with pytest.raises(DiagnosticError):
        EVALUATE.read(task)


def test_outcomes_go_to_json_and_back() -> None:
    outcome = EVALUATE(point_task(space(), (0, 1, 0)))
    assert outcome.fits
    assert PointOutcome.from_json(outcome.to_json()) == outcome


@pytest.mark.slow
def test_the_period_is_that_of_frames_in_flight() -> None:
    text = ZYNQ.replace('"latency", "price"', '"period", "price"')
    made = space(text.replace("[model", 'objective = "throughput"\n[model'))
    task = point_task(made, (1, 1, 1))
    outcome = EVALUATE(task)
    soc = task.chip.soc(EVALUATE.plug_ins)
    pipeline = compile_model(CompileRequest(model_path=DIGITS, soc=soc, objective="throughput")).frames
    assert pipeline is not None
    assert outcome.models["digits"].period == pipeline.period
    assert measure("period", ["digits"]).of(outcome) == outcome.models["digits"].period  # type: ignore[union-attr]
    assert EVALUATE(point_task(space(), (1, 1, 1))).models["digits"].period is None


def test_an_objective_varies() -> None:
    made = space(ZYNQ + '[vary.objective]\nvalues = ["latency", "throughput", "energy"]\n')
    tasks = [point_task(made, (1, 1, 1, number)) for number in range(3)]
    assert [task.objective for task in tasks] == ["latency", "throughput", "energy"]
    assert len({content_key(task, "p") for task in tasks}) == 3
    refused = EVALUATE(tasks[2])
    assert (refused.status, refused.rule) == (Status.REFUSED, "no-energy")
