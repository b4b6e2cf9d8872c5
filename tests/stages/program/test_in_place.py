"""Results in the place of operands: who may, where it pays, and what the checker says to what may not."""

import pytest
from attrs import evolve

from target_arch.emit.model.kernels import kernels
from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import Arena, Buffer, BufferKind, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.soc.model import SoC
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError
from target_arch.stages.program.in_place import reusable_operands
from target_arch.stages.program.items import Run, Slot
from tests import tiny_plans
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

ADDS = chips.model(
    ("a", "add", ("x",), 512),
    ("b", "add", ("a", "x"), 512),
    ("c", "other", ("b",), 256),
    ("d", "add", ("b", "b"), 512),
    ("e", "add", ("d", "d"), 512),
    ("f", "soft", ("c", "e"), 64),
    inputs={"x": 512},
)


def over(model: Model, soc: SoC) -> dict[str, str]:
    return dict(lowered(model, soc).plan.in_place)


def test_a_result_takes_the_place_of_an_operand_that_dies() -> None:
    result = lowered(ADDS, chips.ALONE)
    able = {buffer.name: buffer.over for buffer in result.steps.buffers if buffer.over}
    assert able == {"b@sram": ("a@sram", "x@sram"), "d@sram": ("b@sram",), "e@sram": ("d@sram",)}
    assert dict(result.plan.in_place) == {"b@sram": "a@sram", "d@sram": "b@sram", "e@sram": "d@sram"}
    plan, sram = result.plan, Arena("sram")
    assert (plan.peaks[sram], plan.shared[sram], plan.bounds[sram]) == (
        1024,
        1024,
        1536,
    )


def test_on_an_asynchronous_target_the_place_is_taken_while_the_call_is_in_flight() -> None:
    model = chips.model(("a", "soft", ("x",), 512), ("b", "add", ("a",), 512), inputs={"x": 512})
    result = lowered(model, chips.EDGE)
    assert dict(result.plan.in_place) == {"a@tcm": "x@tcm", "b@tcm": "a@tcm"}


def test_a_place_is_in_the_memory_of_the_result() -> None:
    """Memories whose names come before and behind are others."""

    def slot(name: str, memory: str) -> Slot:
        return Slot(name=name, kind=BufferKind.ACTIVATION, memory=memory, bytes=64, alignment=16)

    buffers = {name: slot(name, memory) for name, memory in (("x", "ddr"), ("y", "sram"), ("z", "tcm"))}
    buffers["r"] = slot("r", "sram")
    operand = Operand(of="r", access="w", over=("x", "y", "z"))
    run = Run(partition="p", operator="o", instance="host", function="f", operands=(operand,))
    assert reusable_operands(buffers, (), run) == {"r": ["y"]}


def order(*steps: Step, **changes: dict[str, object]) -> tuple[StepOrder, MemoryPlan]:
    """x, then y over x by the step there is; z is a third buffer. All are at offset 0 of sram but z."""
    end = len(steps) - 1
    rows = {
        "x": Buffer(name="x", kind="input", memory="sram", bytes=64, alignment=16, first=0, last=end),
        "y": Buffer(name="y", kind="activation", memory="sram", bytes=64, alignment=16, first=0, last=end),
        "z": Buffer(name="z", kind="activation", memory="ddr", bytes=64, alignment=64, first=0, last=end),
    }
    buffers = tuple(evolve(rows[name], **changes.get(name, {})) for name in rows)  # type: ignore[arg-type]
    plan = MemoryPlan(buffers=buffers, offsets=dict.fromkeys(rows, 0), in_place=(("y", "x"),))
    return StepOrder(steps=steps, buffers=buffers, inputs=(("x", "x"),), outputs=()), plan


def call(*operands: Operand) -> Dispatch:
    return Dispatch(partition="p", operator="o", instance="host", function="f", operands=operands)


