"""Plans with two of everything, of which the first is right: the second input, output, state, path, operand
or holder is what is wrong. And comparisons of two names or places in both orders.
"""

import pytest
from attrs import evolve

from target_arch.plan.memory import Alias
from target_arch.plan.model import State
from target_arch.plan.steps import StateBuffers
from target_arch.soc.model import CopyPath, Cores
from target_arch.stages.check.rules.aliases import EqualBytes, parts
from tests.stages import chips
from tests.stages.check.rules.test_caller import lent, made
from tests.stages.check.tiny import (
    CHIP,
    LOADS,
    Case,
    Held,
    call,
    case,
    copy,
    fill,
    given,
    held,
    part,
    reads,
    wait,
    writes,
)

X, Y = given("x", 0), held("y", 8)
WIDE = given("x", 0, 64, alignment=8)
T = held("t", 0, 16, memory="tcm_0", alignment=8)
ONCE = evolve(
    CHIP,
    copies=(
        CopyPath(source="ram", target="ram", max_bytes=4),
        CopyPath(source="ram", target="ram", max_bytes=8),
        CopyPath(source="ram", target="tcm_0", engine="dma", max_bytes=8),
    ),
)
"""A chip with two paths between the same ends, of which the second carries more; rows are no path's."""
LOAD_CORE, LOAD_NPU = LOADS
INVALIDATE = "invalidate destination"


def pair(*tensors: tuple[str, int], name: str = "b", at: int = 0, size: int = 8) -> Held:
    """A buffer that holds further tensors, each of 4 bytes."""
    aliases = tuple(Alias(tensor=tensor, offset=offset, bytes=4) for tensor, offset in tensors)
    return held(name, at, size, tensor=name, aliases=aliases)


def halves(name: str) -> tuple[EqualBytes, ...]:
    """What a concatenation of two tensors of 4 bytes says."""
    return tuple(EqualBytes(tensor=f"{name}{number}", whole=name, offset=4 * number) for number in range(2))


def states() -> dict[str, object]:
    """Two states that start with zeros."""
    return {
        "states": [State(tensor=f"s{n}", next=f"t{n}") for n in range(2)],
        "state_buffers": [StateBuffers(tensor=f"s{n}", now=f"now{n}", next=f"next{n}") for n in range(2)],
        "in_place": [(f"next{n}", f"now{n}") for n in range(2)],
    }


def state(number: int) -> tuple[Held, Held]:
    """The two buffers of a state."""
    at = 8 * number
    return (
        held(f"now{number}", at, kind="state", tensor=f"s{number}"),
        held(f"next{number}", at, kind="next state", tensor=f"t{number}", replaces=f"now{number}"),
    )


HOLDERS: dict[str, tuple[Case, list[str]]] = {
    "the second holder is written twice": (
        case(
            [X, pair(("a0", 0), ("a1", 4), name="a", at=8), pair(("b0", 0), ("b1", 4), name="b", at=16)],
            copy("x", "a"),
            call(reads("x", bytes=4), writes("b", bytes=4), operator="b0"),
            call(reads("x", bytes=4), writes("b", bytes=4), operator="b1"),
            parts=[*halves("a"), *halves("b")],
        ),
        ["2: written-twice"],
    ),
    "the second half is written by whoever wrote the first": (
        case(
            [X, pair(("b0", 0), ("b1", 4), at=8)],
            call(reads("x", bytes=4), writes("b", bytes=4), operator="b0"),
            call(reads("x", bytes=4), writes("b", offset=4, bytes=4), operator="b1"),
            call(reads("x", bytes=4), writes("b", offset=4, bytes=4), operator="b0"),
            parts=halves("b"),
        ),
        ["2: written-twice"],
    ),
    "the second operand of a call is written over another": (
        case(
            [X, Y, pair(("b0", 0), ("b1", 4), at=16)],
            call(reads("x"), writes("b"), operator="b0"),
            call(reads("x"), writes("y"), writes("b"), operator="b1"),
            parts=halves("b"),
        ),
        ["1: written-twice"],
    ),
    "a partition whose name is before that of the caller": (
        case(
            [X, pair(("b0", 0), ("b1", 4), at=8)],
            call(reads("x"), writes("b"), operator="b0", partition="a"),
            call(reads("x"), writes("b"), operator="b1", partition="a"),
            parts=halves("b"),
        ),
        ["1: written-twice"],
    ),
    "a tensor that is smaller than it is": (
        case([pair(("b0", 0), ("b1", 4))], parts=halves("b"), sizes={"b": 8, "b0": 4, "b1": 6}),
        ["wrong-size"],
    ),
    "two other names of a tensor": (
        case(
            [pair(("c", 0), ("d", 0), size=4)],
            parts=[EqualBytes(tensor="b", whole=name, offset=0) for name in "cd"],
        ),
        [],
    ),
    "a part of a part of another whole": (
        case(
            [held("p", 0, tensor="p", aliases=(Alias(tensor="q", offset=4, bytes=2),))],
            parts=[
                EqualBytes(tensor="p", whole="a", offset=4),
                EqualBytes(tensor="q", whole="p", offset=0),
            ],
        ),
        ["wrong-content"],
    ),
}  # fmt: skip


