"""Faults planted around inputs and outputs in memory of the caller."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import Alias, Arena, Buffer, MemoryPlan
from target_arch.plan.model_pools import ModelPool, ModelPools, Sharing
from target_arch.plan.steps import Dispatch
from target_arch.stages.check.models import check_models
from target_arch.stages.check.rules.aliases import CALLER, LEND, RESET, Holders
from target_arch.stages.errors import CheckError
from tests.stages.check.tiny import CHIP, Case, Held, call, case, copy, given, held, part, reads, writes


def lent(name: str, at: int = 0, size: int = 8, **facts: object) -> Held:
    """A buffer of the caller; an input unless facts say otherwise."""
    return given(name, at, size, **{"caller": True, **facts})


def made(name: str, at: int = 0, size: int = 8, **facts: object) -> Held:
    """An output in memory of the caller."""
    return lent(name, at, size, **{"kind": "output", **facts})


RUN = call(reads("x"), writes("y"))

CASES: dict[str, tuple[Case, list[str]]] = {
    "inputs and outputs at the same offset": (case([lent("x"), made("y")], RUN, outputs=["y"]), []),
    "more bytes than the memory has, which the models together tell": (
        case([lent("x", 0, 300), made("y")], call(reads("x"), writes("y")), outputs=["y"]),
        [],
    ),
    "an input that does not begin where the caller says": (
        case([lent("x", 8), made("y")], RUN, outputs=["y"]),
        ["out-of-bounds"],
    ),
    "a copy to an input": (
        case([lent("x"), made("y"), held("z")], RUN, copy("y", "z"), copy("z", "x"), outputs=["y"]),
        ["2: input-written"],
    ),
    "a kernel that writes an input": (
        case([lent("x"), made("y")], RUN, call(reads("y"), writes("x")), outputs=["y"]),
        ["1: input-written"],
    ),
    "the same in an arena": (
        case([given("x"), held("y", 8, kind="output")], RUN, call(reads("y"), writes("x")), outputs=["y"]),
        [],
    ),
    "a result over an input": (
        case(
            [lent("x"), held("z"), made("y")],
            call(reads("x"), writes("z", over=("x",))),
            call(reads("z"), writes("y")),
            outputs=["y"],
            in_place=[("z", "x")],
        ),
        ["unsafe-in-place"],
    ),
    "an output over an operand": (
        case(
            [lent("x"), held("z"), made("y")],
            call(reads("x"), writes("z")),
            call(reads("z"), writes("y", over=("z",))),
            outputs=["y"],
            in_place=[("y", "z")],
        ),
        ["unsafe-in-place"],
    ),
    "an output of which a byte is missing": (
        case([lent("x"), made("y")], copy(part("x", 0, 7), part("y", 0, 7)), outputs=["y"]),
        ["end of run: read-before-write"],
    ),
    "two outputs in one buffer": (
        case([lent("x"), made("y")], RUN, outputs=["y", "y"]),
        ["wrong-owner"],
    ),
    "an output that is the input's buffer": (case([lent("x")], outputs=["x"]), ["wrong-owner"]),
    "a tensor between them": (
        case(
            [lent("x"), made("z"), made("y")],
            call(reads("x"), writes("z")),
            call(reads("z"), writes("y")),
            outputs=["y"],
        ),
        ["wrong-owner"],
    ),
    "an output in the arena beside an input of the caller": (
        case([lent("x"), held("y", kind="output")], RUN, outputs=["y"]),
        ["wrong-owner"],
    ),
    "an input that only a core sees": (
        case([lent("x", memory="tcm_0"), made("y")], outputs=[]),
        ["wrong-owner", "wrong-owner"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_of_the_caller(name: str) -> None:
    faults, wanted = CASES[name]
    assert sorted(faults()) == sorted(wanted)


def pools(arenas: int, callers: int, *, whole: int = 256, limit: int = 256) -> list[str]:
    """What is said of a model with so many bytes in the arena of a memory, and in memory of the caller."""
    sizes = {Arena("ram"): arenas, Arena("ram", caller="x"): callers}
    made = [
        ModelPool(
            pool=arena, capacity=256, alignment=1, overlaid=False,
            peaks=(size,), offsets=(0,), bytes=size, apart=size,
        )
        for arena, size in sizes.items()
    ]  # fmt: skip
    held = Buffer(
        name="x", kind="input", memory="ram", bytes=callers, alignment=1, first=0, last=0, caller=True
    )
    plans = {"m": MemoryPlan(buffers=(held,), offsets={"x": 0})}
    chips = [
        evolve(CHIP, memories=tuple(evolve(m, size=size) if m.name == "ram" else m for m in CHIP.memories))
        for size in (limit, whole)
    ]
    try:
        check_models(
            chips[0], ModelPools(models=("m",), arenas=Sharing.SHARED, pools=tuple(made)), plans, chips[1]
        )
    except CheckError as error:
        return [fault.message for fault in error.diagnostics]
    return []


def test_arenas_and_callers_fit_a_memory_together() -> None:
    assert pools(200, 56) == []
    assert pools(200, 57) == ["`ram` needs 200 B for all models and 57 B of their caller, it has 256 B"]
    assert pools(100, 156, limit=100) == [], "a limit is that of arenas"
    assert pools(101, 100, limit=100) == ["`ram` needs 101 B for all models, it has 100 B"]


def test_memory_that_is_lent_or_reset_has_no_result_yet() -> None:
    """What an operator writes there is written over nothing; what another one writes then is."""
    shared = Alias(tensor="z", offset=0, bytes=8)
    buffer = Buffer(
        name="y", kind="output", memory="sram", bytes=8, alignment=1, first=0, last=9, aliases=(shared,)
    )
    holders, part = Holders((buffer,)), Slice(of="y", offset=0, row_bytes=8)

    def written(operator: str, partition: str = "p") -> str | None:
        step = Dispatch(
            partition=partition, operator=operator, instance="host", function="f", operands=(writes("y"),)
        )
        return holders.write(part, step)

    for operator in (LEND, RESET, LEND, RESET):
        assert written(operator, CALLER) is None
    assert written("store") is None
    assert written(RESET, CALLER) is None
    assert written("submit", CALLER) == "store"
