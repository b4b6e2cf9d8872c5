"""What several models take of one chip, and the checker of that."""

import pytest
from attrs import evolve

from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.plan.model_pools import ModelPools, Sharing
from target_arch.plan.printed.text import model_pools as printed
from target_arch.soc.model import SoC
from target_arch.stages.check.models import check_models
from target_arch.stages.errors import CheckError
from target_arch.stages.memory.model_pools import exceeds, model_pools, reduced, taken_by_others
from tests.tiny_plans import soc


def plan(constants: int, sram: int, tcm: int, alignment: int = 16) -> MemoryPlan:
    """One buffer in each arena that is not empty."""
    sizes = {"flash": ("constant", constants), "sram": ("activation", sram), "tcm": ("local", tcm)}
    buffers = tuple(
        Buffer(name=f"{m}_x", kind=kind, memory=m, bytes=size, alignment=alignment, first=0, last=1)
        for m, (kind, size) in sizes.items()
        if size
    )
    return MemoryPlan(
        buffers=buffers,
        offsets={buffer.name: 0 for buffer in buffers},
        peaks={buffer.arena: buffer.bytes for buffer in buffers},
    )


PLANS = {"kws": plan(100, 1000, 500), "vww": plan(300, 1500, 0, 64)}


def made(arenas: Sharing) -> ModelPools:
    """The pools of PLANS on the tiny chip."""
    return model_pools(soc(), PLANS, arenas)


def test_shared_arenas_are_as_large_as_the_largest() -> None:
    assert printed(made(Sharing.SHARED)) == (
        "memory of 2 models in bytes, arenas shared: they run in turn\n"
        "pool             capacity    kws    vww  together  apart\n"
        "flash.constants     4,096    100    300       448    448\n"
        "sram                4,096  1,000  1,500     1,536  2,560\n"
        "tcm                 1,024    500      0       512    512\n"
    )


def test_separate_arenas_lie_side_by_side_where_the_host_sees_them() -> None:
    pools = made(Sharing.SEPARATE)
    assert printed(pools) == (
        "memory of 2 models in bytes, arenas separate: each keeps its inputs and outputs\n"
        "pool             capacity    kws    vww  together  apart\n"
        "flash.constants     4,096    100    300       448    448\n"
        "sram                4,096  1,000  1,500     2,560  2,560\n"
        "tcm                 1,024    500      0       512    512\n"
    )
    assert pools.pool(Arena("sram")).offsets == (0, 1024)
    with pytest.raises(KeyError):
        pools.pool(Arena("ddr"))


def test_a_model_gets_the_bytes_that_the_others_do_not_take() -> None:
    others = tuple(PLANS.values())
    assert taken_by_others(soc(), others, Sharing.SHARED) == {"flash": 448}
    assert taken_by_others(soc(), others, Sharing.SEPARATE) == {"flash": 448, "sram": 2560}
    assert taken_by_others(soc(), (), Sharing.SEPARATE) == {}
    chip = reduced(soc(), {"flash": 448, "sram": 5000})
    sizes = {memory.name: memory.size for memory in chip.memories}
    assert sizes == {"flash": 4096 - 448, "sram": 0, "tcm": 1024}
    assert exceeds(soc(), PLANS["vww"], {"sram": 2600})
    assert not exceeds(soc(), PLANS["vww"], {"sram": 2560})


@pytest.mark.parametrize("arenas", [Sharing.SHARED, Sharing.SEPARATE])
def test_right_pools_pass_the_checker(arenas: Sharing) -> None:
    check_models(soc(), made(arenas), PLANS)


def small(size: int) -> SoC:
    """The tiny chip with an SRAM of that size."""
    memories = (evolve(m, size=size) if m.name == "sram" else m for m in soc().memories)
    return evolve(soc(), memories=tuple(memories))


def changed(pools: ModelPools, name: str, **facts: object) -> ModelPools:
    """The pools with other facts about one of them."""
    return evolve(pools, pools=tuple(evolve(p, **facts) if str(p.pool) == name else p for p in pools.pools))


def cached(size: int = 4096) -> SoC:
    """The tiny chip with an SRAM of that size behind the host's cache, whose lines have 64 bytes."""
    memories = (evolve(m, cached=True) if m.name == "sram" else m for m in small(size).memories)
    return evolve(soc(), memories=tuple(memories))


@pytest.mark.parametrize(("alignment", "apart"), [(16, False), (64, True)])
def test_models_share_no_cache_line(alignment: int, apart: bool) -> None:
    plans = {"kws": plan(100, 1000, 500, alignment), "vww": plan(300, 1500, 0, alignment)}
    pools = model_pools(soc(), plans, Sharing.SEPARATE)
    check_models(soc(), pools, plans)
    if apart:
        check_models(cached(), pools, plans)
        return
    with pytest.raises(CheckError, match="model vww: error: overlaps `kws` in pool `sram`"):
        check_models(cached(), pools, plans)


