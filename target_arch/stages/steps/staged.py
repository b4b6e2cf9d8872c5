"""Constants on their way: copies of them in a memory from which an instance, or the next copy, takes them.

Where they crowd a memory, moving their readers elsewhere may help.
"""

from collections.abc import Iterator, Mapping

from target_arch.plan.memory import Arena, Buffer
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.stages.memory.packing import bound
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.spill import swept


def staged(work: PartialLowering, steps: StepOrder) -> Iterator[Buffer]:
    """The buffers of constants on their way, in order of the steps."""
    for buffer in steps.buffers:
        constant = buffer.tensor is not None and work.tensors[buffer.tensor].data is not None
        if constant and not buffer.kind.settled:
            yield buffer


def crowding(work: PartialLowering, steps: StepOrder, pool: Arena, missing: int) -> tuple[Buffer, ...]:
    """The constants on their way that must leave, the largest first at each step, so that no memory has more
    live bytes than it can hold. The pool is known to miss so many bytes.
    """
    found: list[Buffer] = []
    by_arena: dict[Arena, list[Buffer]] = {}
    for buffer in staged(work, steps):
        by_arena.setdefault(buffer.arena, []).append(buffer)
    for arena, there in by_arena.items():
        others = [buffer for buffer in steps.buffers if buffer.memory == arena.memory]
        moving = [buffer for buffer in others if buffer.arena == arena]
        left = work.soc.memory(arena.memory).size - sum(b.bytes for b in others if b.kind.settled)
        over = missing if arena == pool else bound(moving) - left
        gone = set(swept(moving, {b.name: b.name for b in there}, over)) if over > 0 else set()
        found += [buffer for buffer in there if buffer.name in gone]
    return tuple(found)


def readers(work: PartialLowering, steps: StepOrder, buffers: tuple[Buffer, ...]) -> tuple[str, ...]:
    """The operators away from the host that these constants are on their way to, largest constant first."""
    following = _following(steps)
    hosts = {instance.name for instance in work.soc.instances if instance.arch.host}
    found = [
        following[buffer.name].operator
        for buffer in sorted(buffers, key=lambda each: -each.bytes)
        if buffer.name in following and following[buffer.name].instance not in hosts
    ]
    return tuple(dict.fromkeys(found))


def _following(steps: StepOrder) -> Mapping[str, Dispatch]:
    """By buffer, the first dispatch that reads it, or that follows the first copy out of it in the same
    partition.
    """
    next_of: dict[str, Dispatch] = {}
    found: dict[str, Dispatch] = {}
    for step in reversed(steps.steps):
        if isinstance(step, Dispatch):
            next_of[step.partition] = step
            found |= {operand.of: step for operand in step.operands if operand.access.reads}
        elif isinstance(step, Copy) and step.partition in next_of:
            found[step.source.of] = next_of[step.partition]
    return found
