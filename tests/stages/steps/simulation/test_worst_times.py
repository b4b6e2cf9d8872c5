"""Worst times of steps, and how late they make a run."""

import json
from functools import cache
from pathlib import Path
from random import Random

import pytest
from attrs import evolve

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.pipeline.preparation import prepare
from target_arch.plan.execution import ActivityKind
from target_arch.plan.lowered import Lowered
from target_arch.plan.step_ends import step_ends
from target_arch.plan.steps import Dispatch
from target_arch.plan.workloads.tasks import TaskWork
from target_arch.plan.workloads.workload import PICO, TimedModel, Timing, WorstRule
from target_arch.soc import read_soc
from target_arch.soc.costs import (
    Costs,
    FittedCosts,
    MeasuredTime,
    OrderCost,
    StatedError,
    WorstOrder,
)
from target_arch.soc.files.cost_file import parse_costs
from target_arch.soc.model import CopyPath
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.orders import OrderTime
from target_arch.stages.steps.simulation.replay import replay
from target_arch.stages.steps.simulation.worst_run import worst_percent
from target_arch.stages.steps.simulation.worst_times import WorstTimes
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.tasks import timed_task, worst_steps

DIGITS = Path(__file__).parents[4] / "examples" / "digits" / "digits_int8.onnx"
SOC = read_soc("zynq_edge")
KINDS = ("quantize", "conv2d", "add", "avg_pool2d", "dense", "dequantize")
SLOW = {
    arch.name: {kind: {"time": f"{time} ns/element", "worst": f"{time * 1.5} ns/element"} for kind in KINDS}
    for arch, time in ((arch, 400 if arch.host else 40) for arch in SOC.archs)
}
PATHS = [
    {"from": path.source, "to": path.target, "engine": path.engine, "worst": {"setup": "9 us"}}
    for path in SOC.copies
]


def costs(copies: object = ()) -> Costs:
    return parse_costs(json.dumps({"schema": 1, "operators": SLOW, "copies": copies}), "c.json", SOC)


@cache
def planned(estimated: bool = False) -> tuple[Setting, CompiledModel]:
    """The example model, with estimates or with the worst times of all steps."""
    known = Costs() if estimated else costs(PATHS)
    request = CompileRequest(model_path=DIGITS, soc=SOC, costs=known)
    return prepare(request).setting, compile_model(request)


def computing(setting: Setting, lowered: Lowered, margin: float) -> int:
    """The worst time of all dispatches together."""
    steps = worst_steps(WorstRule(margin=margin, overhead=0), setting, lowered)
    return sum(
        work.takes for step, work in steps if isinstance(step, Dispatch) and isinstance(work, TaskWork)
    )


def test_a_stated_worst_time_takes_the_place_of_the_margin() -> None:
    """All kinds take half as much again at worst."""
    setting, lowered = planned()
    assert lowered.execution is not None
    usual = sum(each.end - each.start for each in lowered.execution.spans if each.kind is ActivityKind.RUN)
    for margin in (0.0, 0.7):
        assert computing(setting, lowered, margin) / PICO == pytest.approx(1.5 * usual)


def test_the_error_of_a_calibration_is_the_margin_of_its_target_arch() -> None:
    """An estimate that was a fifth of the measurement short is exceeded by a quarter."""
    setting, lowered = planned(estimated=True)
    error = StatedError(steps=9, median=0.1, worst=0.2, low=0.9, high=1.1)
    rates = {"mac": MeasuredTime(amount=1e-9)}
    fitted = Costs(fitted={arch.name: FittedCosts(rates=rates, error=error) for arch in SOC.archs})
    usual = computing(setting, lowered, 0.0)
    assert computing(evolve(setting, costs=fitted), lowered, 0.7) == pytest.approx(1.25 * usual)
    assert computing(setting, lowered, 0.7) == pytest.approx(1.7 * usual)


class Jittery(WorstTimes):
    """Steps that take any time up to their worst."""

    def __init__(self, work: PartialLowering, random: Random) -> None:
        super().__init__(work, 0.0)
        self._random = random

    def run(self, partition: str, operator: str) -> int:
        return int(super().run(partition, operator) * self._random.random())

    def transfer(self, path: CopyPath, bytes: int) -> int:
        return int(super().transfer(path, bytes) * self._random.random())


def test_no_step_is_over_later_than_the_percentage_says() -> None:
    setting, lowered = planned()
    percent, usual, order = worst_percent(setting, lowered), lowered.execution, lowered.steps
    assert percent is not None
    assert usual is not None
    due = step_ends(order.steps, usual.spans, usual.waits, usual.makespan)
    work = PartialLowering(setting=setting, graph=lowered.graph, kernels=lowered.kernels)
    for seed in range(30):
        run = replay(order, Jittery(work, Random(seed)), SOC.host.name)
        ends = step_ends(order.steps, run.spans, run.waits, run.makespan)
        assert all(end <= by * percent / 100 + 1e-6 for end, by in zip(ends, due, strict=True))


def test_the_header_has_the_percentage() -> None:
    setting, lowered = planned()
    header = " ".join(lowered.bundle.files["include/digits_int8.h"].decode().replace("*", "").split())
    assert f"every step is over within {worst_percent(setting, lowered)} % and the time of" in header


def test_one_unstated_step_leaves_the_percentage_open() -> None:
    setting, lowered = planned()
    assert worst_percent(evolve(setting, costs=costs()), lowered) is None
    setting, lowered = planned(estimated=True)
    assert worst_percent(setting, lowered) is None


ORDERED = {
    "dsp_cpu": OrderCost(start=2e-6, end=1e-6, worst=WorstOrder(start=7e-6)),
    "fpga_conv2d": OrderCost(start=3e-6),
}


def test_orders_at_worst_are_as_stated_or_have_the_margin() -> None:
    setting, lowered = planned()
    ordered = evolve(setting, costs=evolve(setting.costs, orders=ORDERED))
    work = PartialLowering(setting=ordered, graph=lowered.graph, kernels=lowered.kernels)
    engine = next(name for name in WorstTimes(work, 0.0).orders if name.startswith("fpga_conv2d"))
    worst = WorstTimes(work, 0.5).orders
    micro = PICO // 10**6
    assert worst["dsp_cpu"] == OrderTime(7 * micro, 3 * micro // 2)
    assert worst[engine] == OrderTime(9 * micro // 2, 0)
    assert worst_percent(ordered, lowered) is None, "the worst end of one of them is not stated"


def test_the_host_has_all_its_orders_in_a_task() -> None:
    """Each step of a device is started once and settled once, when its end is waited for or the next step of
    its timeline comes.
    """
    setting, lowered = planned()
    ordered = evolve(setting, costs=evolve(setting.costs, orders=ORDERED))
    work = PartialLowering(setting=ordered, graph=lowered.graph, kernels=lowered.kernels)
    orders, rule = WorstTimes(work, 0.0).orders, WorstRule(margin=0.0, overhead=5)
    steps = list(worst_steps(rule, ordered, lowered))
    devices = [step.instance for step, _ in steps if isinstance(step, Dispatch) and step.event is not None]
    expected = sum(orders[name].both for name in devices if name in orders) + 5 * len(steps)
    assert expected > 5 * len(steps)
    assert sum(each.host for _, each in steps) == expected
    timing = Timing(period=PICO, deadline=PICO)
    task = timed_task(rule, TimedModel(name="m", file=DIGITS, timing=timing), ordered, lowered)
    assert task_times(task).hosted >= expected
