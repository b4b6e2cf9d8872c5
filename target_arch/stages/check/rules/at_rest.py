"""Rules of a memory plan that no step is needed for: every buffer has a place, inside its memory and aligned,
and the size of its content; the arenas of a memory fit it together.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from target_arch.plan.memory import Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import StepOrder
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up
from target_arch.stages.check.rules.faults import Fault

_IN_ORDER = (
    (BufferKind.CONSTANT,),
    (BufferKind.STATE, BufferKind.NEXT),
    (BufferKind.RESIDENT,),
    (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.ACTIVATION, BufferKind.LOCAL),
)
"""The arenas of a memory, by the kind of their contents."""


def offsets(soc: SoC, order: StepOrder, plan: MemoryPlan) -> Iterator[Fault]:
    """Buffers without offset, outside their memory or not aligned; a plan of other buffers than the steps."""
    seen: set[str] = set()
    for buffer in order.buffers:
        if buffer.name in seen:
            yield "duplicate-buffer", f"buffer `{buffer.name}` is there twice"
        seen.add(buffer.name)
        offset = plan.offsets.get(buffer.name)
        if offset is None:
            yield "no-offset", f"buffer `{buffer.name}` has no offset"
        elif buffer.caller:
            if offset:
                yield "out-of-bounds", f"buffer `{buffer.name}` is the caller's and begins at {offset}"
        elif offset < 0 or offset + buffer.bytes > soc.memory(buffer.memory).size:
            yield "out-of-bounds", f"buffer `{buffer.name}` at {offset} ends outside `{buffer.memory}`"
        elif offset % buffer.alignment:
            message = f"buffer `{buffer.name}` at {offset} is not aligned to {buffer.alignment} B"
            yield "misaligned", message
        elif offset % soc.own_line(buffer.memory):
            yield "shared-line", f"buffer `{buffer.name}` at {offset} begins inside a cache line"
    if {*plan.buffers} != {*order.buffers}:
        yield "wrong-buffers", "the memory plan and the step order have different buffers"


def sizes(buffers: Iterable[Buffer], known: Mapping[str, int]) -> Iterator[Fault]:
    """Buffers with other bytes than their tensor; `known` is by the name of the tensor, or of a buffer that
    holds none.
    """
    for buffer in buffers:
        size = known.get(buffer.tensor or buffer.name, buffer.bytes)
        if buffer.bytes != size:
            yield "wrong-size", f"buffer `{buffer.name}` has {buffer.bytes:,} B for {size:,} B"


def ends(order: StepOrder) -> Iterator[Fault]:
    """Inputs and outputs of the model that are in no buffer, or in one of a kind that the caller neither
    writes nor reads."""
    kinds = {buffer.name: buffer.kind for buffer in order.buffers}
    for tensor, name in (*order.inputs, *order.outputs):
        if name not in kinds:
            yield "unknown-buffer", f"`{tensor}` is said to be in `{name}`, which is no buffer"
    given = {name for _, name in order.inputs}
    for name, kind in kinds.items():
        if (kind == BufferKind.INPUT) != (name in given):
            yield "wrong-input", f"buffer `{name}` of kind `{kind}` and the inputs of the model do not agree"


def owners(soc: SoC, order: StepOrder) -> Iterator[Fault]:
    """Buffers of the caller that are no input or output, or several at once, or that the host does not see;
    inputs and outputs in arenas beside those of the caller.
    """
    named = Counter(name for _, name in (*order.inputs, *order.outputs))
    lent = any(buffer.caller for buffer in order.buffers)
    for buffer in order.buffers:
        if buffer.caller and named[buffer.name] != 1:
            said = f"buffer `{buffer.name}` of the caller is that of {named[buffer.name]} inputs and outputs"
            yield "wrong-owner", said
        if buffer.caller and soc.memory(buffer.memory).base is None:
            yield "wrong-owner", f"buffer `{buffer.name}` of the caller is where the host cannot see it"
        if lent and buffer.name in named and not buffer.caller:
            yield "wrong-owner", f"buffer `{buffer.name}` is in an arena, others are the caller's"


def unseen(soc: SoC, order: StepOrder) -> Iterator[Fault]:
    """Constants in memories that nothing fills, and inputs and outputs where the host does not see them."""
    ends = {name for _, name in (*order.inputs, *order.outputs)}
    for buffer in order.buffers:
        if soc.observes(soc.host.name, buffer.memory):
            continue
        if buffer.kind is BufferKind.CONSTANT:
            yield "not-filled", f"constant `{buffer.name}` is in `{buffer.memory}`, which nothing fills"
        elif buffer.name in ends and not buffer.caller:
            yield "not-observed", f"`{buffer.name}` is in `{buffer.memory}`, which the host does not see"


def capacities(soc: SoC, buffers: Iterable[Buffer], plan: MemoryPlan) -> Iterator[Fault]:
    """Memories that are too small for their arenas, one after the other, constants, states and residents
    first. The object of the constants is as long as whole units of its alignment.
    """
    for memory in soc.memories:
        there = [buffer for buffer in buffers if buffer.memory == memory.name and not buffer.caller]
        unit = max((buffer.alignment for buffer in there), default=1)
        end = 0
        for kinds in _IN_ORDER:
            size = _top(plan, (buffer for buffer in there if buffer.kind in kinds))
            end = round_up(end, unit) + size if size else end
            end = round_up(end, unit) if BufferKind.CONSTANT in kinds else end
        end = round_up(end, soc.own_line(memory.name))
        if end > memory.size:
            yield "over-capacity", f"`{memory.name}` needs {end:,} B, it has {memory.size:,} B"


def _top(plan: MemoryPlan, buffers: Iterable[Buffer]) -> int:
    return max((plan.offsets.get(buffer.name, 0) + buffer.bytes for buffer in buffers), default=0)
