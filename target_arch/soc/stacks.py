"""The stacks of cores: where each is in the memory of its choice, and what that leaves for tensors.

They are at the end of a memory, the first core's last; whole units of STACK_ALIGNMENT, or of the host's cache
lines where bytes that share a line with them would be lost.
"""

from math import lcm

from attrs import frozen

from target_arch.soc.model import Instance, SoC
from target_arch.soc.rounding import round_up

STACK_ALIGNMENT = 16
"""Every ABI that a core may have wants at most that of a stack."""


@frozen(kw_only=True)
class CoreStack:
    """The stack of one core: `bytes` from `offset` of a memory on."""

    instance: str
    memory: str
    offset: int
    bytes: int

    def __str__(self) -> str:
        return f"stack of {self.instance}: {self.bytes:,} B at {self.offset:,} of {self.memory}"


def core_stacks(soc: SoC) -> tuple[CoreStack, ...]:
    """The stacks of all cores in the order of the instances, of cores whose memory is known.

    Offsets are negative where the memory is too small, which a rule refuses.
    """
    ends = {memory.name: memory.size for memory in soc.memories}
    found = []
    for instance in soc.instances:
        memory = _memory(soc, instance)
        if instance.arch.cores is None or memory not in ends:
            continue
        unit = lcm(STACK_ALIGNMENT, soc.own_line(memory))
        size = round_up(instance.arch.cores.stack, unit)
        ends[memory] = ends[memory] // unit * unit - size
        stack = CoreStack(instance=instance.name, memory=memory, offset=ends[memory], bytes=size)
        found.append(stack)
    return tuple(found)


def stack_bytes(soc: SoC) -> dict[str, int]:
    """By memory, the bytes at its end that stacks of cores take, for those that have any."""
    ends = {memory.name: memory.size for memory in soc.memories}
    lowest: dict[str, int] = {}
    for stack in core_stacks(soc):
        lowest[stack.memory] = stack.offset
    return {name: ends[name] - offset for name, offset in lowest.items()}


def _memory(soc: SoC, instance: Instance) -> str:
    """The memory of the stack of an instance: its own replica where each instance has one."""
    declared = instance.arch.stack_memory
    replica = f"{declared}_{instance.index}"
    own = any(memory.name == replica and memory.replica_of == declared for memory in soc.memories)
    return replica if own else declared
