"""Calibration from a model file to a cost file that `compile` uses, on every port that can count."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.calibrate import CalibrateRequest, CalibrationReport, calibrate, counters
from target_arch.calibrate.cache_lines import line_seconds
from target_arch.calibrate.counters import command_cycles
from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model, partition_model
from target_arch.plan.steps import Dispatch
from target_arch.run.execute.traced import HostTime, Trace
from target_arch.soc import read_soc
from target_arch.soc.chip.chip import Chip
from target_arch.soc.costs import Calibration, CoreCost, Costs
from target_arch.soc.files.cost_file import parse_costs, read_costs
from tests.cli.closed_schema import require_described
from tests.e2e.conftest import DIGITS

SOC = read_soc("mcu_m7")
HEXAGON = DIGITS.parents[1] / "hexagon" / "hexagon_edge.toml"


def calibrated(port: str, soc: str = "mcu_m7", before: Costs | None = None) -> CalibrationReport:
    described = read_soc(soc)
    models = tuple(
        CompileRequest(model_path=DIGITS, soc=described, name=name) for name in ("digits", "again")
    )
    return calibrate(CalibrateRequest(compilations=models, port=port, before=before))


def of(costs: Costs) -> Calibration:
    assert costs.calibration is not None
    return costs.calibration


@pytest.fixture(scope="module")
def on_host() -> CalibrationReport:
    return calibrated("host")


@pytest.mark.slow
def test_every_call_of_the_host_is_timed(on_host: CalibrationReport) -> None:
    made = of(on_host.costs)
    assert (made.soc, made.port, made.counts) == ("mcu_m7", "host", "nanoseconds")
    assert made.models == ("digits", "again")
    times = [one.time for one in on_host.costs.measured["host_cpu"].values()]
    assert len(times) == 10
    assert all(0 < time.amount < 1 and not time.cycles for time in times)
    assert (on_host.measured, on_host.kept) == (18, 0)
    require_described("calibrate", on_host.to_json())


@pytest.mark.slow
def test_the_cost_file_reads_back(on_host: CalibrationReport) -> None:
    read = parse_costs(on_host.cost_file, "c.json", SOC)
    assert read.measured.keys() == on_host.costs.measured.keys()
    rates, written = (
        {unit: rate.amount for unit, rate in costs.fitted["host_cpu"].rates.items()}
        for costs in (read, on_host.costs)
    )
    assert rates == pytest.approx(written, rel=1e-4, abs=1e-14)


def test_a_compilation_says_which_costs_it_used(on_host: CalibrationReport, tmp_path: Path) -> None:
    costs = parse_costs(on_host.cost_file, "c.json", SOC)
    made = compile_model(CompileRequest(model_path=DIGITS, soc=SOC, costs=costs, name="digits"))
    assert made.costs is not None
    assert (made.costs.measured, made.costs.fitted, made.costs.estimated) == (10, 0, 0)
    assert made.costs.changed == ()
    assert made.manifest.costs is not None
    total = sum(one.time.amount for one in costs.measured["host_cpu"].values())
    assert made.execution is not None
    assert made.execution.makespan == pytest.approx(total, rel=0.01)


def test_an_operator_of_another_model_is_fitted(on_host: CalibrationReport) -> None:
    """Without what was measured, its rates remain, and the run has an interval."""
    document = json.loads(on_host.cost_file)
    document["measured"] = {}
    document["fitted"]["host_cpu"]["error"] = {
        "steps": 9, "median": 0.05, "worst": 0.5, "low": 0.9, "high": 1.25,
    }  # fmt: skip
    costs = parse_costs(json.dumps(document), "c.json", SOC)
    made = compile_model(CompileRequest(model_path=DIGITS, soc=SOC, costs=costs))
    assert made.costs is not None
    assert made.execution is not None
    assert (made.costs.measured, made.costs.fitted) == (0, 10)
    assert made.costs.low == pytest.approx(0.9 * made.execution.makespan)
    assert made.costs.high == pytest.approx(1.25 * made.execution.makespan)


def test_a_run_with_an_operator_like_none_that_was_measured_has_no_interval(
    on_host: CalibrationReport,
) -> None:
    document = json.loads(on_host.cost_file)
    document["measured"] = {}
    rates = document["fitted"]["host_cpu"]["rates"]
    document["fitted"]["host_cpu"]["rates"] = {u: r for u, r in rates.items() if "avg_pool2d" not in u}
    document["fitted"]["host_cpu"]["error"] = {
        "steps": 9, "median": 0.05, "worst": 0.5, "low": 0.9, "high": 1.25,
    }  # fmt: skip
    costs = parse_costs(json.dumps(document), "c.json", SOC)
    made = compile_model(CompileRequest(model_path=DIGITS, soc=SOC, costs=costs))
    assert made.costs is not None
    assert made.execution is not None
    assert (made.costs.fitted, made.costs.estimated) == (9, 1)
    assert made.costs.low == made.costs.high == made.execution.makespan


@pytest.mark.long
def test_code_that_changed_is_said_and_measured_again(on_host: CalibrationReport) -> None:
    document = json.loads(on_host.cost_file)
    names = [name for name in document["measured"]["host_cpu"] if name.startswith("dense")]
    for name in names:
        document["measured"]["host_cpu"][name]["kernel"] = "another"
    costs = parse_costs(json.dumps(document), "c.json", SOC)
    made = compile_model(CompileRequest(model_path=DIGITS, soc=SOC, costs=costs))
    assert made.costs is not None
    assert made.costs.changed == tuple(id for id in made.model.numbers if id.startswith("dense"))
    updated = calibrated("host", before=costs)
    assert (updated.measured, updated.kept) == (18, 0)
    unchanged = calibrated("host", before=on_host.costs)
    assert (unchanged.measured, unchanged.kept) == (0, 18)
    assert unchanged.costs.measured.keys() == on_host.costs.measured.keys()


@pytest.mark.slow
def test_instructions_of_an_emulated_machine(needs_tool: Callable[[str], str]) -> None:
    needs_tool("qemu-system-arm")
    needs_tool("arm-none-eabi-gcc")
    once, twice = calibrated("qemu_mps2"), calibrated("qemu_mps2")
    assert once.cost_file == twice.cost_file
    made = of(once.costs)
    assert made.counts == "instructions"
    assert all(one.time.cycles and one.time.amount > 50 for one in once.costs.measured["host_cpu"].values())


@pytest.mark.slow
def test_cycles_of_an_engine_as_rtl(needs_tool: Callable[[str], str]) -> None:
    needs_tool("verilator")
    report = calibrated("rtl", "zynq_edge")
    made = of(report.costs)
    assert made.counts == "cycles"
    assert list(report.costs.measured) == ["fpga_conv2d"]
    assert all(one.time.amount > 500 for one in report.costs.measured["fpga_conv2d"].values())
    soc = read_soc("zynq_edge")
    request = CompileRequest(model_path=DIGITS, soc=soc)
    assert partition_model(request).choice("conv2d_1").instance == "fpga_conv2d"
    told = partition_model(evolve(request, costs=parse_costs(report.cost_file, "c.json", soc)))
    assert told.choice("conv2d_1").instance == "dsp_cpu"


@pytest.mark.long
def test_firmware_counts_the_instructions_of_its_calls(needs_tool: Callable[[str], str]) -> None:
    for name in ("clang", "ld.lld", "llvm-objdump", "qemu-hexagon"):
        needs_tool(name)
    report = calibrated("firmware", str(HEXAGON))
    made = of(report.costs)
    assert (made.port, made.counts, made.tools) == ("firmware", "instructions", "QEMU")
    assert report.costs.fitted.keys() == {"dsp_cpu"}
    assert all(one.time.cycles and one.time.amount > 100 for one in report.costs.measured["dsp_cpu"].values())


def test_the_log_of_the_rtl_is_read_by_words() -> None:
    words = " ".join(str(number) for number in range(17))
    assert command_cycles(f"conv2d_engine 3 100 200 {words} 40 5 9\n") == {tuple(range(17)): 45}


def test_a_port_that_cannot_count() -> None:
    with pytest.raises(DiagnosticError) as caught:
        calibrated("null")
    assert str(caught.value) == (
        "port: error: port `null` counts neither time nor instructions [cannot-count]\n"
        "hint: ports that do: `cuda`, `firmware`, `host`, `qemu_mps2`, `qemu_sse200`, `rtl`"
    )


def test_a_port_that_there_is_not() -> None:
    with pytest.raises(DiagnosticError) as caught:
        calibrated("firmwares")
    assert str(caught.value) == (
        "port: error: there is no port `firmwares` [unknown-port]\nhint: did you mean `firmware`?"
    )


def test_nothing_that_the_port_counts() -> None:
    with pytest.raises(DiagnosticError) as caught:
        calibrated("rtl")
    assert str(caught.value) == (
        "port: error: no target_arch of `mcu_m7` computes anything of these models that it counts "
        "[nothing-measured]\n"
        "hint: `host` measures C on this computer, `cuda` a device of it, an emulated machine its "
        "instructions, `rtl` engines with Verilog, `firmware` Hexagon cores"
    )


def test_costs_of_another_port_are_not_updated(on_host: CalibrationReport) -> None:
    document = json.loads(on_host.cost_file)
    document["calibration"]["port"] = "qemu_mps2"
    with pytest.raises(DiagnosticError) as caught:
        calibrated("host", before=parse_costs(json.dumps(document), "c.json", SOC))
    assert str(caught.value) == (
        "c.json: error: it was measured on port `qemu_mps2`, not on `host` [another-port]"
    )


def test_costs_given_by_hand_are_not_updated() -> None:
    by_hand = parse_costs('{"schema": 1, "operators": {}}', "c.json", SOC)
    with pytest.raises(DiagnosticError) as caught:
        calibrated("host", before=by_hand)
    assert str(caught.value) == (
        "c.json: error: there is no calibration in it to update [no-calibration]\n"
        "hint: calibrate without updating"
    )


@pytest.mark.slow
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "costs.json"
    assert main(["calibrate", str(DIGITS), "--soc", "mcu_m7", "--port", "host", "-o", str(file)]) == 0
    out = capsys.readouterr().out
    assert "error of calls of models left out: not known: it takes two models" in out
    assert of(read_costs(file, SOC)).models == ("digits_int8",)
    bundle = tmp_path / "bundle"
    assert main(["compile", str(DIGITS), "--soc", "mcu_m7", "--cost", str(file), "-o", str(bundle)]) == 0
    assert "costs of operators: 10 measured, from costs.json (nanoseconds on port `host`" in (
        capsys.readouterr().out
    )
    assert main(["report", str(bundle)]) == 0
    assert "costs of operators: 10 measured, from costs.json" in capsys.readouterr().out


@pytest.mark.slow
def test_instructions_of_a_real_chip_are_cycles(needs_tool: Callable[[str], str]) -> None:
    """Those of an emulated core take what the chip's processor says."""
    needs_tool("qemu-system-arm")
    needs_tool("arm-none-eabi-gcc")
    chip = Chip(part="a part", processor={"host_cpu": "cortex-m4"}, slowdown={"host_cpu": 1.5})
    model = CompileRequest(model_path=DIGITS, soc=SOC, name="digits")
    plain = calibrate(CalibrateRequest(compilations=(model,), port="qemu_mps2"))
    real = evolve(model, soc=evolve(SOC, chip=chip))
    slower = calibrate(CalibrateRequest(compilations=(real,), port="qemu_mps2"))
    each = chip.cycles_per_instruction("host_cpu", SOC.host.isa)
    assert of(slower.costs).counts == f"instructions, {each:.3g} cycles each"
    before, after = (r.costs.measured["host_cpu"] for r in (plain, slower))
    assert {name: one.time.amount for name, one in after.items()} == pytest.approx(
        {name: one.time.amount * each for name, one in before.items()}
    )


