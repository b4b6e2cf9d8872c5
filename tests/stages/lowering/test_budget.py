"""Budgets after they were given: limits, and what was really taken."""

from target_arch.plan.kernels import Kernel, LocalBuffer
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.stages.lowering.budget import limited, with_used

POOL = PoolBudget(memory="bram", live=100, remaining=900, guaranteed=800)
GIVEN = Budget(partition="p0", sites={"a": (POOL,), "b": (POOL,)})


def test_what_was_used_is_filled_in() -> None:
    buffers = (
        LocalBuffer(name="i", bytes=100, memory="bram"),
        LocalBuffer(name="o", bytes=28, memory="bram"),
        LocalBuffer(name="s", bytes=7, memory="sram"),
    )
    filled = with_used(GIVEN, Kernel(partition="p0", instance="conv", buffers=buffers))
    assert [pool.used for site in filled.sites for pool in filled.sites[site]] == [128, 128]
    assert filled.guaranteed("a", "bram") == 800
    assert filled.guaranteed("a", "sram") == 0


def test_a_limit_lowers_a_promise_and_never_raises_it() -> None:
    assert limited(GIVEN, {"bram": 300}).guaranteed("a", "bram") == 300
    assert limited(GIVEN, {"bram": 3000}).guaranteed("b", "bram") == 800
    assert limited(GIVEN, {"sram": 0}) == GIVEN
