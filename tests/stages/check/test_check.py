"""The checker finds every planted fault, and finds none where there is none."""

from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, Load, Step, StepOrder, Wait
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

RESULT = lowered(chips.RESIDUAL, chips.EDGE)
STEPS, PLAN = RESULT.steps, RESULT.plan


def rules_found(steps: StepOrder, plan: MemoryPlan) -> set[str]:
    try:
        check(chips.EDGE, steps, plan)
    except CheckError as error:
        return {diagnostic.rule for diagnostic in error.diagnostics}
    return set()


def changed(pick: Callable[[Step], bool], change: Callable[[Step], Step]) -> StepOrder:
    """The order with the first step that is picked changed."""
    number = next(number for number, step in enumerate(STEPS.steps) if pick(step))
    steps = STEPS.steps
    return evolve(STEPS, steps=(*steps[:number], change(steps[number]), *steps[number + 1 :]))


def first_copy(**values: object) -> StepOrder:
    """The first copy that owes a cache duty changed."""
    return changed(
        lambda step: isinstance(step, Copy) and step.cache != "none", lambda step: evolve(step, **values)
    )  # type: ignore[misc]


def dispatch(instance: str, **values: object) -> StepOrder:
    return changed(
        lambda step: isinstance(step, Dispatch) and step.instance == instance,
        lambda step: evolve(step, **values),  # type: ignore[misc]
    )


