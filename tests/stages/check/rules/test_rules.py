"""Every rule of the checker at its boundary: what is just right has no fault, one more byte or step has one.

Each row says of a plan that fits on a line which faults it has, all of them. Not one row is derived from the
checker.
"""

from collections.abc import Sequence

import pytest
from attrs import evolve

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.steps import Load, Step, StepOrder
from tests.stages.check.tiny import (
    CHIP,
    LOADS,
    Case,
    Held,
    call,
    case,
    copy,
    fill,
    found,
    found_in,
    given,
    held,
    part,
    reads,
    wait,
    writes,
)

REST: dict[str, tuple[Case, list[str]]] = {
    "a buffer up to the last byte of its memory": (case([held("b", 248)]), []),
    "a buffer one byte further": (case([held("b", 249)]), ["out-of-bounds", "over-capacity"]),
    "a buffer of another memory, one byte further": (
        case([held("b", 121, memory="out")]),
        ["out-of-bounds", "over-capacity"],
    ),
    "a buffer before its memory": (case([held("b", -1)]), ["out-of-bounds"]),
    "a buffer at a multiple of its alignment": (case([held("b", 32, alignment=16)]), []),
    "a buffer at half of its alignment": (case([held("b", 8, alignment=16)]), ["misaligned"]),
    "a buffer without a place": (case([held("b", None)]), ["no-offset"]),
    "a buffer without a place in a full memory": (
        case([held("a", 0, 256), held("b", None, 128, memory="out")]),
        ["no-offset"],
    ),
    "two buffers of one name": (case([held("b"), held("b", 8)]), ["duplicate-buffer"]),
    "a buffer as large as its tensor": (
        case([held("b", tensor="t"), held("c", 8, 9)], sizes={"t": 8, "b": 1, "c": 9}),
        [],
    ),
    "a buffer that is smaller than its tensor": (
        case([held("b", tensor="t")], sizes={"t": 9}),
        ["wrong-size"],
    ),
    "a buffer that is larger than its tensor": (
        case([held("b", tensor="t")], sizes={"t": 7}),
        ["wrong-size"],
    ),
    "a scratch buffer that is too small": (case([held("b")], sizes={"b": 9}), ["wrong-size"]),
}


@pytest.mark.parametrize("name", REST)
def test_the_plan_at_rest(name: str) -> None:
    faults, wanted = REST[name]
    assert faults() == wanted


def constant(name: str, at: int, size: int, **facts: object) -> Held:
    return held(name, at, size, **{"kind": "constant", **facts})


@pytest.mark.parametrize(
    ("constants", "alignment", "workspace", "other", "fits"),
    [
        (256, 16, 0, 1, True),
        (250, 16, 0, 1, True),
        (0, 1, 256, 16, True),
        (100, 1, 156, 1, True),
        (100, 1, 157, 1, False),
        (100, 64, 128, 1, True),  # the constants end at their alignment
        (100, 64, 129, 1, False),
        (100, 1, 128, 64, True),  # the workspace begins at its own
        (100, 1, 129, 64, False),
    ],
)
def test_the_arenas_of_a_memory_fit_one_behind_the_other(
    constants: int, alignment: int, workspace: int, other: int, fits: bool
) -> None:
    buffers = []
    if constants:
        buffers += [constant("c", 0, constants, alignment=alignment)]
    if workspace:
        buffers += [held("w", 0, workspace, alignment=other)]
    assert found(buffers) == ([] if fits else ["memory plan: over-capacity"])


def test_an_arena_ends_with_its_last_buffer() -> None:
    constants = [constant("c", 100, 100), constant("d", 0, 100)]
    assert found([*constants, held("w", 0, 56)]) == []
    assert found([*constants, held("w", 0, 57)]) == ["memory plan: over-capacity"]


def test_residents_come_before_the_workspace() -> None:
    residents = [held("r", 0, 100, kind="resident"), constant("c", 0, 100)]
    fills = [fill(part("c", 0, 100), part("r", 0, 100))]
    assert found([*residents, held("w", 0, 56)], *fills) == []
    assert found([*residents, held("w", 0, 57)], *fills) == ["memory plan: over-capacity"]


