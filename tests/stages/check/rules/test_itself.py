"""Steps against themselves: what they write is nothing else that they touch, or they say that it may be."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.steps import StepOrder
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError
from tests.stages.check.tiny import CHIP, Case, call, case, copy, given, held, part, reads, writes

X, Y, WIDE = given("x", 0), held("y", 8), given("w", 16, 16)
ITSELF = ["0: overlaps-itself"]


def over(of: str, *under: str, smaller: bool = False, **facts: object) -> Operand:
    return writes(of, over=under, smaller=smaller, **facts)


CASES: dict[str, tuple[Case, list[str]]] = {
    "a copy to the next bytes": (case([WIDE], copy(part("w", 0), part("w", 8))), []),
    "a copy to bytes of which one is its source's last": (
        case([WIDE], copy(part("w", 0), part("w", 7))),
        ITSELF,
    ),
    "a copy to bytes of which one is its source's first": (
        case([WIDE], copy(part("w", 7), part("w", 0))),
        ITSELF,
    ),
    "a copy to where it is": (case([WIDE], copy("w", "w")), ITSELF),
    "a copy of rows behind the rows": (
        case([WIDE], copy(part("w", 0, 2, 2, 6), part("w", 8, 2, 2, 6))),
        [],
    ),
    "a copy of rows between rows": (
        case([WIDE], copy(part("w", 0, 2, 4, 4), part("w", 2, 2, 4, 4))),
        ITSELF,
    ),
    "a call that writes the bytes behind those it reads": (
        case([WIDE], call(reads("w", bytes=8), writes("w", offset=8))),
        [],
    ),
    "a call that writes the bytes before those it reads": (
        case([WIDE], call(reads("w", offset=8), writes("w", bytes=8))),
        [],
    ),
    "a copy to the bytes before": (case([WIDE], copy(part("w", 8), part("w", 0))), []),
    "a call that writes the last byte it reads": (
        case([WIDE], call(reads("w", bytes=9), writes("w", offset=8))),
        ITSELF,
    ),
    "the same with its operands in another order": (
        case([WIDE], call(writes("w", offset=8), reads("w", bytes=9))),
        ITSELF,
    ),
    "a call that writes over what it reads and does not say so": (
        case([X], call(reads("x"), writes("x"))),
        ITSELF,
    ),
    "one that says so": (case([X], call(reads("x"), over("x", "x"))), []),
    "one that says so with its result first": (case([X], call(over("x", "x"), reads("x"))), []),
    "one that says so and may be smaller": (case([X], call(reads("x"), over("x", "x", smaller=True))), []),
    "one that says so and begins later": (
        case([X], call(reads("x"), over("x", "x", offset=4, bytes=4))),
        ITSELF,
    ),
    "one that says so of another": (case([X, Y], call(reads("x"), over("x", "y"))), ITSELF),
    "one that says so and is half a buffer off": (
        case([WIDE], call(reads("w", bytes=8), over("w", "w", offset=4, bytes=8))),
        ITSELF,
    ),
    "one that writes less and does not say so": (
        case([WIDE], call(reads("w"), over("w", "w", bytes=8))),
        ITSELF,
    ),
    "one that writes less and says so": (
        case([WIDE], call(reads("w"), over("w", "w", smaller=True, bytes=8))),
        [],
    ),
    "one that writes more": (
        case([WIDE], call(reads("w", bytes=8), over("w", "w", smaller=True))),
        ITSELF,
    ),
    "an operand read and written, and written again": (
        case([X], call(Operand(of="x", access="rw"), over("x", "x"))),
        ITSELF,
    ),
    "an operand read and written over another": (
        case([X], call(reads("x"), Operand(of="x", access="rw", over=("x",)))),
        ITSELF,
    ),
    "an operand read and written": (case([X], call(Operand(of="x", access="rw"))), []),
    "two operands that are read": (case([X], call(reads("x"), reads("x"))), []),
    "two halves that are written": (
        case([Y], call(writes("y", bytes=4), writes("y", offset=4))),
        [],
    ),
    "two operands that are written over each other": (
        case([Y], call(writes("y", bytes=5), writes("y", offset=4))),
        ITSELF,
    ),
    "the first and the third operand": (
        case([X, Y], call(reads("x"), writes("y"), writes("x"))),
        ITSELF,
    ),
    "rows that are written side by side": (case([Y], call(writes("y", bytes=2, rows=3, stride=2))), []),
    "rows that are written over each other": (
        case([Y], call(writes("y", bytes=3, rows=3, stride=2))),
        ITSELF,
    ),
    "rows that are read over each other": (case([X], call(reads("x", bytes=3, rows=3, stride=2))), []),
    "one row": (case([Y], call(writes("y", bytes=3, rows=1, stride=2))), []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_step_against_itself(name: str) -> None:
    faults, wanted = CASES[name]
    assert faults() == wanted


REST: dict[str, tuple[Case, list[str]]] = {
    "a constant that is linked": (case([held("c", kind="constant", memory="rom")]), []),
    "a constant where nothing puts it": (case([held("c", kind="constant", memory="flash")]), ["not-filled"]),
    "two constants where nothing puts them": (
        case([held(name, at, kind="constant", memory="flash") for name, at in (("c", 0), ("d", 8))]),
        ["not-filled"] * 2,
    ),
    "an input that the caller cannot write": (case([given("x", memory="out")]), ["not-observed"]),
    "another tensor there": (case([held("y", memory="out")]), []),
    "an output that the caller cannot read": (
        case([given("x"), held("y", memory="out")], call(reads("x")), outputs=["x", "y"]),
        ["not-observed", "end of run: read-before-write"],
    ),
}


@pytest.mark.parametrize("name", REST)
def test_what_the_host_puts_and_finds(name: str) -> None:
    faults, wanted = REST[name]
    assert faults() == wanted


def test_what_is_said() -> None:
    buffers = tuple(each.buffer for each in (X, Y, WIDE))
    steps = (
        copy(part("w", 0), part("w", 4)),
        call(reads("x"), writes("x")),
        call(writes("y"), writes("y", offset=4)),
        call(writes("y", bytes=3, rows=3, stride=2)),
    )
    order = StepOrder(steps=steps, buffers=buffers, inputs=(("x", "x"), ("w", "w")), outputs=())
    plan = MemoryPlan(buffers=buffers, offsets={"x": 0, "y": 8, "w": 16})
    with pytest.raises(CheckError) as caught:
        check(CHIP, order, plan)
    assert str(caught.value).split("\n\n") == [
        "step 0 (copy w to w): error: `w[0:+8]` is copied over itself, to `w[4:+8]` [overlaps-itself]",
        "step 1 (dispatch op on host): error: `x[0:+8]` is written over `x[0:+8]`, which it reads "
        "[overlaps-itself]",
        "step 2 (dispatch op on host): error: `y[0:+8]` and `y[4:+4]` are both written [overlaps-itself]",
        "step 3 (dispatch op on host): error: `y[0:+3x3/2]` is written and has rows over each other "
        "[overlaps-itself]",
    ]
    hidden = evolve(X.buffer, memory="out")
    weights = held("c", kind="constant", memory="flash").buffer
    order = StepOrder(steps=(), buffers=(hidden, weights), inputs=(("x", "x"),), outputs=())
    with pytest.raises(CheckError) as caught:
        check(CHIP, order, MemoryPlan(buffers=order.buffers, offsets={"x": 0, "c": 0}))
    assert str(caught.value).split("\n\n") == [
        "memory plan: error: `x` is in `out`, which the host does not see [not-observed]",
        "memory plan: error: constant `c` is in `flash`, which nothing fills [not-filled]",
    ]