def test_a_call_on_a_further_core_is_measured_without_its_wake_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SoC file states the wake-up, and placement adds it to what was measured."""
    soc = read_soc(DIGITS.parents[1] / "cores" / "dual_m33.toml")
    arch = next(each for each in soc.archs if each.cores)
    assert arch.wake > 0
    made = compile_model(CompileRequest(model_path=DIGITS, soc=soc, prefer={"*": arch.name}))
    steps = made.steps.steps
    calls = [n for n, step in enumerate(steps) if isinstance(step, Dispatch) and step.event is not None]
    assert calls

    def frames(*_: object, **__: object) -> list[Trace]:
        times = HostTime(in_run=3e-6, alone=1e-6, end=2e-6)
        return [Trace(tensors={}, outputs=b"", seconds=(1e-3,) * len(steps), host=(times,) * len(steps))]

    monkeypatch.setattr(counters, "traced", frames)
    counted = counters.counter("host", {}).counted(made)
    assert [counted.amounts[n] for n in calls] == pytest.approx([1e-3 - 3e-6 - arch.wake] * len(calls))
    assert {counted.orders[n].start for n in calls} == {3e-6}


def test_lines_of_caches_are_measured_where_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[CalibrateRequest.__module__], "line_seconds", lambda: 11e-9)
    plain = read_soc(DIGITS.parents[1] / "cores" / "dual_m33.toml")
    (core,) = (arch for arch in plain.archs if arch.cores is not None)
    assert core.cores is not None
    shared = evolve(core, cores=evolve(core.cores, line=4e-8))
    soc = evolve(plain, archs=tuple(shared if arch is core else arch for arch in plain.archs))
    report, without = (
        calibrate(CalibrateRequest(compilations=(CompileRequest(model_path=DIGITS, soc=each),), port="host"))
        for each in (soc, plain)
    )
    assert report.costs.cores == {core.name: CoreCost(line=11e-9)}
    assert f"a line that another core wrote takes 11 ns longer at {core.name}" in str(report)
    assert parse_costs(report.cost_file, "c.json", soc).applied(soc).arch(core.name).line == 11e-9
    require_described("calibrate", report.to_json())
    assert without.costs.cores == {}


def test_a_line_that_another_core_wrote_takes_longer() -> None:
    seconds = line_seconds()
    if seconds is None:
        pytest.skip("this process may use one processor")
    assert 0 <= seconds < 1e-5
