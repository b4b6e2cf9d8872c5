"""Rules of the checker about time, at their boundaries: lives, races, bytes in common, places taken over."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from attrs import evolve
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Alias
from target_arch.plan.steps import Step
from target_arch.stages.check.rules.aliases import CALLER, LEND, EqualBytes
from target_arch.stages.check.rules.occupancy import Occupancy, meeting
from tests.stages.check.tiny import (
    LOADS,
    Case,
    Held,
    call,
    case,
    copy,
    given,
    held,
    part,
    reads,
    wait,
    writes,
)

X = given("x", 0, 64, alignment=8)
Y, Z = held("y", 64, 16), held("z", 80, 16)
T, U = held("t", 0, 64, memory="tcm_0", alignment=8), held("u", 64, 64, memory="tcm_0", alignment=8)


def living(of: Held, first: int, last: int) -> Held:
    return evolve(of, buffer=evolve(of.buffer, first=first, last=last))


def faults(buffers: Sequence[Held], *steps: Step, **facts: object) -> list[str]:
    return case(buffers, *steps, **facts)()


IDLE = wait("bus.0#0")
"""A step that touches nothing."""


def lives(first: int, last: int) -> list[tuple[int, int, list[str]]]:
    """Stated lives around the real one, and what is said of them."""
    wrong = ["wrong-lifetime"]
    return [
        (first, last, []),
        (first + 1, last, wrong),
        (first, last - 1, wrong),
        (first - 1, last + 1, []),
    ]


@pytest.mark.parametrize(("first", "last", "wanted"), lives(1, 3))
def test_a_buffer_lives_from_its_first_to_its_last_step(first: int, last: int, wanted: list[str]) -> None:
    steps = (IDLE, call(writes("y")), IDLE, call(reads("y")), IDLE)
    assert faults([living(Y, first, last)], *steps) == wanted


@pytest.mark.parametrize(("first", "last", "wanted"), lives(1, 3))
def test_what_is_in_flight_lives_until_it_is_waited_for(first: int, last: int, wanted: list[str]) -> None:
    steps = (IDLE, copy("x", "t", "dma.0#1"), IDLE, wait("dma.0#1"), IDLE)
    assert faults([X, living(T, first, last)], *steps) == wanted


@pytest.mark.parametrize(("first", "last", "wanted"), lives(0, 3))
def test_the_source_of_a_copy_in_flight_lives_as_long(first: int, last: int, wanted: list[str]) -> None:
    steps = (IDLE, copy("x", "t", "dma.0#1"), IDLE, wait("dma.0#1"), IDLE)
    assert faults([living(X, first, last), T], *steps) == wanted


@pytest.mark.parametrize(("first", "last", "wanted"), lives(1, 4))
def test_an_output_lives_to_the_end(first: int, last: int, wanted: list[str]) -> None:
    steps = (IDLE, call(writes("y")), IDLE, IDLE, IDLE)
    assert faults([living(Y, first, last)], *steps, outputs=["y"]) == wanted


@pytest.mark.parametrize(("first", "last", "wanted"), lives(0, 2))
def test_a_constant_lives_always(first: int, last: int, wanted: list[str]) -> None:
    constant = held("c", 0, 16, kind="constant", memory="rom")
    assert faults([living(constant, first, last)], IDLE, call(reads("c")), IDLE) == wanted


def test_a_constant_that_nothing_reads_lives_from_the_start_to_the_end() -> None:
    constant = held("c", 0, 16, kind="constant", memory="rom")
    assert faults([living(constant, 0, 0)]) == []
    assert faults([living(constant, 1, 9)]) == ["wrong-lifetime"]
    assert faults([living(constant, 0, 0)], IDLE) == []
    assert faults([living(constant, 0, 0)], IDLE, IDLE) == ["wrong-lifetime"]


def test_a_buffer_that_nothing_touches_may_state_any_life() -> None:
    assert faults([living(Y, 7, 3)], IDLE) == []


# Races: the second step starts while the first is in flight.

FIRST = copy(part("x"), part("t"), "dma.0#1")
BOTH = (wait("dma.0#1"), wait("dma.1#1"))


def to_t(offset: int, size: int = 8, rows: int = 1, stride: int = 0) -> Step:
    """A copy on the other channel into `t`."""
    return copy(part("x", 0, size, rows, stride), part("t", offset, size, rows, stride), "dma.1#1")


RACES: dict[str, tuple[list[Step], list[str]]] = {
    "two writes of the same bytes": ([FIRST, to_t(0), *BOTH], ["1: race"]),
    "two writes of bytes side by side": ([FIRST, to_t(8), *BOTH], []),
    "two writes the other way round": (
        [copy(part("x"), part("t", 8), "dma.0#1"), to_t(0), *BOTH],
        [],
    ),
    "two writes with one byte in common": (
        [copy(part("x", 0, 9), part("t", 0, 9), "dma.0#1"), to_t(8), *BOTH],
        ["1: race"],
    ),
    "two writes with one byte in common, the other way round": (
        [copy(part("x"), part("t", 8), "dma.0#1"), to_t(0, 9), *BOTH],
        ["1: race"],
    ),
    "rows between rows": (
        [copy(part("x", 0, 8, 2, 16), part("t", 0, 8, 2, 16), "dma.0#1"), to_t(8, 8, 2, 16), *BOTH],
        [],
    ),
    "one row on a row": (
        [copy(part("x", 0, 8, 2, 16), part("t", 0, 8, 2, 16), "dma.0#1"), to_t(16, 8), *BOTH],
        ["1: race"],
    ),
    "one row between rows": (
        [copy(part("x", 0, 8, 2, 16), part("t", 0, 8, 2, 16), "dma.0#1"), to_t(8, 8), *BOTH],
        [],
    ),
    "rows around one row": (
        [copy(part("x"), part("t", 8), "dma.0#1"), to_t(0, 8, 2, 16), *BOTH],
        [],
    ),
    "rows that meet in their last bytes": (
        [copy(part("x", 0, 8, 2, 24), part("t", 0, 8, 2, 24), "dma.0#1"), to_t(8, 8, 3, 8), *BOTH],
        ["1: race"],
    ),
    "two reads of the same bytes": (
        [FIRST, copy(part("x"), part("t", 8), "dma.1#1"), *BOTH],
        [],
    ),
    "a write of what is being read": ([FIRST, call(writes("x")), BOTH[0]], ["1: race"]),
    "a read by the host of what is being written": (
        [call(writes("t", bytes=8)), FIRST, call(reads("t", bytes=8)), BOTH[0]],
        ["0: not-observed", "2: race", "2: not-observed"],
    ),
    "one behind the other on one channel": (
        [FIRST, copy(part("x"), part("t"), "dma.0#2"), wait("dma.0#2")],
        [],
    ),
    "after a wait": ([FIRST, BOTH[0], to_t(0), BOTH[1]], []),
    "after a wait for a later one of the channel": (
        [FIRST, copy(part("x"), part("t", 8), "dma.0#2"), wait("dma.0#2"), to_t(0), BOTH[1]],
        [],
    ),
    "after a wait for the one before": (
        [
            copy(part("x"), part("t", 8), "dma.0#1"),
            copy(part("x"), part("t"), "dma.0#2"),
            wait("dma.0#1"),
            to_t(0),
            wait("dma.0#2"),
            BOTH[1],
        ],
        ["3: race"],
    ),
    "after waits for the later, then the one before": (
        [
            copy(part("x"), part("t", 8), "dma.0#1"),
            copy(part("x"), part("t"), "dma.0#2"),
            wait("dma.0#2"),
            wait("dma.0#1"),
            to_t(0),
            BOTH[1],
        ],
        [],
    ),
    "after a wait for nothing": ([wait("dma.0#0"), FIRST, to_t(0), *BOTH], ["2: race"]),
    "the end of a row": (
        [
            copy(part("x", 0, 8, 2, 16), part("v", 0, 8, 2, 16), "bus.0#1"),
            call(writes("v", offset=4, bytes=4)),
            wait("bus.0#1"),
        ],
        ["1: race"],
    ),
    "with both that are in flight": (
        [FIRST, to_t(8), call(writes("t")), *BOTH],
        ["2: race", "2: race", "2: not-observed"],
    ),
    "a call of a core with what is in flight": (
        [LOADS[0], FIRST, call(writes("t", bytes=8), on="core[0]#1"), wait("core[0]#1"), BOTH[0]],
        ["2: race"],
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_a_race(name: str) -> None:
    steps, wanted = RACES[name]
    assert faults([X, T, held("v", 64, 24)], *steps) == wanted


# Bytes in common.


def test_buffers_that_are_live_together_share_no_byte() -> None:
    steps = (call(writes("y")), call(writes("z")), call(reads("y"), reads("z")))
    assert faults([Y, Z], *steps) == []
    assert faults([Y, held("z", 79, 16)], *steps) == ["overlap"]
    assert faults([Y, held("z", 49, 16)], *steps) == ["overlap"]
    assert faults([Y, held("z", 48, 16)], *steps) == []
    assert faults([held("y", 64, 16), held("z", 64, 16, memory="out")], *steps[:1]) == []


def test_buffers_may_share_bytes_one_after_the_other() -> None:
    steps = (call(writes("y")), call(reads("y")), call(writes("z")))
    assert faults([Y, held("z", 64, 16)], *steps) == []
    together = (steps[0], call(reads("y"), writes("z")))
    assert faults([Y, held("z", 64, 16)], *together) == ["overlap"]


def test_constants_and_workspace_are_in_two_arenas() -> None:
    constant = held("c", 0, 16, kind="constant")
    assert faults([constant, held("y", 0, 16)], call(reads("c"), writes("y"))) == []
    other = held("d", 8, 16, kind="constant")
    assert faults([constant, other]) == ["overlap"]


BOXES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 5), st.integers(0, 3)), max_size=7
)


@settings(max_examples=150, deadline=None)
@drawn(BOXES)
def test_those_that_meet_are_those_with_a_byte_and_a_step_in_common(
    boxes: list[tuple[int, int, int, int]],
) -> None:
    places = [
        Occupancy(name=str(n), offset=offset, bytes=size, first=first, last=first + steps - 1)
        for n, (offset, size, first, steps) in enumerate(boxes)
    ]
    cells = [
        {(byte, step) for byte in range(offset, offset + size) for step in range(first, first + steps)}
        for offset, size, first, steps in boxes
    ]
    wanted = {(a, b) for a, b in combinations(range(len(boxes)), 2) if cells[a] & cells[b]}
    pairs = [(int(one.name), int(other.name)) for one, other in meeting(places)]
    assert set(pairs) == wanted
    assert len(pairs) == len(wanted)


@settings(max_examples=100, deadline=None)
@drawn(BOXES)
def test_pairs_are_compared_only_where_something_meets(boxes: list[tuple[int, int, int, int]]) -> None:
    """Else a plan of thousands of buffers takes as long as all their pairs."""
    compared = []

    class Counted(Occupancy):
        def meets(self, other: Occupancy) -> bool:
            compared.append(other)
            return super().meets(other)

    places = [
        Counted(name=str(n), offset=offset, bytes=size, first=first, last=first + steps - 1)
        for n, (offset, size, first, steps) in enumerate(boxes)
    ]
    assert bool(list(meeting(places))) or not compared


# One buffer in the place of another.


def over(name: str = "y", under: str = "x", **facts: object) -> Operand:
    return writes(name, over=(under,), **facts)


IN = given("x", 0, 16)
ON = held("y", 0, 16)
PAIR = (("y", "x"),)
SAFE = call(reads("x"), over())
SMALLER = call(reads("x"), over(smaller=True))
UNSAFE = ["unsafe-in-place"]
PLACES: dict[str, tuple[Case, list[str]]] = {
    "a call writes its result over its operand": (case([IN, ON], SAFE, in_place=PAIR), []),
    "without saying so in the plan": (case([IN, ON], SAFE), ["overlap"]),
    "with a pair the wrong way round": (case([IN, ON], SAFE, in_place=[("x", "y")]), UNSAFE),
    "a call that does not allow it": (case([IN, ON], call(reads("x"), writes("y")), in_place=PAIR), UNSAFE),
    "a result at another offset": (
        case([IN, held("y", 1, 16)], SAFE, in_place=PAIR),
        UNSAFE,
    ),
    "a result of another size": (case([IN, held("y", 0, 8)], SAFE, in_place=PAIR), UNSAFE),
    "a smaller result, where the call allows one": (case([IN, held("y", 0, 8)], SMALLER, in_place=PAIR), []),
    "a result as large, where the call allows a smaller one": (case([IN, ON], SMALLER, in_place=PAIR), []),
    "a larger result": (case([IN, held("y", 0, 24)], SMALLER, in_place=PAIR), UNSAFE),
    "scratch on the bytes above a smaller result, which the call still reads": (
        case(
            [IN, held("y", 0, 8), held("z", 8, 8, kind="local")],
            call(reads("x"), over(smaller=True), writes("z")),
            in_place=PAIR,
        ),
        ["overlap"],
    ),
    "the same of an operand that begins further on": (
        case(
            [given("x", 8, 16), held("y", 8, 8), held("z", 16, 8, kind="local")],
            call(reads("x"), over(smaller=True), writes("z")),
            in_place=PAIR,
        ),
        ["overlap"],
    ),
    "a result in another arena": (
        case(
            [IN, held("y", 0, 16, memory="out")],
            LOADS[1],
            call(reads("x"), over(), on="npu#1"),
            wait("npu#1"),
            in_place=PAIR,
        ),
        UNSAFE,
    ),
    "an operand that is read at an offset": (
        case([IN, ON], call(reads("x", offset=1), over()), in_place=PAIR),
        UNSAFE,
    ),
    "an operand that is read twice, once at an offset": (
        case([IN, ON], call(reads("x"), reads("x", offset=1), over()), in_place=PAIR),
        UNSAFE,
    ),
    "an operand that is read and written": (
        case([IN, ON], call(Operand(of="x", access="rw"), over()), in_place=PAIR),
        UNSAFE,
    ),
    "an operand that is also written": (
        case([IN, ON], call(reads("x"), writes("x"), over()), in_place=PAIR),
        ["0: overlaps-itself", *UNSAFE],
    ),
    "a result that is written at an offset": (
        case([IN, ON], call(reads("x"), over(offset=1)), in_place=PAIR),
        UNSAFE,
    ),
    "a result that is read, too": (
        case([IN, ON], call(reads("x"), Operand(of="y", access="rw", over=("x",))), in_place=PAIR),
        ["0: read-before-write", *UNSAFE],
    ),
    "an operand that is read again later": (
        case([IN, ON], SAFE, call(reads("x")), in_place=PAIR),
        UNSAFE,
    ),
    "an operand that was read before": (case([IN, ON], call(reads("x")), SAFE, in_place=PAIR), []),
    "a result that was written before": (
        case([IN, ON], call(writes("y")), SAFE, in_place=PAIR),
        UNSAFE,
    ),
    "a result that is written again later": (
        case([IN, ON], SAFE, call(writes("y")), in_place=PAIR),
        [],
    ),
    "two calls that may, the first of which is meant": (
        case([IN, ON], SAFE, SAFE, in_place=PAIR),
        UNSAFE,
    ),
    "an operand that is an output": (case([IN, ON], SAFE, in_place=PAIR, outputs=["x"]), UNSAFE),
    "an operand that is a constant": (
        case([held("x", 0, 16, kind="constant"), ON], SAFE, in_place=PAIR),
        UNSAFE,
    ),
    "a result that is an output": (case([IN, ON], SAFE, in_place=PAIR, outputs=["y"]), []),
    "a result that no step touches": (case([IN, ON], call(reads("x")), in_place=PAIR), UNSAFE),
    "an operand that no step touches": (
        case([held("x", 0, 16), ON], call(writes("y")), in_place=PAIR),
        UNSAFE,
    ),
    "a result without a place": (
        case([IN, held("y", None, 16)], SAFE, in_place=PAIR),
        ["no-offset", *UNSAFE],
    ),
    "a buffer that does not exist": (case([IN], call(reads("x")), in_place=[("q", "x")]), UNSAFE),
    "an operand that something in flight still reads": (
        case(
            [X, held("y", 0, 64, alignment=8), T],
            copy("x", "t", "dma.0#1"),
            SAFE,
            wait("dma.0#1"),
            in_place=PAIR,
        ),
        UNSAFE,
    ),
    "an operand that something in flight has read": (
        case(
            [X, held("y", 0, 64, alignment=8), T],
            copy("x", "t", "dma.0#1"),
            wait("dma.0#1"),
            SAFE,
            in_place=PAIR,
        ),
        [],
    ),
    "something else in flight": (
        case(
            [X, held("y", 0, 64), held("v", 64), held("w", 80)],
            call(writes("v")),
            copy("v", "w", "bus.0#1"),
            SAFE,
            wait("bus.0#1"),
            in_place=PAIR,
        ),
        [],
    ),
    "another that is live on the same bytes": (
        case([IN, ON, held("z", 8, 16)], call(writes("z")), SAFE, call(reads("z")), in_place=PAIR),
        ["overlap"] * 2,
    ),
    "another on the bytes of the operand, long before": (
        case(
            [IN, ON, held("z", 8, 16)], IDLE, IDLE, call(writes("z")), call(reads("z")), SAFE, in_place=PAIR
        ),
        ["overlap"],
    ),
    "two calls of a core one behind the other, each over its operand": (
        case(
            [X, *(held(name, 0, 16, memory="tcm_0", alignment=8) for name in ("t", "u", "v"))],
            LOADS[0],
            copy(part("x", 0, 16), part("t", 0, 16), "dma.0#1"),
            wait("dma.0#1"),
            call(reads("t"), over("u", "t"), on="core[0]#1"),
            call(reads("u"), over("v", "u"), on="core[0]#2"),
            wait("core[0]#2"),
            in_place=[("u", "t"), ("v", "u")],
        ),
        [],
    ),
    "the operand of an earlier step, whose place is taken over twice": (
        case(
            [IN, ON, held("z", 0, 16)],
            SAFE,
            call(reads("y"), over("z", "y")),
            in_place=[("y", "x"), ("z", "y")],
        ),
        [],
    ),
    "two results over one operand": (
        case(
            [IN, ON, held("z", 0, 16)], call(reads("x"), over(), over("z")), in_place=[("y", "x"), ("z", "x")]
        ),
        ["overlap"],
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_place_taken_over(name: str) -> None:
    rules, wanted = PLACES[name]
    assert rules() == wanted


def test_a_core_overwrites_its_operand_behind_its_own_earlier_call() -> None:
    """Calls of one timeline are in order; so the first needs no wait before the second takes its operand."""
    buffers = [
        X,
        held("t", 0, 16, memory="tcm_0", alignment=8),
        held("u", 0, 16, memory="tcm_0", alignment=8),
        held("v", 16, 16, memory="tcm_0", alignment=8),
    ]
    steps = (
        LOADS[0],
        copy(part("x", 0, 16), part("t", 0, 16), "dma.0#1"),
        wait("dma.0#1"),
        call(reads("t"), writes("v"), on="core[0]#1"),
        call(reads("t"), over("u", "t"), on="core[0]#2"),
        wait("core[0]#2"),
    )
    assert faults(buffers, *steps, in_place=[("u", "t")]) == []
    at_once = (
        *steps[:2],
        call(reads("t"), over("u", "t"), on="core[0]#1"),
        wait("dma.0#1"),
        wait("core[0]#1"),
    )
    assert faults(buffers, *at_once, in_place=[("u", "t")]) == ["2: race", *UNSAFE]


# Tensors inside the buffers of others.

PARTS = (EqualBytes(tensor="a", whole="w", offset=0), EqualBytes(tensor="b", whole="w", offset=8))


def whole(*aliases: tuple[str, int, int], size: int = 16, **facts: object) -> Held:
    """The buffer of the tensor `w`, with tensors in it: name, offset and bytes."""
    inside = tuple(Alias(tensor=name, offset=offset, bytes=count) for name, offset, count in aliases)
    return held("w", 0, size, tensor="w", aliases=inside, **facts)


HELD: dict[str, tuple[Case, list[str]]] = {
    "the parts of a whole": (case([whole(("a", 0, 8), ("b", 8, 8))], parts=PARTS), []),
    "a part at another place": (case([whole(("b", 0, 8))], parts=PARTS), ["wrong-content"]),
    "no part of it": (case([whole(("c", 0, 8))], parts=PARTS), ["wrong-content"]),
    "without a model": (case([whole(("a", 0, 8))]), ["wrong-content"]),
    "a part one byte beyond the end": (case([whole(("b", 8, 9))], parts=PARTS), ["out-of-bounds"]),
    "a part that says it is as long as the whole": (
        case([whole(("b", 8, 16))], parts=PARTS),
        ["out-of-bounds"],
    ),
    "a part before the start": (case([whole(("a", -8, 8))], parts=PARTS), ["out-of-bounds"]),
    "a part of its size": (case([whole(("a", 0, 8))], parts=PARTS, sizes={"a": 8}), []),
    "a part of another size": (case([whole(("a", 0, 8))], parts=PARTS, sizes={"a": 7}), ["wrong-size"]),
    "an aligned part": (case([whole(("b", 8, 8), alignment=8)], parts=PARTS), []),
    "a part that is not aligned": (case([whole(("b", 8, 8), alignment=16)], parts=PARTS), ["misaligned"]),
    "a part that is aligned by the place of its buffer": (
        case([evolve(whole(("b", 8, 8), alignment=16), offset=8)], parts=PARTS),
        ["misaligned"],
    ),
    "a part that is aligned with its buffer alone": (
        case(
            [evolve(whole(("b", 12, 4), alignment=16), offset=4)],
            parts=[EqualBytes(tensor="b", whole="w", offset=12)],
        ),
        ["misaligned"],
    ),
    "a part of a buffer without a place": (
        case([evolve(whole(("a", 0, 8), alignment=2), offset=None)], parts=PARTS),
        ["no-offset"],
    ),
    "a part of a part": (
        case([whole(("b", 8, 8), ("c", 12, 4))], parts=(*PARTS, EqualBytes(tensor="c", whole="b", offset=4))),
        [],
    ),
    "a part of a part that is elsewhere": (
        case([whole(("b", 8, 8), ("c", 8, 4))], parts=(*PARTS, EqualBytes(tensor="c", whole="b", offset=4))),
        ["wrong-content"],
    ),
    "a part at its place in another whole": (
        case(
            [whole(("a", 8, 8))],
            parts=[
                EqualBytes(tensor="a", whole="w", offset=0),
                EqualBytes(tensor="a", whole="other", offset=8),
            ],
        ),
        ["wrong-content"],
    ),
    "a whole as large as its part": (
        case([whole(("r", 0, 16))], parts=[EqualBytes(tensor="w", whole="r", offset=0)]),
        [],
    ),
    "a whole that is larger than its part": (
        case([whole(("r", 0, 8))], parts=[EqualBytes(tensor="w", whole="r", offset=0)]),
        ["wrong-content"],
    ),
    "tensors that are each other": (
        case(
            [whole(("a", 0, 16), ("b", 0, 16))],
            parts=[
                EqualBytes(tensor="w", whole="a", offset=0),
                EqualBytes(tensor="a", whole="b", offset=0),
                EqualBytes(tensor="b", whole="w", offset=0),
            ],
        ),
        [],
    ),
    "a buffer that holds nothing else": (case([held("w", 0, 16, tensor="w")], parts=PARTS), []),
}


@pytest.mark.parametrize("name", HELD)
def test_a_tensor_in_the_buffer_of_another(name: str) -> None:
    rules, wanted = HELD[name]
    assert rules() == wanted


W = whole(("a", 0, 8), ("b", 8, 8))


def piece(operator: str, offset: int, size: int = 8, **facts: object) -> Step:
    return call(writes("w", offset=offset, bytes=size), operator=operator, **facts)


WRITERS: dict[str, tuple[list[Step], list[str]]] = {
    "each its own bytes": ([piece("one", 0), piece("two", 8)], []),
    "one byte of another": ([piece("one", 0), piece("two", 7)], ["1: written-twice"]),
    "one byte of another, the other way round": ([piece("one", 8), piece("two", 0, 9)], ["1: written-twice"]),
    "its own bytes again": ([piece("one", 0), piece("one", 0)], []),
    "an operator of another partition": (
        [piece("one", 0), piece("one", 0, partition="q")],
        ["1: written-twice"],
    ),
    "bytes that the caller lends": ([piece(LEND, 0, 16, partition=CALLER), piece("one", 0)], []),
    "bytes that another step of the caller writes": (
        [piece("one", 0, partition=CALLER), piece("two", 0)],
        ["1: written-twice"],
    ),
    "bytes of the third": (
        [piece("one", 0, 4), piece("two", 4, 4), piece("three", 0, 4)],
        ["2: written-twice"],
    ),
    "bytes of the first and its own": (
        [piece("one", 0), piece("two", 8), piece("two", 6)],
        ["2: written-twice"],
    ),
    "bytes of the second": ([piece("one", 0), piece("two", 8), piece("three", 8)], ["2: written-twice"]),
    "behind three rows": (
        [copy(part("x", 0, 2, 3, 4), part("w", 0, 2, 3, 4), partition="q"), piece("one", 12, 4)],
        [],
    ),
    "each byte has its last writer": (
        [piece("one", 0), piece("two", 0), piece("two", 0)],
        ["1: written-twice"],
    ),
    "a copy over a call": (
        [piece("one", 0), copy(part("x"), part("w"), partition="q")],
        ["1: written-twice"],
    ),
    "copies of one partition": (
        [copy(part("x"), part("w"), partition="q"), copy(part("x"), part("w"), partition="q")],
        [],
    ),
    "copies of two partitions": (
        [copy(part("x"), part("w"), partition="p"), copy(part("x"), part("w"), partition="q")],
        ["1: written-twice"],
    ),
    "a copy and a call of one partition": (
        [copy(part("x"), part("w"), partition="p"), piece("one", 0)],
        ["1: written-twice"],
    ),
    "rows between rows": (
        [
            copy(part("x", 0, 2, 4, 4), part("w", 0, 2, 4, 4), partition="q"),
            copy(part("x", 0, 2, 4, 4), part("w", 2, 2, 4, 4), partition="r"),
        ],
        [],
    ),
    "the last row on the last row": (
        [copy(part("x", 0, 2, 4, 4), part("w", 0, 2, 4, 4), partition="q"), piece("one", 13, 1)],
        ["1: written-twice"],
    ),
    "between the last rows": (
        [copy(part("x", 0, 2, 4, 4), part("w", 0, 2, 4, 4), partition="q"), piece("one", 10, 2)],
        [],
    ),
    "a read": ([piece("one", 0), call(reads("w", bytes=8), operator="two")], []),
    "a buffer that holds nothing else": (
        [call(writes("y"), operator="one"), call(writes("y"), operator="two")],
        [],
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_byte_of_a_buffer_that_holds_others_has_one_writer(name: str) -> None:
    steps, wanted = WRITERS[name]
    buffers = [given("x", 64, 16), evolve(W, offset=0), held("y", 80, 8)]
    assert faults(buffers, *steps, parts=PARTS) == wanted
