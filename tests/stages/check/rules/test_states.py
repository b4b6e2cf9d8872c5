"""The checker of states, at its boundaries: the next run finds what this one leaves; a reset can write it."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Operand
from target_arch.plan.model import State
from target_arch.plan.steps import StateBuffers, Step
from target_arch.soc.model import Memory
from tests.stages.check.tiny import CHIP, LOADS, Case, Held, call, case, held, reads, wait, writes

STATES = (State(tensor="s", next="t"),)
BUFFERS = (StateBuffers(tensor="s", now="now", next="next"),)
PAIR = (("next", "now"),)
NOW = held("now", 0, kind="state", tensor="s")
NEXT = held("next", 0, kind="next state", tensor="t", replaces="now")
Y = held("y", 8)
RUN = (call(reads("now"), writes("y")), call(reads("y"), writes("next")))


def changed(of: Held, **facts: object) -> Held:
    return evolve(of, buffer=evolve(of.buffer, **facts))


def state(*buffers: Held, steps: tuple[Step, ...] = RUN, **facts: object) -> Case:
    """A model with one state, in these buffers or in two right ones."""
    given = {"states": STATES, "state_buffers": BUFFERS, "in_place": PAIR, **facts}
    return case(buffers or (NOW, NEXT, Y), *steps, **given)


def seeded(tensor: str | None, initial: str | None, kind: str = "constant") -> Case:
    """The state starts with the constant `i` of the model, or zeros; the plan says with which buffer."""
    constant = held("c", 0, kind=kind, memory="rom", tensor=tensor)
    said = (evolve(BUFFERS[0], initial=initial),)
    return state(NOW, NEXT, Y, constant, states=(evolve(STATES[0], initial="i"),), state_buffers=said)


OUTSIDE = tuple(evolve(m, writable=m.name != "ram") for m in CHIP.memories)
WRONG = ["wrong-state"]
CASES: dict[str, tuple[Case, list[str]]] = {
    "its next value has its place": (state(), []),
    "it is written where it is read": (state(steps=(RUN[0], call(reads("y"), writes("next")))), []),
    "it is read after its next value is written": (
        state(steps=(*RUN, call(reads("now")))),
        ["unsafe-in-place"],
    ),
    "it is read where its next value is written, and the call allows it": (
        state(steps=(call(reads("now"), writes("next", over=("now",))),)),
        [],
    ),
    "it is read where its next value is written, and the call does not allow it": (
        state(steps=(call(reads("now"), writes("next")),)),
        ["unsafe-in-place"],
    ),
    "it is not read": (state(NOW, NEXT, steps=(call(writes("next")),)), []),
    "its next value is not written": (
        state(steps=RUN[:1]),
        ["end of run: read-before-write", "unsafe-in-place"],
    ),
    "its next value is not live at the end": (
        state(NOW, changed(NEXT, last=1), Y, steps=(*RUN, wait("bus.0#0"))),
        ["wrong-lifetime"],
    ),
    "it is not live from the start": (
        state(changed(NOW, first=1), NEXT, Y, steps=(wait("bus.0#0"), *RUN)),
        ["wrong-lifetime"],
    ),
    "it is written": (
        state(steps=(call(Operand(of="now", access="rw"), writes("y")), RUN[1])),
        ["0: wrong-state"],
    ),
    "a run writes over its next value": (
        state(NOW, NEXT, Y, held("z", 0, kind="next state"), steps=(*RUN, call(writes("z")))),
        ["overlap", *WRONG],
    ),
    "the plan has no buffers of it": (state(Y, steps=(), state_buffers=(), in_place=()), WRONG),
    "the plan has one of its buffers": (state(NOW, Y, steps=RUN[:1], in_place=()), ["wrong-state"]),
    "buffers of no state": (state(states=(), state_buffers=()), [*WRONG, *WRONG]),
    "buffers of no state, the next value not written": (
        state(steps=RUN[:1], states=(), state_buffers=()),
        ["unsafe-in-place", *WRONG, *WRONG],
    ),
    "another buffer of the kind": (state(NOW, NEXT, Y, held("z", 16, kind="state")), WRONG),
    "a buffer of another kind for it": (
        state(changed(NOW, kind="constant"), NEXT, Y, in_place=()),
        [*WRONG, *WRONG],
    ),
    "a buffer of another kind for its next value": (
        state(NOW, changed(NEXT, kind="activation"), Y, in_place=()),
        [*WRONG, *WRONG],
    ),
    "a next value that does not replace it": (
        state(NOW, changed(NEXT, replaces="y"), Y, in_place=()),
        ["overlap", *WRONG][1:],
    ),
    "a buffer of another tensor": (state(changed(NOW, tensor="x"), NEXT, Y), WRONG),
    "a next value of another tensor": (state(NOW, changed(NEXT, tensor="x"), Y), WRONG),
    "a next value of another size": (
        state(NOW, changed(NEXT, bytes=4), Y),
        WRONG,
    ),
    "a next value in another memory": (
        state(
            NOW, changed(NEXT, memory="out"), Y,
            steps=(*LOADS[1:], call(reads("now"), writes("next"), on="npu#1"), wait("npu#1")), in_place=(),
        ),
        WRONG,
    ),
    "a next value in another place": (state(NOW, evolve(NEXT, offset=16), Y, in_place=()), WRONG),
    "a memory that the host does not see": (
        state(
            changed(NOW, memory="out"), changed(NEXT, memory="out"),
            steps=(*LOADS[1:], call(reads("now"), writes("next", over=("now",)), on="npu#1"), wait("npu#1")),
        ),
        WRONG,
    ),
    "a memory that nobody can write": (
        state(NOW, NEXT, Y, soc=evolve(CHIP, memories=OUTSIDE)),
        ["0: not-writable", "1: not-writable", *WRONG],
    ),
    "a start with its constant": (seeded("i", "c"), []),
    "a start with another constant": (seeded("j", "c"), WRONG),
    "a start with what is no constant": (seeded("i", "c", kind="activation"), WRONG),
    "a start with zeros where there is a constant": (seeded("i", None), WRONG),
    "a start with a constant where there are zeros": (
        state(
            NOW, NEXT, Y, held("c", 0, kind="constant", memory="rom", tensor="i"),
            state_buffers=(evolve(BUFFERS[0], initial="c"),),
        ),
        WRONG,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_state(name: str) -> None:
    faults, wanted = CASES[name]
    assert faults() == wanted


@pytest.mark.parametrize(("size", "fits"), [(64, True), (65, False)])
def test_states_are_an_arena_between_constants_and_workspace(size: int, fits: bool) -> None:
    buffers = (
        held("c", 0, 100, kind="constant", alignment=64),
        changed(NOW, bytes=4, alignment=64),
        changed(NEXT, bytes=4, alignment=64),
        held("y", 0, size),
    )
    run = (call(reads("now"), writes("y")), call(reads("y"), writes("next")))
    assert state(*buffers, steps=run)() == ([] if fits else ["over-capacity"])


def test_nothing_is_aligned_behind_the_last_arena() -> None:
    small = evolve(CHIP, memories=tuple(evolve(m, size=100) if m.name == "ram" else m for m in CHIP.memories))
    pair = (changed(each, bytes=100, alignment=64) for each in (NOW, NEXT))
    assert state(*pair, steps=(call(writes("next")),), soc=small)() == []


# Cache lines: whoever writes or reads behind the cache has whole lines.

DDR = Memory(name="ddr", size=224, base=0x2000, cached=True, cache_line=32, observers={"npu": 0})
CACHED = evolve(CHIP, memories=(*CHIP.memories, DDR))


def lines(*buffers: Held, steps: tuple[Step, ...] = ()) -> list[str]:
    return case(buffers, *steps, soc=CACHED)()


def test_buffers_behind_a_cache_share_no_line() -> None:
    steps = (call(writes("a"), writes("b")), call(reads("a"), reads("b")))
    one = held("a", 0, 33, memory="ddr")
    assert lines(one, held("b", 64, 8, memory="ddr"), steps=steps) == []
    assert lines(one, held("b", 32, 8, memory="ddr"), steps=steps) == ["overlap"]
    assert lines(one, held("b", 48, 8, memory="ddr"), steps=steps) == ["shared-line"]
    assert lines(held("a", 0, 32, memory="ddr"), held("b", 32, 32, memory="ddr"), steps=steps) == []


def test_a_memory_behind_a_cache_is_filled_in_whole_lines() -> None:
    assert lines(held("a", 192, 32, memory="ddr")) == []
    small = tuple(evolve(m, size=223) if m.name == "ddr" else m for m in CACHED.memories)
    assert case([held("a", 192, 31, memory="ddr")], soc=evolve(CACHED, memories=small))() == ["over-capacity"]
