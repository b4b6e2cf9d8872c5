"""Budgets from a plan of everything else."""

from attrs import evolve

from target_arch.plan.kernels import Kernel, LocalBuffer
from target_arch.plan.memory import Buffer
from target_arch.plan.model import Operator
from target_arch.plan.partitions import Partition
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.stages.allocate import allocate, capacities
from target_arch.stages.budget import budget, with_used
from tests.stages import chips

OPERATOR = Operator(id="a", kind="conv", arithmetic="tflite", inputs=(), constants=(), output="a")
PARTITION = Partition(id="p0", instance="conv", operators=(OPERATOR,), reason="")
SITE = Dispatch(partition="p0", operator="a", instance="conv", function="", operands=())


def held(name: str, size: int, first: int, last: int) -> Buffer:
    return Buffer(name=name, kind="local", memory="bram", bytes=size, alignment=16, first=first, last=last)


def given(*buffers: Buffer):  # type: ignore[no-untyped-def] # noqa: ANN201
    other = evolve(SITE, partition="p1")
    order = StepOrder(steps=(other, SITE, other), buffers=buffers, inputs=(), outputs=())
    plan = allocate(buffers, capacities(chips.EDGE))
    return budget(PARTITION, order, plan, chips.EDGE)


def test_an_empty_memory_is_guaranteed_whole() -> None:
    pool = given(held("before", 4000, 0, 0), held("after", 4000, 2, 2)).sites["a"][0]
    assert (pool.memory, pool.live, pool.remaining, pool.guaranteed) == ("bram", 0, 16384, 16384)


def test_what_is_live_at_the_site_is_taken_off_and_the_block_starts_aligned() -> None:
    pool = given(held("here", 1001, 0, 2)).sites["a"][0]
    assert (pool.live, pool.remaining, pool.guaranteed) == (1001, 15383, 16384 - 1008)


def test_a_hole_in_the_plan_is_not_one_block() -> None:
    """What lives on after the site lies between what is free there."""
    pool = given(held("before", 6000, 0, 0), held("on", 4000, 0, 2), held("after", 12000, 2, 2)).sites["a"][0]
    assert (pool.live, pool.remaining) == (4000, 12384)
    assert pool.guaranteed < pool.remaining


def test_what_was_used_is_filled_in() -> None:
    buffers = (
        LocalBuffer(name="i", bytes=100, memory="bram"),
        LocalBuffer(name="o", bytes=28, memory="bram"),
    )
    filled = with_used(given(), Kernel(partition="p0", instance="conv", buffers=buffers))
    assert [pool.used for pool in filled.sites["a"]] == [128]
    assert filled.guaranteed("a", "bram") == 16384
    assert filled.guaranteed("a", "sram") == 0
