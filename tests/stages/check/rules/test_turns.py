"""Calls that are issued together: those of one timeline run in turn, and so may have the same bytes."""

import pytest

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.memory import Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, StepOrder, Wait
from target_arch.soc import read_soc
from target_arch.stages.check.plan import step_faults


def call(event: Event, *names: str) -> Dispatch:
    operands = tuple(Operand(of=name, access=Access.WRITE) for name in names)
    return Dispatch(
        partition="p", operator="o", instance=event.timeline, function="f", operands=operands, event=event
    )


def copied(event: Event, source: str, target: str) -> Copy:
    """A copy in flight of one whole buffer to another."""
    one, other = (Slice(of=name, offset=0, row_bytes=64) for name in (source, target))
    return Copy(source=one, target=other, engine="dma", event=event)


def _touched(step: Dispatch | Copy) -> tuple[str, ...]:
    if isinstance(step, Copy):
        return (step.source.of, step.target.of)
    return tuple(operand.of for operand in step.operands)


def overlaps(
    *calls: Dispatch | Copy, kind: BufferKind = BufferKind.LOCAL, outputs: tuple[str, ...] = ()
) -> int:
    """How often buffers that all have the same bytes are said to overlap, where all calls are in flight."""
    names = sorted({name for one in calls for name in _touched(one)})
    waits = tuple(Wait(event=one.event) for one in calls if one.event is not None)
    buffers = tuple(
        Buffer(name=name, kind=kind, memory="sram", bytes=64, alignment=1, first=0, last=9) for name in names
    )
    ends = tuple((name, name) for name in outputs)
    order = StepOrder(steps=(*calls, *waits), buffers=buffers, inputs=(), outputs=ends)
    plan = MemoryPlan(buffers=buffers, offsets=dict.fromkeys(names, 0))
    found = step_faults(read_soc("vta_edge"), order, plan)
    return sum(each.rule == "overlap" for each in found)


FIRST, SECOND = Event(timeline="tensor", value=1), Event(timeline="tensor", value=2)


def test_calls_of_one_timeline_take_turns() -> None:
    assert overlaps(call(FIRST, "a"), call(SECOND, "b")) == 0
    assert overlaps(call(FIRST, "b"), call(SECOND, "a")) == 0


@pytest.mark.parametrize("kind", [BufferKind.LOCAL, BufferKind.ACTIVATION])
def test_calls_that_come_after_the_last_of_others_have_their_bytes(kind: BufferKind) -> None:
    third = Event(timeline="tensor", value=3)
    assert overlaps(call(FIRST, "a"), call(SECOND, "a"), call(third, "b"), kind=kind) == 0
    assert overlaps(call(FIRST, "a"), call(SECOND, "b"), call(third, "a"), kind=kind) == 1


@pytest.mark.parametrize("kind", [BufferKind.OUTPUT, BufferKind.NEXT])
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


def test_what_calls_of_two_timelines_touch_takes_no_turns() -> None:
    third = call(Event(timeline="other", value=1), "b")
    assert overlaps(call(FIRST, "a"), call(SECOND, "b"), third) == 1
    assert overlaps(call(FIRST, "b"), call(SECOND, "a"), third) == 1


def test_what_copies_touch_takes_no_turns() -> None:
    one, other = Event(timeline="dma.0", value=1), Event(timeline="dma.1", value=1)
    found = overlaps(copied(one, "a", "b"), copied(other, "c", "d"), kind=BufferKind.ACTIVATION)
    assert found == 6


def test_outputs_are_needed_after_the_last_call() -> None:
    calls = (call(FIRST, "a"), call(SECOND, "b"))
    assert overlaps(*calls, kind=BufferKind.ACTIVATION) == 0
    assert overlaps(*calls, kind=BufferKind.ACTIVATION, outputs=("a",)) == 1


def test_every_operand_of_a_call_is_touched() -> None:
    """`b` is the second operand of a call on another timeline, so it takes no turns with `a`."""
    third = call(Event(timeline="other", value=1), "c", "b")
    assert overlaps(call(FIRST, "a"), call(SECOND, "b"), third) == 3


def test_what_a_copy_reads_takes_no_turns() -> None:
    read = copied(Event(timeline="dma.0", value=1), "a", "c")
    assert overlaps(call(FIRST, "a"), read, call(SECOND, "b"), kind=BufferKind.ACTIVATION) == 3
