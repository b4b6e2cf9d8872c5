"""Dense graphs are planned with an effort that grows with their edges, counted in executed lines."""

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

import pytest

from target_arch.backend.planner import Algorithm
from target_arch.plan.memory import Buffer
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.check.plan import check
from target_arch.stages.lowering.one_pass import Passed, Passes
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.memory.packing.fast import by_time
from target_arch.stages.memory.planner import Planner
from target_arch.stages.placement.rules import Rules
from tests.stages import chips


def dense(operators: int, reads: int, size: int, instances: tuple[str, ...]) -> PartitionGraph:
    """The instances take turns with the operators of `chips.dense`."""
    model = chips.dense(operators, reads, size)
    partitions = tuple(
        Partition(id=f"p{n}", instance=instances[n % len(instances)], operators=(op,), reason="in turn")
        for n, op in enumerate(model.operators)
    )
    return PartitionGraph(model=model, partitions=partitions, choices=())


def planned(soc: SoC, graph: PartitionGraph, planner: Planner) -> Passed:
    codegens = chips.codegens(soc)
    passes = Passes(chips.setting(soc, planner=planner), chips.lowerer(soc))
    return passes.run(graph, lowering_order(graph, soc, codegens))


def lines(work: Callable[[], object]) -> int:
    """How many lines of the package are executed."""
    count = 0

    def line(_frame: FrameType, event: str, _: object) -> Callable[..., object]:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, _event: str, _: object) -> Callable[..., object] | None:
        return line if "target_arch" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
def test_effort_grows_with_the_edges() -> None:
    def effort(operators: int, reads: int) -> int:
        graph = dense(operators, reads, 16, ("conv", "npu", "host"))
        return lines(lambda: planned(chips.EDGE, graph, Planner(algorithm="by-time")))

    base, longer, denser = effort(25, 20), effort(50, 20), effort(50, 40)
    assert longer < 2.5 * base
    assert denser < 2 * longer


def test_rules_answer_for_many_operators_that_did_not_fit() -> None:
    instances = chips.EDGE.instances

    def effort(operators: int) -> int:
        names = [f"n{number}" for number in range(operators)]
        rules = Rules().giving_up((name, "conv", "too large") for name in names[::10])
        return lines(lambda: [rules.unfit(name, instance) for name in names for instance in instances])

    assert effort(800) < 2.1 * effort(400)


@pytest.mark.slow
def test_many_tensors_leave_a_full_memory_at_a_time() -> None:
    plans = 0

    def counted(buffers: Sequence[Buffer]) -> Mapping[str, int]:
        nonlocal plans
        plans += 1
        return by_time(buffers)

    graph = dense(200, 200, 1024, ("host",))
    passed = planned(
        chips.ALONE,
        graph,
        Planner(
            algorithm="counted",
            algorithms={"counted": Algorithm(name="counted", description="a test", pack=counted)},
        ),
    )
    assert passed.settled is not None
    check(chips.ALONE, passed.settled.steps, passed.settled.plan)
    homes = list(passed.settled.homes.homes.values())
    assert homes.count("ddr") > 130
    assert homes.count("sram") > 50
    assert plans < 20
