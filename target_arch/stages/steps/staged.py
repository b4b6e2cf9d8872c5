"""Constants on their way: copies of them in a memory from which an instance, or the next copy, takes them.

Where they crowd a memory, they go through it in pieces, or their readers move elsewhere.
"""

from collections.abc import Iterator, Mapping

from target_arch.plan.memory import Arena, Buffer, BufferKind
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory.packing import bound
from target_arch.stages.program.homes import OnTheWay
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.spill import swept

EIGHTH = 8
LINE = 64
LEAST = 512
"""Bytes of the smallest piece: with smaller ones, setting copies up takes nearly all the time."""


def staged(work: PartialLowering, steps: StepOrder) -> Iterator[Buffer]:
    """The buffers of constants on their way, whole ones and pieces of rings, in order of the steps."""
    used = _operands(work, steps)
    for buffer in steps.buffers:
        if buffer.tensor is None:
            passing = buffer.kind == BufferKind.LOCAL and buffer.name not in used
        else:
            passing = work.tensors[buffer.tensor].data is not None and not buffer.kind.settled
        if passing:
            yield buffer


def _operands(work: PartialLowering, steps: StepOrder) -> set[str]:
    """The buffers that kernels read or write. Those of a partition without a kernel, on an instance that
    takes tiles, are none of them: tiles will be copied from there.
    """
    return {
        operand.of
        for step in steps.steps
        if isinstance(step, Dispatch)
        and (step.partition in work.kernels or work.setting.touches_whole(step.instance))
        for operand in step.operands
    }


def pieces(
    work: PartialLowering, steps: StepOrder, refusal: DoesNotFitError, streamed: Mapping[OnTheWay, int]
) -> dict[OnTheWay, int]:
    """The most bytes of a piece for constants on their way that the memory of a refusal has no room for;
    empty where this helps no more.

    They go first in eighths of the constant, then, as those in `streamed`, in pieces half as large as before.
    """
    if not refusal.pool.shareable:
        return {}
    crowd = crowding(work, steps, refusal.pool, refusal.missing)
    whole = _operands(work, steps)
    able = {(b.tensor, b.memory): b.bytes for b in crowd if b.tensor is not None and b.name not in whole}
    found = {way: size // EIGHTH for way, size in able.items() if way not in streamed}
    if not found:
        there = (way for way in streamed if way[1] == refusal.memory)
        found = {way: streamed[way] // 2 for way in there if streamed[way] > LEAST}
    return {way: max(_whole_units(size), LEAST) for way, size in found.items()}


def _whole_units(size: int) -> int:
    """The bytes in whole cache lines, which suit every path."""
    return size - size % LINE


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
