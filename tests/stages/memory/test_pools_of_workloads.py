"""The pools of models of which some may be in the middle of a job at the same time, and of bytes that are
the caller's, byte by byte.
"""

from collections.abc import Mapping

from attrs import evolve

from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.plan.model_pools import ModelPool, Pairs, Sharing
from target_arch.soc.model import SoC
from target_arch.stages.memory.model_pools import exceeds, model_pools, needed_in_turn, taken_by_others
from tests.stages.memory.test_model_pools import cached, small
from tests.tiny_plans import soc

SRAM = Arena("sram")


def planned(*buffers: Buffer) -> MemoryPlan:
    """Buffers one behind the other in each arena."""
    offsets: dict[str, int] = {}
    peaks: dict[Arena, int] = {}
    for each in buffers:
        offsets[each.name] = peaks.get(each.arena, 0)
        peaks[each.arena] = offsets[each.name] + each.bytes
    return MemoryPlan(buffers=buffers, offsets=offsets, peaks=peaks)


def buffer(name: str, size: int, **facts: object) -> Buffer:
    known = {"kind": "activation", "memory": "sram", "alignment": 16} | facts
    return Buffer(name=name, bytes=size, first=0, last=1, **known)  # type: ignore[arg-type]


def lent(name: str, size: int, alignment: int = 1, memory: str = "sram") -> Buffer:
    return buffer(name, size, kind="input", caller=True, tensor=name, alignment=alignment, memory=memory)


def pairs(*names: str) -> Pairs:
    return frozenset(frozenset(pair) for pair in names)


def pool(sizes: Mapping[str, int], apart: Pairs, chip: SoC | None = None) -> ModelPool:
    """The SRAM of models of these bytes."""
    plans = {name: planned(buffer("x", size)) if size else planned() for name, size in sizes.items()}
    return model_pools(chip or soc(), plans, Sharing.SHARED, apart).pool(SRAM)


def test_models_that_may_meet_have_bytes_of_their_own() -> None:
    sizes = {"a": 600, "b": 1000, "c": 900, "none": 0}
    found = pool(sizes, pairs("ab", "ac"))
    assert (found.offsets, found.bytes, found.overlaid) == ((1008, 0, 0, 0), 1616, True)
    assert pool(sizes, pairs()).offsets == (0, 0, 0, 0)
    assert pool(sizes, pairs()).bytes == 1008
    every = pool(sizes, pairs("ab", "ac", "bc", "an", "bn", "cn"))
    assert (every.offsets, every.bytes) == ((1008 + 912, 0, 1008, 0), 1008 + 912 + 608)
    assert pool(sizes, pairs("ab", "bc")).offsets == (1008, 0, 1008, 0)


def test_a_model_takes_the_first_bytes_that_are_free_for_it() -> None:
    """Below another, where it just fits; behind it else, at once."""
    chain = pool({"a": 1008, "b": 1008, "c": 1008}, pairs("ab", "bc"))
    assert (chain.offsets, chain.bytes) == ((0, 1008, 0), 2016)
    gap = pool({"a": 1024, "b": 512, "c": 256, "d": 128}, pairs("ab", "bc", "cd", "bd"))
    assert (gap.offsets, gap.bytes) == ((0, 1024, 0, 256), 1536)
    large = pool({"a": 1024, "b": 512, "c": 512, "d": 256}, pairs("ab", "ac", "bc", "cd", "ad"))
    assert large.offsets == (0, 1024, 1536, 1024)


def test_models_that_may_meet_share_no_cache_line() -> None:
    sizes = {"a": 1000, "b": 600}
    assert pool(sizes, pairs("ab"), cached()).offsets == (0, 1024)
    wide = {name: planned(buffer("x", size, alignment=128)) for name, size in sizes.items()}
    found = model_pools(cached(), wide, Sharing.SHARED, pairs("ab")).pool(SRAM)
    assert (found.alignment, found.offsets, found.bytes) == (128, (0, 1024), 1664)


