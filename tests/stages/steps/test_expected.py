"""The run to expect of a placement, before anything is lowered."""

from itertools import pairwise

import pytest
from attrs import evolve

from target_arch.plan.execution import Execution
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.placement.place import place
from target_arch.stages.setting import Setting
from target_arch.stages.steps.expected import with_runs
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered


def expected(model: Model, soc: SoC, *operators: str) -> PartitionGraph:
    setting = chips.setting(soc)
    grouping = Grouping(model=model, setting=setting, backends=chips.BACKENDS)
    return with_runs(place(model, setting, chips.BACKENDS), grouping, operators)


def run(graph: PartitionGraph) -> Execution:
    assert graph.run is not None
    return graph.run


@pytest.mark.parametrize("soc", [chips.EDGE, chips.quad()], ids=lambda soc: soc.name)
def test_a_resource_does_one_thing_at_a_time(soc: SoC) -> None:
    found = run(expected(chips.RESIDUAL, soc))
    for where in {span.where for span in found.spans}:
        mine = [span for span in found.spans if span.where == where]
        assert all(one.end <= two.start + 1e-15 for one, two in pairwise(mine))
    assert found.makespan == max(span.end for span in found.spans)
    assert 0 < found.bound <= found.makespan <= found.alone


def test_stand_ins_move_whole_operands_through_tiles() -> None:
    """The convolution has its input and weights moved in, and its result out."""
    model = chips.model(("a", "conv", ("x",), 4096), inputs={"x": 4096}, weights=512)
    found = run(expected(model, chips.EDGE))
    assert [(span.kind, span.what) for span in found.spans] == [
        ("copy", "p0.a.w@ddr"),
        ("copy", "p0.x@sram"),
        ("run", "a"),
        ("copy", "a@sram"),
    ]


@pytest.mark.parametrize("soc", [chips.EDGE, chips.quad()], ids=lambda soc: soc.name)
def test_stand_ins_take_what_kernels_of_one_tile_take(soc: SoC) -> None:
    """Where kernels move whole operands, and none finds a tile in place, the run is as expected."""
    model = chips.model(
        ("a", "conv", ("x",), 1024),
        ("b", "soft", ("a",), 1024),
        ("c", "conv", ("b",), 1024),
        inputs={"x": 1024},
        weights=256,
    )
    emitted = lowered(model, soc, chips.lowerer(soc, 1)).execution
    assert emitted is not None
    assert run(expected(model, soc)).makespan == pytest.approx(emitted.makespan)


def test_branches_overlap() -> None:
    rows = [(f"b{n}", "conv", ("x",), 1024) for n in range(3)]
    model = chips.model(*rows, ("s", "add", ("b0", "b1", "b2"), 1024), inputs={"x": 1024}, weights=64)
    graph = expected(model, chips.quad())
    assert len({graph.choice(f"b{n}").instance for n in range(3)}) == 3
    found = run(graph)
    assert found.makespan < found.alone


def test_candidates_of_operators_asked_for_have_a_run() -> None:
    graph = expected(chips.RESIDUAL, chips.EDGE, "b", "d")
    for choice in graph.choices:
        runs = {c.instance: c.run for c in choice.candidates if c.cost is not None}
        if choice.operator in ("b", "d"):
            assert runs[choice.instance] == run(graph).makespan
            assert min(time for time in runs.values() if time is not None) == runs[choice.instance]
        else:
            assert set(runs.values()) == {None}


def test_the_run_elsewhere_is_that_of_a_placement_there() -> None:
    """As if a rule had required it there."""
    graph = expected(chips.CHAIN, chips.EDGE, "b")
    setting = chips.setting(chips.EDGE)
    grouping = Grouping(model=chips.CHAIN, setting=setting, backends=chips.BACKENDS)
    moved = with_runs(grouping.moved(graph, "b", "host"), grouping)
    (candidate,) = (each for each in graph.choice("b").candidates if each.instance == "host")
    assert candidate.run == run(moved).makespan


def test_a_chain_takes_the_time_of_all_its_operators() -> None:
    backends = {**chips.BACKENDS, "npu": evolve(chips.BACKENDS["npu"], joins=lambda questions: None)}
    rows = (("a", "dense", ("x",), 1024), ("b", "dense", ("a",), 1024))
    model = chips.model(*rows, inputs={"x": 1024})
    setting = Setting.of(chips.EDGE, backends)
    graph = place(model, setting, backends)
    assert [len(partition.operators) for partition in graph.partitions] == [2]
    graph = with_runs(graph, Grouping(model=model, setting=setting, backends=backends))
    (dispatch,) = (span for span in run(graph).spans if span.kind == "run")
    assert dispatch.end - dispatch.start == pytest.approx(2 * chips.SPEED["npu"])
