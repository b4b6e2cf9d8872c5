"""Budgets after they were given: limits, and what was really taken."""

import pytest

from target_arch.plan.kernels import Kernel, LocalBuffer
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.stages.lowering.budgets.budget import limited, on_demand, with_used
from tests.stages import chips

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


def test_a_budget_on_demand_is_computed_when_a_site_is_read() -> None:
    model = chips.model(("a", "other", ("x",), 8), ("b", "other", ("a",), 8), inputs={"x": 8})
    (partition,) = chips.placed(model, chips.ALONE).partitions
    asked: list[str] = []

    def ask() -> Budget:
        asked.append("once more")
        return GIVEN

    lazy = on_demand(partition, ask)
    assert (lazy.partition, list(lazy.sites), len(lazy.sites)) == (partition.id, ["a", "b"], 2)
    assert ("a" in lazy.sites, "c" in lazy.sites) == (True, False)
    assert limited(lazy, {}) is lazy
    with pytest.raises(KeyError):
        lazy.sites["c"]
    assert asked == []
    assert lazy.sites["b"] == (POOL,)
    assert len(asked) == 1
