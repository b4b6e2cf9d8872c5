"""Reachability of memories: where an instance reads operands, where it leaves results, and which memories
feed its local buffers.

These rules come from the SoC description alone. Placement uses them to count copies, `homes` to choose
memories, and `join` to insert copies. (The checker reads the description itself.)
"""

from collections.abc import Iterable

from attrs import frozen

from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.soc.words import OperandRule


@frozen(kw_only=True, cache_hash=True)
class MemoryAccess:
    """The memories in which an instance reads operands and leaves results, preferred first.

    `local` is empty where it touches whole tensors in place; else they are moved between one of `reads` or
    `writes` and one of the local memories, by a declared direct path.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    local: tuple[str, ...] = ()


def memory_access(soc: SoC, mode: MemoryMode, instance: Instance, *, whole: bool) -> MemoryAccess:
    """The access of an instance whose kernels touch whole tensors where they are, or else move tiles."""
    if whole:
        return MemoryAccess(reads=readable(soc, instance), writes=results(soc, mode, instance))
    tiles = local(instance)
    return MemoryAccess(reads=feeding(soc, mode, tiles), writes=draining(soc, mode, tiles), local=tiles)


def readable(soc: SoC, instance: Instance) -> tuple[str, ...]:
    """Memories in which the instance reads a whole operand in place, its own first."""
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


def feeding(soc: SoC, mode: MemoryMode, tiles: tuple[str, ...]) -> tuple[str, ...]:
    """Memories from which a declared path leads straight into one of the local memories, preferred first.

    Only memories that the mode allows for tensors, and memories of other instances, which leave results
    there.
    """
    linked = {path.source for path in soc.copies if path.target in tiles}
    others = (name for each in soc.instances if not each.arch.host for name in each.memory)
    return _once((*resting(mode), *mode.constants, *others), linked)


def draining(soc: SoC, mode: MemoryMode, tiles: tuple[str, ...]) -> tuple[str, ...]:
    """Memories into which a declared path leads straight out of one of the local ones, preferred first."""
    linked = {path.target for path in soc.copies if path.source in tiles}
    return _once((name for name in resting(mode) if soc.memory(name).writable), linked)


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