def with_buffer(name: str, **values: object) -> tuple[StepOrder, MemoryPlan]:
    def change(buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        return tuple(evolve(b, **values) if b.name == name else b for b in buffers)  # type: ignore[arg-type]

    return evolve(STEPS, buffers=change(STEPS.buffers)), evolve(PLAN, buffers=change(PLAN.buffers))


COPY = next(step for step in STEPS.steps if isinstance(step, Copy) and step.cache != "none")
CONV = next(step for step in STEPS.steps if isinstance(step, Dispatch) and step.instance == "conv")
WAITS = [number for number, step in enumerate(STEPS.steps) if isinstance(step, Wait)]

STEP_FAULTS = {
    "a load after the first step": (
        evolve(STEPS, steps=(*STEPS.steps, Load(instance="dsp", process="firmware"))),
        "late-load",
    ),
    "no load": (evolve(STEPS, steps=STEPS.steps[3:]), "not-loaded"),
    "a copy to no buffer": (first_copy(target=evolve(COPY.target, of="q")), "unknown-buffer"),
    "a copy beyond the end": (first_copy(target=evolve(COPY.target, offset=10**6)), "out-of-bounds"),
    "a copy of other bytes": (first_copy(source=evolve(COPY.source, row_bytes=8)), "copy-sizes"),
    "a copy by another engine": (first_copy(engine="cpu", event=None), "no-copy-path"),
    "a copy without its cache duty": (first_copy(cache="none"), "copy-path-limit"),
    "a copy from an odd address": (
        first_copy(source=evolve(COPY.source, offset=1, row_bytes=8)),
        "copy-path-limit",
    ),
    "a copy on a channel that is none": (first_copy(event=Event(timeline="dma.7", value=1)), "wrong-event"),
    "a copy with a value too high": (first_copy(event=Event(timeline="dma.0", value=9)), "wrong-event"),
    "an asynchronous copy without event": (first_copy(event=None), "wrong-event"),
    "a dispatch without event": (dispatch("conv", event=None), "wrong-event"),
    "a dispatch on another timeline": (dispatch("conv", event=Event(timeline="npu", value=1)), "wrong-event"),
    "a dispatch of a stand-in": (dispatch("conv", function=""), "not-lowered"),
    "an operand elsewhere": (dispatch("conv", operands=(Operand(of="x@sram", access="r"),)), "not-observed"),
    "a write to a constant": (
        dispatch("conv", operands=(Operand(of="a.w@ddr", access="w"),)),
        "constant-written",
    ),
    "a read of what nobody wrote": (
        dispatch("conv", operands=(Operand(of="p0.l_a_0", access="r"),)),
        "read-before-write",
    ),
    "a wait for what was not issued": (
        changed(lambda step: isinstance(step, Wait), lambda step: Wait(event=Event(timeline="npu", value=9))),
        "unknown-event",
    ),
    "something in flight at the end": (evolve(STEPS, steps=STEPS.steps[:-1]), "in-flight"),
    "an output not written": (evolve(STEPS, steps=STEPS.steps[:3]), "read-before-write"),
    "an output in no buffer": (evolve(STEPS, outputs=(("e", "q"),)), "unknown-buffer"),
}  # fmt: skip

PLAN_FAULTS = {
    "a buffer without offset": (STEPS, evolve(PLAN, offsets={}), "no-offset"),
    "another set of buffers": (STEPS, evolve(PLAN, buffers=PLAN.buffers[1:]), "wrong-buffers"),
    "a buffer outside": (STEPS, evolve(PLAN, offsets={**PLAN.offsets, "a@sram": 65_520}), "out-of-bounds"),
    "a negative offset": (STEPS, evolve(PLAN, offsets={**PLAN.offsets, "a@sram": -16}), "out-of-bounds"),
    "an unaligned buffer": (STEPS, evolve(PLAN, offsets={**PLAN.offsets, "a@sram": 40_004}), "misaligned"),
    "a life too short": (*with_buffer("a@sram", last=10), "wrong-lifetime"),
    "a life that begins late": (*with_buffer("x@sram", first=6), "wrong-lifetime"),
}  # fmt: skip


def test_a_right_plan_has_no_fault() -> None:
    assert rules_found(STEPS, PLAN) == set()


@pytest.mark.parametrize("fault", STEP_FAULTS)
def test_a_fault_in_the_steps_is_found(fault: str) -> None:
    steps, rule = STEP_FAULTS[fault]
    assert rule in rules_found(steps, PLAN)


@pytest.mark.parametrize("fault", PLAN_FAULTS)
def test_a_fault_in_the_plan_is_found(fault: str) -> None:
    steps, plan, rule = PLAN_FAULTS[fault]
    assert rule in rules_found(steps, plan)


def test_constants_and_activations_of_one_memory_may_be_too_much_together() -> None:
    def held(name: str, kind: str) -> Buffer:
        return Buffer(name=name, kind=kind, memory="ddr", bytes=600_000, alignment=16, first=0, last=0)

    buffers = (held("c", "constant"), held("x", "input"))
    plan = MemoryPlan(buffers=buffers, offsets={"c": 0, "x": 0})
    order = StepOrder(steps=(), buffers=buffers, inputs=(("x", "x"),), outputs=())
    assert rules_found(order, plan) == {"over-capacity"}


@pytest.mark.parametrize("number", WAITS)
def test_every_wait_is_needed(number: int) -> None:
    """A load in its place changes no number; what is found is what the wait was for."""
    blank = STEPS.steps[0]
    steps = (*STEPS.steps[:number], blank, *STEPS.steps[number + 1 :])
    assert rules_found(evolve(STEPS, steps=steps), PLAN) - {"late-load"}


def test_a_fault_is_told_with_its_place() -> None:
    with pytest.raises(CheckError) as caught:
        check(
            chips.EDGE, dispatch("conv", operands=(*CONV.operands, Operand(of="a.w@ddr", access="r"))), PLAN
        )
    assert str(caught.value) == (
        "step 8 (dispatch a on conv): error: `conv` cannot take `a.w@ddr` where it is, in `ddr` "
        "[not-observed]"
    )


def disjoint(one: Buffer, other: Buffer, offsets: dict[str, int]) -> bool:
    start, begin = offsets[one.name], offsets[other.name]
    return start + one.bytes <= begin or begin + other.bytes <= start


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(STEPS.buffers), st.integers(0, 200))
def test_a_buffer_put_anywhere_is_found_wrong_exactly_when_it_is(buffer: Buffer, unit: int) -> None:
    offsets = {**PLAN.offsets, buffer.name: unit * 64}
    partners = {name for pair in PLAN.in_place for name in pair if buffer.name in pair}
    others = [
        b
        for b in STEPS.buffers
        if b.name not in {buffer.name, *partners} and b.arena == buffer.arena and b.overlaps(buffer)
    ]
    wrong = any(not disjoint(buffer, other, offsets) for other in others)
    wrong = wrong or any(offsets[name] != offsets[buffer.name] for name in partners)
    size = chips.EDGE.memory(buffer.memory).size
    wrong = wrong or unit * 64 + buffer.bytes > size
    assert bool(rules_found(STEPS, evolve(PLAN, offsets=offsets))) == wrong
