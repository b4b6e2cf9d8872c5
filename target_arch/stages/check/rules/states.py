"""States, for the checker alone: two buffers in one place, which the host can write, as a reset does."""

from collections.abc import Iterable, Iterator, Mapping

from target_arch.plan.memory import Buffer, BufferKind, MemoryPlan
from target_arch.plan.model import State
from target_arch.plan.steps import StateBuffers, StepOrder
from target_arch.soc.model import SoC


def state_faults(soc: SoC, order: StepOrder, plan: MemoryPlan, states: Iterable[State]) -> Iterator[str]:
    """Why the next run would not find the states that the model has, each in a message."""
    held = {each.tensor: each for each in order.states}
    buffers = {buffer.name: buffer for buffer in order.buffers}
    named = {name for each in order.states for name in (each.now, each.next)}
    for buffer in order.buffers:
        if buffer.kind in (BufferKind.STATE, BufferKind.NEXT) and buffer.name not in named:
            yield f"buffer `{buffer.name}` is of no state"
    for state in states:
        for said in _faults(soc, plan, buffers, state, held.get(state.tensor)):
            yield f"state `{state.tensor}`: {said}"


def _faults(
    soc: SoC, plan: MemoryPlan, buffers: Mapping[str, Buffer], state: State, held: StateBuffers | None
) -> Iterator[str]:
    if held is None or not {held.now, held.next} <= buffers.keys():
        yield "a buffer of it is missing"
        return
    now, later = buffers[held.now], buffers[held.next]
    if (now.kind, later.kind, later.replaces) != (BufferKind.STATE, BufferKind.NEXT, now.name):
        yield f"`{later.name}` does not replace `{now.name}`"
    if (now.tensor, later.tensor) != (state.tensor, state.next):
        yield f"`{now.name}` and `{later.name}` hold other tensors"
    if (now.arena, now.bytes) != (later.arena, later.bytes):
        yield f"`{now.name}` and `{later.name}` differ in memory or size"
    if plan.offsets.get(now.name) != plan.offsets.get(later.name):
        yield f"`{later.name}` is not where the next run reads `{now.name}`"
    if not (soc.observes(soc.host.name, now.memory) and soc.memory(now.memory).writable):
        yield f"the host cannot write `{now.memory}`"
    initial = buffers.get(held.initial or "")
    constant = initial is not None and initial.kind == BufferKind.CONSTANT
    if state.initial != (initial.tensor if initial is not None and constant else None):
        yield "it does not start with its initial value"
