"""The memory plan of a step order for cores that wait for lines of each other's caches."""

from collections.abc import Iterator

from target_arch.plan.memory import MemoryPlan
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages.memory.allocate import arena_capacity
from target_arch.stages.memory.warm import CoreAccess, warm


def warmed(plan: MemoryPlan, order: StepOrder, soc: SoC) -> MemoryPlan:
    """The plan with buffers at lines that the same core touched last, as far as memories have room, where
    cores of the SoC wait for lines of others.
    """
    if not any(arch.line for arch in soc.archs):
        return plan
    touches = tuple(_touches(order, soc))
    sizes = {memory.name: memory.size for memory in soc.memories}
    for arena in sorted(plan.peaks):
        if arena.shareable:
            room = arena_capacity(plan, arena.memory, sizes[arena.memory])
            plan = warm(plan, arena, touches, room)
    return plan


def _touches(order: StepOrder, soc: SoC) -> Iterator[CoreAccess]:
    """The bytes that calls of kernels read and write, in the order of time; a call reads before it writes."""
    sizes = {buffer.name: buffer.bytes for buffer in order.buffers}
    numbers = {instance.name: number for number, instance in enumerate(soc.instances)}
    for step in order.steps:
        if isinstance(step, Dispatch):
            for operand in sorted(step.operands, key=lambda each: each.access.writes):
                part = operand.touched(sizes[operand.of])
                core = numbers[step.instance]
                yield CoreAccess(buffer=operand.of, core=core, start=part.offset, stop=part.end)
