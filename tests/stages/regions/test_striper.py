"""Regions on the way up the ladder: those of a partition that placement or a cut has changed are gone."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.memory import Arena
from target_arch.plan.model import Operator
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.printed import text
from target_arch.plan.regions.cut import AxisCut
from target_arch.plan.regions.region import Region
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.split import cut
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.regions.striper import Striper
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips

SRAM = Arena("sram")
CUT = AxisCut(axis="rows", size=1, of=4)


def halved(operators: Sequence[Operator], room: int, twice: bool) -> Iterator[Region]:
    """Two neighbours as one call, in place."""
    if len(operators) == 2:
        names = tuple(operator.id for operator in operators)
        yield Region(operators=names, cuts=(CUT,), scratch=64, over=operators[0].inputs[0])


@pytest.fixture
def graph() -> PartitionGraph:
    chain = ((name, "add", (before,), 4096) for before, name in zip("xabc", "abcd", strict=True))
    return chips.placed(chips.model(*chain, inputs={"x": 4096}), chips.ALONE)


@pytest.fixture
def striper() -> Striper:
    return Striper(evolve(chips.setting(chips.ALONE), regions={"host": lambda model: halved}))


def refusal(needed: int, available: int) -> DoesNotFitError:
    return DoesNotFitError(pool=SRAM, needed=needed, available=available, bound=needed, step=0, alive=())


def regions(graph: PartitionGraph) -> tuple[Region, ...]:
    return tuple(region for partition in graph.partitions for region in partition.regions)


def test_regions_stay_while_their_partition_does(graph: PartitionGraph, striper: Striper) -> None:
    striper.further(graph, refusal(8192, 6000))
    assert regions(striper.striped(graph))
    assert striper.striped(graph) == striper.striped(graph)


def test_regions_of_a_partition_that_was_cut_are_chosen_again(
    graph: PartitionGraph, striper: Striper
) -> None:
    striper.further(graph, refusal(8192, 6000))
    pieces = cut(graph, frozenset({("b", "host")}))
    assert regions(striper.striped(pieces)) == ()


def test_regions_do_not_go_to_other_operators_of_the_same_name(
    graph: PartitionGraph, striper: Striper
) -> None:
    """After a placement that takes operators elsewhere, `p0` has others."""
    striper.further(graph, refusal(8192, 6000))
    (partition,) = graph.partitions
    moved = evolve(graph, partitions=(evolve(partition, operators=partition.operators[2:]),))
    assert regions(striper.striped(moved)) == ()


def test_a_plan_above_its_estimate_asks_for_regions_that_are_estimated_to_need_less(
    graph: PartitionGraph,
) -> None:
    def ways(operators: Sequence[Operator], room: int, twice: bool) -> Iterator[Region]:
        for region in halved(operators, room, twice):
            yield evolve(region, instructions=1)
            yield evolve(region, scratch=0, instructions=1000)

    striper = Striper(evolve(chips.setting(chips.ALONE), regions={"host": lambda model: ways}))
    striper.further(graph, refusal(8192, 6000))
    first = regions(striper.striped(graph))
    assert {region.scratch for region in first} == {64}
    striper.further(graph, refusal(6016, 6000))
    assert {region.scratch for region in regions(striper.striped(graph))} == {0}
    with pytest.raises(DoesNotFitError):
        striper.further(graph, refusal(6016, 6000))


def test_what_a_region_adds_takes_time(graph: PartitionGraph) -> None:
    """A tenth of the instructions of two operators, of 100 us each: with stand-ins, and in the one call."""

    def ways(operators: Sequence[Operator], room: int, twice: bool) -> Iterator[Region]:
        for region in halved(operators, room, twice):
            yield evolve(region, instructions=100, whole=1000)

    setting = evolve(chips.setting(chips.ALONE), regions={"host": lambda model: ways})
    striper = Striper(setting)
    attempt = striper.further(graph, refusal(8192, 6000))
    striped = striper.striped(graph)
    assert attempt.outcome.startswith(
        "4,032 B less of `sram` by estimate, about 200 instructions more, 40 us (a to b: 1 rows at a time"
    )
    calls = tuple(Call(function="f", operands=(), operator=id) for id in ("b", "d"))
    kernel = Kernel(partition="p0", instance="host", actions=calls)
    assert run_times(setting, striped, {}) == {"a": 100, "b": 120, "c": 100, "d": 120}
    assert run_times(setting, striped, {"p0": kernel}) == {"a": 0, "b": 220, "c": 0, "d": 220}
    assert run_times(setting, graph, {}) == dict.fromkeys("abcd", 100)
    assert text.explanation(striped, "b").splitlines()[1] == (
        "in a region, which adds 20 us to a run: a to b: 1 rows at a time, in the place of x, "
        "64 B for lines, about 100 instructions more"
    )


def run_times(setting: Setting, graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> dict[str, int]:
    """By operator the microseconds of a call."""
    times = Times(PartialLowering(setting=setting, graph=graph, kernels=kernels))
    return {operator.id: times.run("p0", operator.id) // 10**6 for operator in graph.model.operators}
