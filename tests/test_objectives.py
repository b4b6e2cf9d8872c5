"""The objective of a compilation: throughput, energy, and a limit of time, on the example model."""

from collections.abc import Mapping

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.pipeline import (
    CompiledModel,
    CompileRequest,
    ModelsRequest,
    compile_model,
    compile_models,
    partition_model,
)
from target_arch.pipeline.objectives import most_often, with_choice
from target_arch.plan.inputs.time_limit import time_limit, time_text
from target_arch.plan.objective import Objective, ObjectiveFacts
from target_arch.plan.partitions import PartitionGraph
from target_arch.resources import examples
from target_arch.soc import read_soc
from target_arch.soc.costs import Costs, PowerCost
from target_arch.stages.setting import Setting

DIGITS = examples() / "digits" / "digits_int8.onnx"

_WATTS = {"host_cpu": 0.5, "dsp_cpu": 0.02, "fpga_conv2d": 3.0, "accelerator": 2.0}
POWERS = Costs(energy={name: PowerCost(active=watts) for name, watts in _WATTS.items()})
"""A DSP that takes little power, and engines that are quick and take much."""


def request(**wishes: object) -> CompileRequest:
    values: Mapping[str, object] = {"model_path": DIGITS, "soc": read_soc("zynq_edge"), **wishes}
    return CompileRequest(**values)  # type: ignore[arg-type]


def reached(graph: PartitionGraph) -> ObjectiveFacts:
    assert graph.facts is not None
    assert graph.facts.objective is not None
    return graph.facts.objective


def refused(**wishes: object) -> str:
    with pytest.raises(DiagnosticError) as found:
        compile_model(request(**wishes))
    return str(found.value)


def not_fitting() -> CompiledModel:
    raise refusal("no-frames", "first", "nothing fits")


@pytest.fixture(scope="module")
def busy() -> CompiledModel:
    return compile_model(request(objective="throughput"))


@pytest.mark.slow
def test_a_placement_for_throughput_has_frames_in_flight_at_least_as_often(busy: CompiledModel) -> None:
    other = compile_model(request(frames="auto"))
    assert busy.frames is not None
    assert other.frames is not None
    assert busy.frames.period <= other.frames.period
    assert busy.frames.bound <= busy.frames.period


def test_the_busiest_resource_is_not_below_its_bound(busy: CompiledModel) -> None:
    facts = reached(busy.graph)
    assert facts.objective is Objective.THROUGHPUT
    assert facts.busiest in {"host_cpu", "dsp_cpu", "fpga_conv2d", "accelerator", "axi_dma"}
    assert 0 < facts.bound <= facts.value
    entry = busy.manifest.objective
    assert entry is not None
    assert (entry.objective, entry.value, entry.bound) == ("throughput", facts.value, facts.bound)


def test_the_exact_method_proves_the_busiest_resource() -> None:
    pytest.importorskip("ortools", reason="the exact method needs the extra `exact`")
    plain = reached(partition_model(request(objective="throughput")))
    exact = partition_model(request(objective="throughput", exact=True))
    facts = reached(exact)
    assert plain.bound <= facts.bound <= facts.value <= plain.value
    assert exact.facts is not None
    assert exact.facts.method.endswith("then the exact method: proven optimal in the search model")


def test_without_an_objective_the_manifest_has_none() -> None:
    assert compile_model(request()).manifest.objective is None


def test_the_reason_names_what_is_busy_here_and_elsewhere() -> None:
    graph = partition_model(request(objective="throughput"))
    reasons = [choice.reason for choice in graph.choices]
    assert all(reason.startswith(("throughput: `", "only `")) for reason in reasons)
    instead = [each.instead for choice in graph.choices for each in choice.candidates if each.cost]
    assert all(text.endswith(" a frame") for text in instead)


def test_the_least_energy_without_a_limit_is_that_of_every_operator() -> None:
    graph = partition_model(request(objective="energy", costs=POWERS))
    facts = reached(graph)
    assert facts.value == facts.bound
    for choice in graph.choices:
        stated = {each.instance: each.cost.energy for each in choice.candidates if each.cost}
        known = {name: energy for name, energy in stated.items() if energy is not None}
        assert known[choice.instance] == min(known.values())