def found(case: tuple[StepOrder, MemoryPlan]) -> list[str]:
    try:
        check(chips.EDGE, *case)
    except CheckError as error:
        return [str(diagnostic) for diagnostic in error.diagnostics]
    return []


R, W = Operand(of="x", access="r"), Operand(of="y", access="w", over=("x",))
READ_Y = call(Operand(of="y", access="r"), Operand(of="z", access="w"))
READ_X = call(Operand(of="x", access="r"), Operand(of="z", access="w"))
WRITE_Y = call(Operand(of="y", access="w"))
CORRECT = (call(R, W), READ_Y)

FAULTS = {
    "a call that does not allow it": (order(call(R, evolve(W, over=())), READ_Y), "no call may do that"),
    "a call that writes the operand, too": (
        order(call(evolve(R, access="rw"), W), READ_Y),
        "no call may do that",
    ),
    "a call that begins further on": (order(call(evolve(R, offset=16), W), READ_Y), "no call may do that"),
    "a result begun before": (order(WRITE_Y, call(R, W), READ_Y), "step 0 touches `y` before"),
    "an operand used later": (order(call(R, W), READ_X), "`x` is needed until step 1"),
}


def test_what_is_safe_is_no_fault() -> None:
    assert found(order(*CORRECT)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_safe_is_told(fault: str) -> None:
    case, why = FAULTS[fault]
    assert f"memory plan: error: buffer `y` is written over `x`: {why} [unsafe-in-place]" in found(case)


def test_an_output_is_needed_to_the_end() -> None:
    steps, plan = order(*CORRECT)
    case = (evolve(steps, outputs=(("x", "x"),)), plan)
    assert found(case) == [
        "memory plan: error: buffer `y` is written over `x`: `x` is needed until the end of the run "
        "[unsafe-in-place]"
    ]


def test_bytes_in_flight_are_not_overwritten() -> None:
    steps, plan = order(*CORRECT)
    event = Event(timeline="dma.0", value=1)
    tile = Buffer(name="t", kind="local", memory="bram", bytes=64, alignment=16, first=0, last=2)
    start = Copy(
        source=Slice(of="x", offset=0, row_bytes=64),
        target=Slice(of="t", offset=0, row_bytes=64),
        engine="dma",
        event=event,
    )
    buffers = tuple(evolve(b, last=3) for b in (*steps.buffers, tile))
    flying = evolve(steps, steps=(start, *CORRECT, Wait(event=event)), buffers=buffers)
    places = evolve(plan, buffers=buffers, offsets={**plan.offsets, "t": 0})
    assert found((flying, places)) == [
        "memory plan: error: buffer `y` is written over `x`: no call may do that [unsafe-in-place]"
    ]
    waited = evolve(flying, steps=(start, Wait(event=event), *CORRECT))
    assert found((waited, places)) == []


def test_places_must_be_the_same_bytes() -> None:
    steps, plan = order(*CORRECT)
    shifted = evolve(plan, offsets={**plan.offsets, "y": 16})
    assert found((steps, shifted)) == [
        "memory plan: error: buffer `y` is written over `x`: they are not the same bytes [unsafe-in-place]"
    ]


def test_what_is_not_planned_in_place_must_lie_apart() -> None:
    steps, plan = order(call(R, evolve(W, over=())), READ_Y)
    assert found((steps, evolve(plan, in_place=()))) == [
        "memory plan: error: buffers `x` and `y` share bytes while both are live [overlap]"
    ]


def test_no_c_is_emitted_for_a_function_that_does_not_allow_it() -> None:
    inputs = tiny_plans.on_dsp()
    made = inputs.members[0].lowered
    step = next(step for step in made.steps.steps if isinstance(step, Dispatch))
    read, written = step.operands[0].of, step.operands[-1].of
    wrong = tiny_plans.changed(inputs, plan=evolve(made.plan, in_place=((written, read),)))
    with pytest.raises(ValueError, match=f"cannot write `{written}` over `{read}`"):
        kernels(wrong)
