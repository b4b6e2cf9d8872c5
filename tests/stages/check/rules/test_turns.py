"""Calls that are issued together: those of one timeline run in turn, and so may have the same bytes."""

import pytest

from target_arch.plan.kernels import Access, Operand
from target_arch.plan.memory import Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Dispatch, Event, StepOrder, Wait
from target_arch.soc import read_soc
from target_arch.stages.check.plan import step_faults


def call(event: Event, *names: str) -> Dispatch:
    operands = tuple(Operand(of=name, access=Access.WRITE) for name in names)
    return Dispatch(
        partition="p", operator="o", instance=event.timeline, function="f", operands=operands, event=event
    )


def overlaps(*calls: Dispatch, kind: BufferKind = BufferKind.LOCAL) -> int:
    """How often buffers that all have the same bytes are said to overlap, where all calls are in flight."""
    names = sorted({operand.of for one in calls for operand in one.operands})
    waits = tuple(Wait(event=one.event) for one in calls if one.event is not None)
    buffers = tuple(
        Buffer(name=name, kind=kind, memory="sram", bytes=64, alignment=1, first=0, last=9) for name in names
    )
    order = StepOrder(steps=(*calls, *waits), buffers=buffers, inputs=(), outputs=())
    plan = MemoryPlan(buffers=buffers, offsets=dict.fromkeys(names, 0))
    found = step_faults(read_soc("vta_edge"), order, plan)
    return sum(each.rule == "overlap" for each in found)


FIRST, SECOND = Event(timeline="tensor", value=1), Event(timeline="tensor", value=2)


def test_calls_of_one_timeline_take_turns() -> None:
    assert overlaps(call(FIRST, "a"), call(SECOND, "b")) == 0
    assert overlaps(call(FIRST, "b"), call(SECOND, "a")) == 0


@pytest.mark.parametrize("kind", [BufferKind.ACTIVATION, BufferKind.NEXT])
def test_what_is_needed_later_takes_no_turns(kind: BufferKind) -> None:
    assert overlaps(call(FIRST, "a"), call(SECOND, "b"), kind=kind) == 1


def test_buffers_of_one_call_are_needed_together() -> None:
    assert overlaps(call(FIRST, "a", "b")) == 1


def test_buffers_of_two_calls_are_needed_between_them() -> None:
    assert overlaps(call(FIRST, "a"), call(SECOND, "a", "b")) == 1
    assert overlaps(call(FIRST, "a", "b"), call(SECOND, "b")) == 1


def test_calls_of_two_timelines_run_at_once() -> None:
    other = Event(timeline="other", value=1)
    assert overlaps(call(FIRST, "a"), call(other, "b")) == overlaps(call(other, "a"), call(FIRST, "b")) == 1
