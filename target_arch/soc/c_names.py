"""The names of the generated C header, each with its origin in the description.

The header is made from these, and the rule `name-clash` holds them apart.
"""

from collections.abc import Iterator

from target_arch.soc.faults import Path
from target_arch.soc.model import Memory, MemoryMode, SoC
from target_arch.soc.numbering import c_identifier, c_prefix

PURPOSES = ("workspace", "constants", "io")

Owned = tuple[str, Path]
"""A name in C, and the path of its owner."""


def pools(mode: MemoryMode) -> tuple[tuple[str, str], ...]:
    """(purpose, memory) of every pool of a mode, in the order of its number."""
    return tuple((purpose, memory) for purpose in PURPOSES for memory in getattr(mode, purpose))


def pool_name(soc: SoC, purpose: str, memory: str) -> str:
    """The enumerator of a pool."""
    return f"{c_prefix(soc)}_POOL_{purpose.upper()}_{memory.upper()}"


def c_names(soc: SoC) -> Iterator[Owned]:
    """Every macro and enumerator, in the order of the description."""
    prefix = c_prefix(soc)
    general = ("ABI_HASH", "SOC_H", "STATIC_ASSERT", "STATIC_ASSERT_JOIN", "STATIC_ASSERT_JOIN_")
    counts = ("TARGET_ARCH", "INSTANCE", "MEMORY", "CHANNEL", "TIMELINE", "POOL")
    yield from ((f"{prefix}_{name}", ("name",)) for name in general)
    yield from ((f"{prefix}_{name}_COUNT", ("name",)) for name in counts)
    for memory in soc.memories:
        yield from ((f"{prefix}_{name}", declared(memory)) for name in _memory(memory))
    for dma in soc.dmas:
        for channel in range(dma.channels):
            yield f"{prefix}_CHANNEL_{dma.name.upper()}_{channel}", ("dma", dma.name)
            yield f"{prefix}_TIMELINE_{dma.name.upper()}_{channel}", ("dma", dma.name)
    yield from ((f"{prefix}_{name}", path) for name, path in _target_archs(soc))
    for mode in soc.modes:
        if mode.name == "default":
            yield from ((pool_name(soc, *pool), ("memory_mode", "default", pool[0])) for pool in pools(mode))


def declared(memory: Memory) -> Path:
    """The path of the declaration a memory comes from."""
    return ("memory", memory.replica_of or memory.name)


def _memory(memory: Memory) -> Iterator[str]:
    name = memory.name.upper()
    yield f"MEMORY_{name}"
    yield f"MEMORY_{name}_BYTES"
    if memory.base is not None:
        yield f"MEMORY_{name}_BASE"
    yield from (f"MEMORY_{name}_BASE_AT_{observer.upper()}" for observer in memory.observers)


def _target_archs(soc: SoC) -> Iterator[Owned]:
    for arch in soc.archs:
        path: Path = ("target_arch", arch.name)
        yield f"TARGET_ARCH_{arch.name.upper()}", path
        yield f"{arch.name.upper()}_INSTANCES", path
    for instance in soc.instances:
        path = ("target_arch", instance.arch.name)
        name = c_identifier(instance.name)
        yield from ((f"{each}_{name}", path) for each in ("INSTANCE", "TIMELINE"))
        yield from ((f"{name}_{each}", path) for each in ("DEVICE_TYPE", "DEVICE_ID"))