PLANS: dict[str, tuple[Case, list[str]]] = {
    "an output in an arena before an input of the caller": (
        case([held("y", 8, kind="output"), lent("x")], call(reads("x"), writes("y")), outputs=["y"]),
        ["wrong-owner"],
    ),
    "the first of two buffers ends last": (
        case([held("c", 100, 100, kind="constant"), held("d", 0, 100, kind="constant"), held("w", 0, 57)]),
        ["over-capacity"],
    ),
    "the second of two buffers ends last": (
        case([held("d", 0, 100, kind="constant"), held("c", 100, 100, kind="constant"), held("w", 0, 57)]),
        ["over-capacity"],
    ),
    "the second input of the caller is written": (
        case(
            [lent("x"), lent("w"), made("y")],
            call(reads("x"), writes("y")),
            call(reads("y"), writes("w")),
            outputs=["y"],
        ),
        ["1: input-written"],
    ),
    "what the caller lends and is no input is written": (
        case(
            [lent("x"), made("y"), held("a", caller=True)],
            call(reads("x"), writes("a")),
            call(reads("a"), writes("y")),
            outputs=["y"],
        ),
        ["wrong-owner"],
    ),
    "the byte between two rows of one byte": (
        case([X, Y], copy(part("x", 0, 1, 2, 2), part("y", 0, 1, 2, 2)), call(reads("y", bytes=3))),
        ["1: read-before-write"],
    ),
    "the second output is written over": (
        case(
            [X, Y, held("z", 16), held("w", 16)],
            call(reads("x"), writes("y")),
            call(reads("x"), writes("z")),
            call(reads("z"), writes("w", over=("z",))),
            call(reads("w")),
            outputs=["y", "z"],
            in_place=[("w", "z")],
        ),
        ["unsafe-in-place"],
    ),
    "the second state's next value is written over": (
        case(
            [*state(0), *(evolve(each, offset=0) for each in state(1))],
            call(reads("now1"), writes("next1", over=("now1",))),
            call(reads("next1"), writes("next0", over=("next1",))),
            **{**states(), "in_place": [*states()["in_place"], ("next0", "next1")]},  # type: ignore[misc]
        ),
        ["unsafe-in-place"],
    ),
    "the first of a state's buffers is missing": (
        case(
            [*state(0), state(1)[1]],
            call(reads("now0"), writes("next0", over=("now0",))),
            call(writes("next1")),
            **{**states(), "in_place": states()["in_place"][:1]},  # type: ignore[index]
        ),
        ["wrong-state"],
    ),
    "a state that starts with a tensor for work": (
        case(
            [*state(0), held("c", 16, kind="local", tensor="i")],
            call(reads("now0"), writes("next0", over=("now0",))),
            states=[State(tensor="s0", next="t0", initial="i")],
            state_buffers=[StateBuffers(tensor="s0", now="now0", next="next0", initial="c")],
            in_place=[("next0", "now0")],
        ),
        ["wrong-state"],
    ),
    "a result that begins before its operand": (
        case(
            [given("x", 4), held("y", 0)],
            call(reads("x"), writes("y", over=("x",))),
            call(reads("y")),
            in_place=[("y", "x")],
        ),
        ["unsafe-in-place"],
    ),
    "a result that begins before what it reads of its buffer, and ends with it": (
        case([given("w", 0, 16)], call(reads("w", offset=4), writes("w", over=("w",)))),
        ["0: overlaps-itself"],
    ),
    "a result that is longer than what it reads of its buffer": (
        case([given("w", 0, 16)], call(reads("w", bytes=8), writes("w", over=("w",)))),
        ["0: overlaps-itself"],
    ),
    "the second step in flight has the operand on another timeline": (
        case(
            [WIDE, T, held("v", 16, 16, memory="tcm_0"), held("u", 0, 16, memory="tcm_0"), held("y", 64, 16)],
            LOAD_CORE,
            copy(part("x", 0, 16), part("t", 0, 16), "dma.0#1"),
            wait("dma.0#1"),
            call(reads("t"), writes("v"), on="core[0]#1"),
            copy(part("t", 0, 16), part("y", 0, 16), "dma.0#2", cache=INVALIDATE),
            call(reads("t"), writes("u", over=("t",)), on="core[0]#2"),
            wait("core[0]#2"),
            wait("dma.0#2"),
            in_place=[("u", "t")],
        ),
        ["unsafe-in-place"],
    ),
    "bytes for a call that nothing touches": (case([X, held("l", 8, kind="local")], call(reads("x"))), []),
}  # fmt: skip


