"""Who can touch which memory: where an instance reads operands, where it leaves results, what feeds its local
buffers.

These rules come from the description alone. Placement asks them to count copies, residence to choose
memories, the step stage to insert copies. (The checker asks the description itself.)
"""

from collections.abc import Iterable

from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.soc.words import OperandRule


def readable(soc: SoC, instance: Instance) -> tuple[str, ...]:
    """Memories in which the instance reads a whole operand where it lies, its own first."""
    observed = tuple(memory.name for memory in soc.memories if soc.sees(instance, memory.name))
    if instance.arch.host:
        return _once((*instance.memory, *observed), observed)
    if instance.arch.operands == OperandRule.OUTPUTS:
        return _once((*instance.memory, *observed))
    return instance.memory


def results(soc: SoC, mode: MemoryMode, instance: Instance) -> tuple[str, ...]:
    """Memories in which the instance leaves a whole result, preferred first."""
    if not instance.arch.host:
        return tuple(name for name in instance.memory if soc.memory(name).writable)
    usable = [name for name in mode.workspace if host_writes(soc, name)]
    preferred = [name for name in instance.memory if name in usable]
    return tuple(preferred or usable)


def host_writes(soc: SoC, memory: str) -> bool:
    """True where the host itself can store into the memory."""
    return soc.observes(soc.host.name, memory) and soc.memory(memory).writable


def local(instance: Instance) -> tuple[str, ...]:
    """Memories in which an accelerator keeps its tiles."""
    return _once(instance.buffers.values()) or instance.memory


def owned(instance: Instance) -> tuple[str, ...]:
    """Every memory the instance may be given bytes of."""
    return _once((*instance.memory, *instance.buffers.values()))


def resting(mode: MemoryMode) -> tuple[str, ...]:
    """Memories in which bytes may rest between two hops of a route."""
    return _once((*mode.workspace, *mode.io))


def _once(names: Iterable[str], allowed: Iterable[str] | None = None) -> tuple[str, ...]:
    """The names in order, each once, only those allowed."""
    keep = None if allowed is None else frozenset(allowed)
    return tuple(name for name in dict.fromkeys(names) if keep is None or name in keep)