def test_less_time_costs_energy_and_the_run_keeps_the_limit() -> None:
    free = compile_model(request(objective="energy", costs=POWERS))
    quick = compile_model(request(costs=POWERS))
    assert free.execution is not None
    assert quick.execution is not None
    assert quick.execution.makespan < free.execution.makespan
    within = (quick.execution.makespan + free.execution.makespan) / 2
    made = compile_model(request(objective="energy", costs=POWERS, within=within))
    assert made.execution is not None
    assert made.execution.makespan <= within
    facts = reached(made.graph)
    assert reached(free.graph).value <= facts.bound <= facts.value
    assert facts.within == within


def test_energy_that_nothing_states_is_refused() -> None:
    assert refused(objective="energy") == (
        "objective: error: no cost of `zynq_edge` states energy, so there is none that could be least "
        "[no-energy]\n"
        "hint: state `energy` in a cost file, or `active` in `[chip]` of the SoC file"
    )


def test_a_run_that_is_too_long_is_refused_with_what_is_missed() -> None:
    run = compile_model(request()).execution
    assert run is not None
    assert refused(within=run.makespan * 0.8).endswith(
        "(25.0%) more than the 89.4 us that it may take [too-slow]"
    )
    assert compile_model(request(within=run.makespan)).execution == run


def test_a_limit_below_any_division_says_so() -> None:
    assert refused(within=1e-6).endswith(
        "hint: no division of its operators over this chip takes less than 40.3 us"
    )


@pytest.mark.slow
def test_frames_in_flight_keep_the_limit() -> None:
    free = compile_model(request(frames="auto")).frames
    assert free is not None
    limit = free.latency * 0.95
    made = compile_model(request(frames="auto", within=limit)).frames
    assert made is not None
    assert made.latency <= limit
    assert made.period >= free.period
    assert refused(frames="auto", within=limit / 20).startswith(
        "model digits_int8: error: a frame in flight takes "
    )


def test_an_objective_that_there_is_not_is_refused() -> None:
    assert refused(objective="speed") == (
        "objective: error: there is no objective `speed` [unknown-objective]\n"
        "hint: there are: `energy`, `latency`, `throughput`"
    )


def test_a_limit_that_is_none_is_refused() -> None:
    assert refused(within=0.0) == (
        "within: error: `0 s` is no limit of time: a number above 0 with `ms`, `ns`, `s`, `us` [bad-within]\n"
        "hint: such as `20ms`"
    )


def test_of_several_ways_the_one_with_the_shortest_period_is_taken(busy: CompiledModel) -> None:
    assert busy.frames is not None
    slow = evolve(busy, frames=evolve(busy.frames, period=busy.frames.period * 2))
    assert most_often([lambda: slow, lambda: busy]) is busy
    assert most_often([lambda: slow, not_fitting]) is slow
    with pytest.raises(DiagnosticError, match="first"):
        most_often([not_fitting, not_fitting])


def test_division_leaves_the_undivided_frames_to_choose_from(busy: CompiledModel) -> None:
    soc = read_soc("zynq_edge")
    other = evolve(busy, attempts=())
    for objective, count in ((Objective.THROUGHPUT, 2), (Objective.LATENCY, 1)):
        setting = evolve(Setting.of(soc, {}), objective=objective)
        assert len(with_choice(setting, busy, other)) == count
        assert with_choice(setting, busy, busy) == [busy]


@pytest.mark.slow
def test_frames_count_on_constants_that_stay() -> None:
    """What the search says of the busiest resource is of the copies that are left, and so is the period."""
    made = compile_model(
        request(objective="throughput", resident="auto", soc=read_soc("orin_like"), port="cuda")
    )
    assert made.frames is not None
    staying = reached(made.graph)
    copying = reached(compile_model(request(objective="throughput", soc=read_soc("orin_like"))).graph)
    assert staying.value < copying.value
    assert made.frames.period == pytest.approx(staying.value, rel=0.1)


@pytest.mark.slow
def test_the_options_are_recorded_as_they_can_be_said_again() -> None:
    made = compile_model(request(objective="throughput", within=2e-3))
    options = made.manifest.options
    assert options is not None
    assert (options.objective, options.within) == ("throughput", "2000000 ns")
    assert time_limit(str(options.within)) == 2e-3
    assert (time_text(1.5e-10), time_limit("0.15 ns")) == ("0.15 ns", 1.5e-10)


def test_several_models_have_no_throughput() -> None:
    pair = tuple(request(name=name, objective="throughput") for name in ("a", "b"))
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=pair))
    assert str(found.value) == (
        "frames: error: frames in flight are those of one model, several are given [no-frames]"
    )