def test_only_constants_end_at_their_alignment() -> None:
    small = evolve(CHIP, memories=tuple(evolve(m, size=250) if m.name == "ram" else m for m in CHIP.memories))
    assert found([held("w", 0, 250, alignment=16)], soc=small) == []
    assert found([constant("c", 0, 250, alignment=16)], soc=small) == ["memory plan: over-capacity"]
    assert found([constant("c", 0, 240, alignment=16)], soc=small) == []


def test_every_memory_has_its_own_capacity_and_alignment() -> None:
    wide = held("wide", 0, 64, memory="out", alignment=64)
    buffers = [constant("c", 0, 100), held("w", 100, 56), held("v", 0, 100), wide]
    assert found(buffers) == []
    small = tuple(evolve(m, size=63) if m.name == "out" else m for m in CHIP.memories)
    faults = found(buffers, soc=evolve(CHIP, memories=small))
    assert faults == ["memory plan: out-of-bounds", "memory plan: over-capacity"]


def order(*buffers: Held, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> StepOrder:
    return StepOrder(
        steps=(),
        buffers=tuple(each.buffer for each in buffers),
        inputs=tuple((name, name) for name in inputs),
        outputs=tuple((name, name) for name in outputs),
    )


def test_the_ends_of_the_model_are_in_buffers() -> None:
    one = order(given("x"), inputs=("x",))
    plan = MemoryPlan(buffers=one.buffers, offsets={"x": 0})
    rule = "memory plan: {}".format
    assert found_in(one, plan) == []
    assert found_in(evolve(one, outputs=(("y", "q"),)), plan) == [rule("unknown-buffer")]
    assert found_in(evolve(one, inputs=(("x", "x"), ("y", "q"))), plan) == [rule("unknown-buffer")]
    assert found_in(evolve(one, inputs=()), plan) == [rule("wrong-input")], "nobody writes it"
    work = order(held("x"), inputs=("x",))
    plan = MemoryPlan(buffers=work.buffers, offsets={"x": 0})
    assert found_in(work, plan) == [rule("wrong-input")], "not there before the run"
    other = order(held("y"))
    plan = MemoryPlan(buffers=one.buffers, offsets={"x": 0, "y": 0})
    assert found_in(other, plan) == [rule("wrong-buffers")]


# Steps: the buffers, the steps, the outputs, and the faults as `step: rule`.

X, Y, Z = given("x", 0), held("y", 8), held("z", 16)
C = held("c", 0, kind="constant")
T, U = held("t", 0, 16, memory="tcm_0", alignment=8), held("u", 16, memory="tcm_0", alignment=8)
WIDE = given("x", 0, 64, alignment=8)
OUT = held("o", 0, memory="out")
ROM = held("c", 0, kind="constant", memory="rom")
R = held("r", 0, kind="resident")
R16 = held("r", 0, 16, kind="resident")
LOAD_CORE, LOAD_NPU = LOADS
INVALIDATE = "invalidate destination"
TO_T = (copy("x", "t", "dma.0#1"), wait("dma.0#1"))


def core(*operands: Operand, number: int = 1, **facts: object) -> Step:
    return call(*operands, on=f"core[0]#{number}", **facts)


STEPS: dict[str, tuple[Case, list[str]]] = {
    # Slices and their buffers.
    "a copy up to the last byte": (case([X, Y], copy(part("x", 4, 4), part("y", 4, 4))), []),
    "a copy to one byte more": (case([X, Y], copy(part("x", 0, 8), part("y", 1, 8))), ["0: out-of-bounds"]),
    "a copy from before the buffer": (
        case([X, Y], copy(part("x", -1, 1), part("y", 0, 1))),
        ["0: out-of-bounds"],
    ),
    "a copy of nothing": (case([X, Y], copy(part("x", 0, 0), part("y", 0, 0))), ["0: out-of-bounds"] * 2),
    "a copy of no rows": (case([X, Y], copy(part("x", rows=0), part("y", rows=0))), ["0: out-of-bounds"] * 2),
    "rows that go down": (
        case([X, Y], copy(part("x", 0, 1, 2, -1), part("y", 0, 1, 2, 1))),
        ["0: out-of-bounds"],
    ),
    "rows up to the last byte": (case([X, Y], copy(part("x", 0, 2, 4, 2), part("y", 0, 2, 4, 2))), []),
    "rows with one byte too much": (
        case([X, Y], copy(part("x", 0, 2, 4, 2), part("y", 1, 2, 4, 2))),
        ["0: out-of-bounds"],
    ),
    "an operand of no buffer": (case([X], call(reads("x"), reads("q"))), ["0: unknown-buffer"]),
    "an operand that begins at the end": (case([X], call(reads("x", offset=8))), ["0: out-of-bounds"]),
    "an operand of the last byte": (case([X], call(reads("x", offset=7))), []),
    "an operand with bytes of its own": (case([X], call(reads("x", offset=4, bytes=4))), []),
    "an operand with one byte too many": (
        case([X], call(reads("x", offset=4, bytes=5))),
        ["0: out-of-bounds"],
    ),
    "an operand in rows": (case([X], call(reads("x", bytes=2, rows=3, stride=3))), []),
    "an operand in rows that are too far apart": (
        case([X], call(reads("x", bytes=2, rows=3, stride=4))),
        ["0: out-of-bounds"],
    ),
    "an operand read and written, once at fault": (
        case([X], call(Operand(of="x", access="rw", offset=9))),
        ["0: out-of-bounds"],
    ),
    "after a slice at fault nothing else is said": (
        case([X, Y], copy(part("x", 0, 9), "y"), copy("x", "y")),
        ["0: out-of-bounds"],
    ),
    # Bytes that are there.
    "a read of bytes that nothing wrote": (case([Y], call(reads("y"))), ["0: read-before-write"]),
    "a read of what was written": (case([X, Y], call(reads("x"), writes("y")), call(reads("y"))), []),
    "a read of one byte that was not written": (
        case([X, Y], copy(part("x", 0, 7), part("y", 0, 7)), call(reads("y"))),
        ["1: read-before-write"],
    ),
    "a read of the bytes that were written": (
        case([X, Y], copy(part("x", 0, 7), part("y", 0, 7)), call(reads("y", bytes=7))),
        [],
    ),
    "a read of the byte before them": (
        case([X, Y], copy(part("x", 0, 7), part("y", 1, 7)), call(reads("y", bytes=7))),
        ["1: read-before-write"],
    ),
    "two halves are the whole": (
        case(
            [X, Y],
            copy(part("x", 0, 4), part("y", 0, 4)),
            copy(part("x", 0, 4), part("y", 4, 4)),
            call(reads("y")),
        ),
        [],
    ),
    "the gap between two rows": (
        case([X, Y], copy(part("x", 0, 2, 2, 4), part("y", 0, 2, 2, 4)), call(reads("y", offset=2, bytes=2))),
        ["1: read-before-write"],
    ),
    "rows of bytes between which there are gaps": (
        case(
            [X, Y],
            copy(part("x", 0, 2, 2, 4), part("y", 0, 2, 2, 4)),
            call(reads("y", bytes=2, rows=2, stride=4)),
        ),
        [],
    ),
    "one row in the gap": (
        case(
            [X, Y],
            copy(part("x", 0, 2, 2, 4), part("y", 0, 2, 2, 4)),
            call(reads("y", bytes=1, rows=2, stride=2)),
        ),
        ["1: read-before-write"],
    ),
    "a call reads before it writes": (
        case([Y], call(Operand(of="y", access="rw"))),
        ["0: read-before-write"],
    ),
    "a call reads what it writes": (
        case([Y], call(writes("y"), reads("y"))),
        ["0: overlaps-itself", "0: read-before-write"],
    ),
    "what was not written is missing each time": (
        case([Y], call(reads("y")), call(reads("y"))),
        ["0: read-before-write", "1: read-before-write"],
    ),
    "an output of two halves": (
        case([X, Y], copy(part("x", 0, 4), part("y", 0, 4)), copy(part("x"), part("y")), outputs=["y"]),
        [],
    ),
    "an output of two halves that are each other's rest": (
        case(
            [X, Y],
            copy(part("x", 0, 4), part("y", 0, 4)),
            copy(part("x", 0, 4), part("y", 4, 4)),
            outputs=["y"],
        ),
        [],
    ),
    "an output that is complete": (case([X, Y], copy("x", "y"), outputs=["y"]), []),
    "an output without its last byte": (
        case([X, Y], copy(part("x", 0, 7), part("y", 0, 7)), outputs=["y"]),
        ["end of run: read-before-write"],
    ),
    "an output that nothing writes": (case([Y], outputs=["y"]), ["end of run: read-before-write"]),
    "an output that is an input": (case([X], outputs=["x"]), []),
    "a constant is there": (case([C, Y], copy("c", "y")), []),
    "a constant that is written": (case([X, C], copy("x", "c")), ["0: constant-written"]),
    "a constant that a call writes": (case([C], call(writes("c"))), ["0: constant-written"]),
    # Residents.
    "a resident that is filled": (case([C, R, Y], fill("c", "r"), copy("r", "y")), []),
    "a resident that is not filled": (case([R, Y], copy("r", "y")), ["0: read-before-write"]),
    "a resident that is filled but for a byte": (
        case([C, R, Y], fill(part("c", 0, 7), part("r", 0, 7)), copy("r", "y")),
        ["1: read-before-write"],
    ),
    "a resident that is filled in two halves": (
        case(
            [C, R16, Y],
            fill("c", part("r", 0)),
            fill("c", part("r", 8)),
            copy(part("r", 4), "y"),
        ),
        [],
    ),
    "halves with a byte in common": (
        case([C, R16], fill("c", part("r", 0)), fill("c", part("r", 7))),
        ["1: wrong-fill"],
    ),
    "a resident that is filled after a step": (
        case([C, R, X, Y], copy("x", "y"), fill("c", "r")),
        ["1: late-fill"],
    ),
    "a resident that is filled after a wait": (
        case([C, R], wait("bus.0#0"), fill("c", "r")),
        ["1: late-fill"],
    ),
    "a resident that is filled twice": (case([C, R], fill("c", "r"), fill("c", "r")), ["1: wrong-fill"]),
    "a resident that is filled with an input": (case([X, R], fill("x", "r")), ["0: wrong-fill"]),
    "a tensor that is filled": (case([C, Y], fill("c", "y")), ["0: wrong-fill"]),
    "a resident from a resident": (
        case([C, R, held("s", 8, kind="resident")], fill("c", "r"), fill("r", "s")),
        [],
    ),
    "a resident from one that is filled later": (
        case([C, R, held("s", 8, kind="resident")], fill("r", "s"), fill("c", "r")),
        ["0: read-before-write"],
    ),
    "a resident from the bytes in front of it": (
        case([C, R16], fill("c", part("r", 0)), fill(part("r", 0), part("r", 8))),
        [],
    ),
    "a resident from bytes of which one is its first": (
        case([C, R16], fill("c", part("r", 0)), fill(part("r", 0), part("r", 7))),
        ["1: overlaps-itself", "1: wrong-fill"],
    ),
    "a resident that a copy writes": (
        case([C, R, X], fill("c", "r"), copy("x", "r")),
        ["1: resident-written"],
    ),
    "a resident that a call writes": (
        case([C, R], fill("c", "r"), call(writes("r"))),
        ["1: resident-written"],
    ),
    "a resident that a result takes the place of": (
        case(
            [C, R, held("y", 0, kind="resident")],
            fill("c", "r"),
            call(reads("r"), writes("y", over=("r",))),
            in_place=[("y", "r")],
        ),
        ["1: resident-written", "unsafe-in-place"],
    ),
    "two residents on the same bytes": (
        case([C, R, held("s", 7, kind="resident")], fill("c", "r"), fill("c", "s")),
        ["overlap"],
    ),
    "a fill beyond the end": (case([C, R], fill("c", part("r", 1))), ["0: out-of-bounds"]),
    "a fill from nowhere": (case([R], fill("gone", "r")), ["0: unknown-buffer", "0: wrong-fill"]),
    "a fill by no path": (
        case([ROM, held("r", memory="out", kind="resident")], fill("c", "r")),
        ["0: no-copy-path"],
    ),
    "fills are counted by themselves": (
        case(
            [C, R, Y],
            fill("c", "r", "bus.0#1"),
            copy("r", "y", "bus.0#1"),
            wait("bus.0#1"),
        ),
        [],
    ),
    "a fill that counts on": (
        case([C, R16], fill("c", part("r", 0), "bus.0#1"), fill("c", part("r", 8), "bus.0#1")),
        ["1: wrong-event"],
    ),
    "a load behind a fill": (case([C, R], fill("c", "r"), LOAD_CORE), ["1: late-load"]),
    # Copies.
    "a path that is not declared": (case([X, OUT], copy("x", "o")), ["0: no-copy-path"]),
    "a path in the other direction": (
        case([held("c", 0, kind="constant"), held("r", 0, memory="rom")], copy("c", "r")),
        ["0: no-copy-path"],
    ),
    "a path of another engine": (
        case([X, Y], copy("x", "y", "dma.0#1"), wait("dma.0#1")),
        ["0: no-copy-path"],
    ),
    "two paths, one of which fits": (case([X, Y], copy("x", "y", "bus.0#1"), wait("bus.0#1")), []),
    "as many bytes as a path carries": (
        case(
            [WIDE, held("t", 0, 64, memory="tcm_0", alignment=8)],
            copy(part("x", 0, 64), part("t", 0, 64), "dma.0#1"),
            wait("dma.0#1"),
        ),
        [],
    ),
    "a byte more than a path carries": (
        case(
            [given("x", 0, 65, alignment=8), held("t", 0, 65, memory="tcm_0", alignment=8)],
            copy(part("x", 0, 65), part("t", 0, 65), "dma.0#1"),
            wait("dma.0#1"),
        ),
        ["0: copy-path-limit"],
    ),
    "a copy from an odd address": (
        case([WIDE, T], copy(part("x", 4), part("t", 0), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-path-limit"],
    ),
    "a copy to an odd address": (
        case([WIDE, T], copy(part("x", 0, 4), part("t", 4, 4), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-path-limit"],
    ),
    "two odd offsets that add up to a right address": (
        case([given("x", 4, 16, alignment=4), T], copy(part("x", 4), part("t"), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-path-limit"],
    ),
    "a right offset in a buffer at an odd address": (
        case([given("x", 4, 16, alignment=4), T], copy(part("x"), part("t"), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-path-limit"],
    ),
    "a right offset in an arena that may begin at an odd address": (
        case(
            [WIDE, evolve(T, buffer=evolve(T.buffer, alignment=4))],
            copy("x", "t", "dma.0#1"),
            wait("dma.0#1"),
        ),
        ["0: copy-path-limit"],
    ),
    "an address that is right by chance": (
        case([given("x", 2, 16, alignment=8), T], copy(part("x", 6), "t", "dma.0#1"), wait("dma.0#1")),
        ["misaligned"],
    ),
    "an address that is wrong with its buffer": (
        case([given("x", 4, 16, alignment=8), T], copy("x", "t", "dma.0#1"), wait("dma.0#1")),
        ["misaligned", "0: copy-path-limit"],
    ),
    "an address of no place": (
        case([given("x", None, 16, alignment=8), T], copy("x", "t", "dma.0#1"), wait("dma.0#1")),
        ["no-offset"],
    ),
    "rows over a path of two dimensions": (
        case([WIDE, T], copy(part("x", 0, 8, 2, 32), part("t", 0, 8, 2, 8), "dma.0#1"), wait("dma.0#1")),
        [],
    ),
    "rows at an odd distance": (
        case([WIDE, T], copy(part("x", 0, 8, 2, 12), part("t", 0, 8, 2, 8), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-path-limit"],
    ),
    "rows over a path of one dimension": (
        case([ROM, Y], copy(part("c", 0, 2, 2, 4), part("y", 0, 2, 2, 4))),
        ["0: copy-path-limit"],
    ),
    "one row over a path of one dimension": (case([ROM, Y], copy("c", "y")), []),
    "a copy with the duty of its path": (
        case([WIDE, T, held("y", 64)], *TO_T, copy("t", "y", "dma.0#2", cache=INVALIDATE), wait("dma.0#2")),
        [],
    ),
    "a copy without the duty of its path": (
        case([WIDE, T, held("y", 64)], *TO_T, copy("t", "y", "dma.0#2"), wait("dma.0#2")),
        ["2: copy-path-limit"],
    ),
    "rows that have as many bytes together": (
        case([WIDE, T], copy(part("x", 0, 16), part("t", 0, 8, 2, 8), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-sizes"],
    ),
    "as many rows of other lengths": (
        case([WIDE, T], copy(part("x", 0, 4, 2, 8), part("t", 0, 8, 2, 8), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-sizes"],
    ),
    "rows that are written one behind the other": (
        case([X, Y], copy(part("x", 0, 4, 2, 1), part("y", 0, 4, 2, 4))),
        [],
    ),
    "rows that are written over each other": (
        case([X, Y], copy(part("x", 0, 4, 2, 4), part("y", 0, 4, 2, 3))),
        ["0: copy-sizes"],
    ),
    "a copy of the host with an event": (
        case([X, Y], copy("x", "y", "bus.0#1", engine="cpu"), wait("bus.0#1")),
        ["0: wrong-event"],
    ),
    "a copy of an engine without event": (case([X, Y], copy("x", "y", engine="bus")), ["0: wrong-event"]),
    "the last channel of an engine": (case([WIDE, T], copy("x", "t", "dma.1#1"), wait("dma.1#1")), []),
    "a channel one too high": (
        case([WIDE, T], copy("x", "t", "dma.2#1"), wait("dma.2#1")),
        ["0: wrong-event"],
    ),
    "a channel of another engine": (
        case([WIDE, T], copy("x", "t", "bus.0#1", engine="dma"), wait("bus.0#1")),
        ["0: wrong-event"],
    ),
    "a channel that is no number": (
        case([X, Y], copy("x", "y", "bus.x#1", engine="bus"), wait("bus.x#1")),
        ["0: wrong-event"],
    ),
    # Instances.
    "a call of the host": (case([X, Y], call(reads("x"), writes("y"))), []),
    "a call of the host with an event": (
        case([X, Y], call(reads("x"), writes("y"), on="host#1"), wait("host#1")),
        ["0: wrong-event"],
    ),
    "a call of a core": (
        case(
            [WIDE, T, U],
            LOAD_CORE,
            copy(part("x", 0, 16), part("t", 0, 16), "dma.0#1"),
            wait("dma.0#1"),
            core(reads("t"), writes("u")),
            wait("core[0]#1"),
        ),
        [],
    ),
    "a call of a core without event": (
        case([U], LOAD_CORE, call(writes("u"), on="core[0]")),
        ["1: wrong-event"],
    ),
    "a call of a core on the timeline of another": (
        case([U], LOAD_CORE, call(writes("u"), on="core[1]#1", instance="core[0]"), wait("core[1]#1")),
        ["1: wrong-event"],
    ),
    "a call of a core that is not loaded": (
        case([U], core(writes("u")), wait("core[0]#1")),
        ["0: not-loaded"],
    ),
    "a call of no instance": (
        case([U], call(writes("u"), on="gpu#1"), wait("gpu#1")),
        ["0: unknown-instance"],
    ),
    "a stand-in": (case([Y], call(writes("y"), function="")), ["0: not-lowered"]),
    "an operand in the memory of another core": (
        case([held("v", memory="tcm_1")], LOAD_CORE, core(writes("v")), wait("core[0]#1")),
        ["1: not-observed"],
    ),
    "an operand that a core sees and does not own": (
        case([X], LOAD_CORE, core(reads("x")), wait("core[0]#1")),
        ["1: not-observed"],
    ),
    "an operand that only the others see": (case([OUT], call(writes("o"))), ["0: not-observed"]),
    "an operand that the npu reads where it sees it": (
        case([X, OUT], LOAD_NPU, call(reads("x"), writes("o"), on="npu#1"), wait("npu#1")),
        [],
    ),
    "an operand in a buffer of the npu": (
        case([held("a", memory="sums")], LOAD_NPU, call(writes("a"), on="npu#1"), wait("npu#1")),
        [],
    ),
    "an operand that the npu does not see": (
        case([ROM, OUT], LOAD_NPU, call(reads("c"), writes("o"), on="npu#1"), wait("npu#1")),
        ["1: not-observed"],
    ),
    "an operand that the npu writes where it sees it": (
        case([Y], LOAD_NPU, call(writes("y"), on="npu#1"), wait("npu#1")),
        ["1: not-observed"],
    ),
    "an operand that the npu reads and writes where it sees it": (
        case([X], LOAD_NPU, call(Operand(of="x", access="rw"), on="npu#1"), wait("npu#1")),
        ["1: not-observed"],
    ),
    "a call that reads what cannot be written": (case([ROM], call(reads("c"))), []),
    "a call that writes what cannot be written": (
        case([held("f", memory="flash")], LOAD_NPU, call(writes("f"), on="npu#1"), wait("npu#1")),
        ["1: not-writable"],
    ),
    # Loads.
    "all loads first": (case([], *LOADS), []),
    "a load behind a wait": (case([], LOAD_CORE, wait("dma.0#0"), LOAD_NPU), ["2: late-load"]),
    "a load behind a call": (case([Y], call(writes("y")), LOAD_NPU), ["1: late-load"]),
    "a load of no instance": (case([], Load(instance="gpu", process="firmware")), ["0: unknown-instance"]),
    "another image": (case([], evolve(LOAD_CORE, image="x.elf")), ["0: wrong-load"]),
    "another process": (case([], evolve(LOAD_CORE, process="linked")), ["0: wrong-load"]),
    "a second load": (case([], LOAD_CORE, LOAD_NPU, LOAD_CORE), ["2: wrong-load"]),
    # Events.
    "the next value of each timeline": (
        case([X, Y], copy("x", "y", "bus.0#1"), copy("x", "y", "bus.0#2"), wait("bus.0#2")),
        [],
    ),
    "a value twice": (
        case([X, Y], copy("x", "y", "bus.0#1"), copy("x", "y", "bus.0#1"), wait("bus.0#1")),
        ["1: wrong-event"],
    ),
    "a value left out": (
        case([X, Y], copy("x", "y", "bus.0#2"), wait("bus.0#2")),
        ["0: wrong-event"],
    ),
    "a wait for the next value": (
        case([X, Y], copy("x", "y", "bus.0#1"), wait("bus.0#2")),
        ["1: unknown-event"],
    ),
    "a wait for the first value of a timeline": (case([], wait("bus.0#1")), ["0: unknown-event"]),
    "a second wait": (case([X, Y], copy("x", "y", "bus.0#1"), wait("bus.0#1"), wait("bus.0#1")), []),
    "a wait for the first of two": (
        case([X, Y], copy("x", "y", "bus.0#1"), copy("x", "y", "bus.0#2"), wait("bus.0#1")),
        ["end of run: in-flight"],
    ),
    "two in flight at the end, in order": (
        case(
            [WIDE, T, U],
            copy("x", "t", "dma.1#1"),
            copy("x", "u", "dma.0#1"),
        ),
        ["end of run: in-flight", "end of run: in-flight"],
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step(name: str) -> None:
    faults, wanted = STEPS[name]
    assert faults() == wanted
