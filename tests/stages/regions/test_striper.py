"""Regions on the way up the ladder: those of a partition that placement or a cut has changed are gone."""

from collections.abc import Iterator, Sequence

import pytest
from attrs import evolve

from target_arch.plan.memory import Arena
from target_arch.plan.model import Operator
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.regions.region import Region
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.split import cut
from target_arch.stages.regions.striper import Striper
from tests.stages import chips

SRAM = Arena("sram")


def halved(operators: Sequence[Operator], room: int, twice: bool) -> Iterator[Region]:
    """Two neighbours as one call, in place."""
    if len(operators) == 2:
        names = tuple(operator.id for operator in operators)
        yield Region(operators=names, size=1, scratch=64, over=operators[0].inputs[0])


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