COPIES: dict[str, tuple[Case, list[str]]] = {
    "the second of two paths carries enough": (case([X, Y], copy("x", "y"), soc=ONCE), []),
    "neither path carries enough": (
        case([WIDE, held("y", 64, 9)], copy(part("x", 0, 9), part("y", 0, 9)), soc=ONCE),
        ["0: copy-path-limit"],
    ),
    "more rows than there is room for": (
        case([X, Y], copy(part("x", 0, 4, 2, 4), part("y", 0, 4))),
        ["0: copy-sizes"],
    ),
    "rows over each other, of one row": (
        case([X, Y], copy(part("x", 0, 4), part("y", 0, 4, 2, 2))),
        ["0: copy-sizes"] * 2,
    ),
    "more bytes than the path carries, to fewer": (
        case([WIDE, held("y", 64)], copy(part("x", 0, 9), "y"), soc=ONCE),
        ["0: copy-path-limit", "0: copy-sizes"],
    ),
    "rows over a path of one, to one": (
        case([X, T], copy(part("x", 0, 4, 2, 4), part("t", 0, 4), "dma.0#1"), wait("dma.0#1"), soc=ONCE),
        ["0: copy-path-limit", "0: copy-sizes"],
    ),
    "the first address is right, and the second odd": (
        case([WIDE, T], copy("x", part("t", 4), "dma.0#1"), wait("dma.0#1")),
        ["0: copy-path-limit"],
    ),
    "the second end has rows at an odd distance": (
        case(
            [WIDE, held("t", 0, 32, memory="tcm_0", alignment=8)],
            copy(part("x", 0, 8, 2, 8), part("t", 0, 8, 2, 12), "dma.0#1"),
            wait("dma.0#1"),
        ),
        ["0: copy-path-limit"],
    ),
    "a channel of an engine whose name is behind": (
        case([X, Y], copy("x", "y", "dma.0#1", engine="bus"), wait("dma.0#1")),
        ["0: wrong-event"],
    ),
    "a copy of the host on a channel of its own": (
        case([X, Y], copy("x", "y", "cpu.0#1"), wait("cpu.0#1")),
        ["0: wrong-event"],
    ),
    "a duty that is another": (
        case(
            [WIDE, T, held("y", 64)],
            copy("x", "t", "dma.0#1"),
            wait("dma.0#1"),
            copy("t", "y", "dma.0#2", cache="clean source"),
            wait("dma.0#2"),
        ),
        ["2: copy-path-limit"],
    ),
    "a fill whose event is one of the next": (
        case([held("c", 0, kind="constant"), held("r", 0, kind="resident")], fill("c", "r", "bus.0#2")),
        ["0: wrong-event"],
    ),
    "a call on a timeline whose name is before its own": (
        case(
            [X, held("o", memory="out")],
            LOAD_NPU,
            call(reads("x"), writes("o"), on="bus.0#1", instance="npu"),
            wait("bus.0#1"),
        ),
        ["1: wrong-event"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*HOLDERS, *PLANS, *COPIES])
def test_what_is_second_counts(name: str) -> None:
    faults, wanted = {**HOLDERS, **PLANS, **COPIES}[name]
    assert faults() == wanted


def test_a_slice_from_its_end_to_its_start_is_no_run_of_bytes() -> None:
    model = chips.model(("y", "slice", ("x",), 3), inputs={"x": 8})
    for begin, step, found in ((2, 1, 1), (4, -1, 0), (0, 2, 0)):
        cut = evolve(model.operators[0], attributes={"begin": (begin,), "end": (0,), "step": (step,)})
        assert len(parts(evolve(model, operators=(cut,)))) == found


@pytest.mark.parametrize(("coherent", "rules"), [(True, []), (False, ["misaligned"])])
def test_where_coherent_cores_compute_tensors_of_others_begin_anywhere(
    coherent: bool, rules: list[str]
) -> None:
    soc = chips.cores()
    cores = evolve(soc.arch("worker"), cores=Cores(stack=1024, coherent=coherent))
    archs = tuple(cores if arch.name == "worker" else arch for arch in soc.archs)
    inside = (Alias(tensor="a", offset=3, bytes=3),)
    whole = held("b", 0, 6, tensor="b", memory="sram", alignment=2, aliases=inside)
    said = [EqualBytes(tensor="a", whole="b", offset=3)]
    assert case([whole], parts=said, soc=evolve(soc, archs=archs))() == rules