def test_arenas_are_whole_cache_lines() -> None:
    plans = {"kws": plan(100, 1000, 500)}
    pools = model_pools(soc(), plans, Sharing.SHARED)
    check_models(cached(1024), pools, plans)
    with pytest.raises(CheckError, match="`sram` needs 1,024 B for all models, it has 1,023 B"):
        check_models(cached(1023), pools, plans)


def one(size: int) -> tuple[SoC, ModelPools]:
    """A flash of that size, and constants of 250 bytes at an alignment of 16: in C, an object of 256."""
    chip = evolve(soc(), memories=tuple(evolve(m, size=size) for m in soc().memories if m.name == "flash"))
    return chip, model_pools(chip, {"kws": plan(250, 0, 0)}, Sharing.SHARED)


def test_constants_of_one_model_are_whole_units_of_their_alignment() -> None:
    chip, pools = one(256)
    check_models(chip, pools, {"kws": plan(250, 0, 0)})
    chip, pools = one(255)
    with pytest.raises(CheckError, match="`flash` needs 256 B for all models, it has 255 B"):
        check_models(chip, pools, {"kws": plan(250, 0, 0)})


def test_a_model_without_bytes_in_a_pool_overlaps_nobody() -> None:
    plans = {"kws": plan(100, 1000, 0), "vww": plan(300, 0, 0)}
    pools = changed(model_pools(soc(), plans, Sharing.SEPARATE), "sram", offsets=(0, 512))
    check_models(soc(), pools, plans)


def test_models_of_a_workload_share_where_its_own_rules_allow_it() -> None:
    """Which jobs may be begun together is asked of the jobs (`check.jobs`)."""
    pools = changed(made(Sharing.SEPARATE), "sram", offsets=(0, 0))
    check_models(soc(), evolve(pools, apart=frozenset()), PLANS)


def test_the_peak_of_an_arena_is_not_believed() -> None:
    """Two buffers of a model, and a peak of none of their bytes."""
    sizes = {"sram_x": (64, 0), "sram_y": (960, 64)}
    (first,) = plan(0, 64, 0).buffers
    buffers = tuple(evolve(first, name=name, bytes=size) for name, (size, _) in sizes.items())
    offsets = {name: offset for name, (_, offset) in sizes.items()}
    two = MemoryPlan(buffers=buffers, offsets=offsets, peaks={Arena("sram"): 0})
    plans = {"kws": two, "vww": plan(0, 1024, 0)}
    pools = model_pools(soc(), plans, Sharing.SEPARATE)
    right = changed(pools, "sram", offsets=(0, 1024), bytes=2048)
    check_models(soc(), right, plans)
    with pytest.raises(CheckError, match="model vww: error: overlaps `kws` in pool `sram`"):
        check_models(soc(), changed(right, "sram", offsets=(0, 960)), plans)


def test_the_last_two_of_three_models_overlap() -> None:
    plans = {**PLANS, "ad": plan(100, 500, 0)}
    pools = model_pools(soc(), plans, Sharing.SEPARATE)
    check_models(soc(), pools, plans)
    with pytest.raises(CheckError) as found:
        check_models(soc(), changed(pools, "sram", offsets=(0, 1024, 2480)), plans)
    assert str(found.value) == "model ad: error: overlaps `vww` in pool `sram` [overlap]"


FAULTS = {
    "memory of all models: error: `sram` needs 2,560 B for all models, it has 2,048 B [over-capacity]": (
        small(2048),
        made(Sharing.SEPARATE),
    ),
    "model vww: error: overlaps `kws` in pool `sram` [overlap]": (
        soc(),
        changed(made(Sharing.SEPARATE), "sram", offsets=(0, 960)),
    ),
    "model vww: error: overlaps `kws` in pool `flash.constants` [overlap]": (
        soc(),
        changed(made(Sharing.SHARED), "flash.constants", offsets=(0, 0)),
    ),
    "model vww: error: buffer `sram_x` at 1032 is not aligned to 64 B [misaligned]": (
        soc(),
        changed(made(Sharing.SEPARATE), "sram", offsets=(0, 1032)),
    ),
    "model vww: error: buffer `sram_x` ends outside pool `sram` [out-of-bounds]": (
        soc(),
        changed(made(Sharing.SHARED), "sram", bytes=1024),
    ),
    "model kws: error: nobody has the pool `tcm` of `tcm_x` [no-pool]": (
        soc(),
        evolve(made(Sharing.SHARED), pools=made(Sharing.SHARED).pools[:2]),
    ),
}


@pytest.mark.parametrize("text", FAULTS)
def test_the_checker_finds_what_is_wrong(text: str) -> None:
    chip, pools = FAULTS[text]
    with pytest.raises(CheckError) as found:
        check_models(chip, pools, PLANS)
    assert str(found.value) == text