def test_what_is_never_shared_is_as_without_a_workload() -> None:
    constants = buffer("w", 100, kind="constant", memory="flash")
    plans = {
        "a": planned(buffer("x", 500), constants),
        "b": planned(buffer("x", 400), evolve(constants, bytes=50)),
    }
    arena = Arena("flash", constant=True)
    plain = model_pools(soc(), plans, Sharing.SHARED)
    beside = model_pools(soc(), plans, Sharing.SHARED, pairs("ab"))
    assert beside.pool(arena) == plain.pool(arena)
    assert beside.pool(arena).offsets == (0, 112)
    assert (plain.pool(SRAM).bytes, beside.pool(SRAM).bytes) == (512, 912)
    assert (plain.apart, beside.apart) == (None, pairs("ab"))
    assert [str(each.pool) for each in beside.pools] == ["flash.constants", "sram"]


def test_a_model_beside_others_gets_what_their_pools_leave() -> None:
    state = buffer("h", 20, kind="state")
    constants = buffer("w", 100, kind="constant", memory="flash")
    one = planned(buffer("x", 500), buffer("t", 40, memory="tcm"), state, constants, lent("in", 30))
    two = planned(buffer("x", 300), lent("in", 30))
    plans = {"a": one, "b": two}
    beside = model_pools(soc(), plans, Sharing.SHARED, pairs("ab"))
    none = taken_by_others(soc(), tuple(plans.values()), Sharing.SHARED)
    assert none == {"flash": 112, "sram": 32}
    found = taken_by_others(soc(), tuple(plans.values()), Sharing.SHARED, beside=beside)
    assert found == {"flash": 112, "sram": 512 + 304 + 32, "tcm": 48}
    both = planned(state, buffer("s", 50, kind="resident"))
    assert taken_by_others(soc(), (both,), Sharing.SHARED) == {"sram": 64 + 32}


def test_what_others_take_in_their_turns() -> None:
    constants = buffer("w", 100, kind="constant", memory="flash")
    plans = (planned(buffer("x", 500), constants), planned(buffer("x", 300), buffer("t", 40, memory="tcm")))
    assert needed_in_turn(soc(), plans, Sharing.SHARED) == {"sram": 512, "tcm": 48}
    assert needed_in_turn(soc(), plans, Sharing.SEPARATE) == {"tcm": 48}
    assert needed_in_turn(soc(), plans[:1], Sharing.SHARED) == {"sram": 512}


def test_an_arena_is_as_aligned_as_the_buffers_in_it() -> None:
    """At least to 16 bytes, but for the caller's, whose are as the caller has them."""
    one = planned(
        buffer("x", 100, alignment=4),
        buffer("w", 100, kind="constant", memory="flash", alignment=64),
        lent("in", 30, 1),
        lent("big", 30, 32),
        buffer("t", 8, memory="tcm", alignment=32),
    )
    pools = model_pools(soc(), {"a": one}, Sharing.SHARED).pools
    assert {str(each.pool): each.alignment for each in pools} == {
        "flash.constants": 64,
        "sram": 16,
        "sram.caller.big": 32,
        "sram.caller.in": 1,
        "tcm": 32,
    }


def test_pools_are_of_the_buffers_of_every_model() -> None:
    plans = {"a": planned(buffer("x", 100)), "b": planned(buffer("t", 8, memory="tcm"))}
    assert [str(each.pool) for each in model_pools(soc(), plans, Sharing.SHARED).pools] == ["sram", "tcm"]


def test_a_plan_exceeds_a_memory_by_a_byte() -> None:
    """In whole units of its alignment, without what is the caller's."""
    one = planned(buffer("x", 2033))
    assert not exceeds(small(2048), one, {})
    assert exceeds(small(2047), one, {})
    assert not exceeds(small(4096), one, {"sram": 2048})
    assert exceeds(small(4096), one, {"sram": 2049})
    assert not exceeds(small(2048), planned(buffer("x", 2033), lent("in", 4000)), {})
    states = planned(buffer("x", 1000), buffer("h", 1000, kind="state"))
    assert exceeds(small(2015), states, {})
    assert not exceeds(small(2016), states, {})
