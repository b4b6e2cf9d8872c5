"""The memories of the host that cores share with it: `shares` of a SoC file makes them observers, at the
host's addresses.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve

from target_arch.diagnostics import name_hint
from target_arch.soc.faults import Fault, Path
from target_arch.soc.model import Memory


def with_shared(
    memories: Iterable[Memory], shares: Mapping[str, tuple[str, ...]], faults: list[Fault]
) -> tuple[Memory, ...]:
    """The memories, observed by the cores that share them. `shares` are declared names by target_arch; those
    of memories that are not there, or that the host does not see, become faults.
    """
    known = {memory.replica_of or memory.name: memory.base for memory in memories}
    for arch, names in shares.items():
        for index, name in enumerate(names):
            path: Path = ("target_arch", arch, "cores", "shares", index)
            if name not in known:
                message, hint = f"memory `{name}` is not declared", name_hint(name, known, "declared here")
                faults.append(Fault(rule="unknown-memory", path=path, message=message, hint=hint))
            elif known[name] is None:
                faults.append(_unseen(path, arch, name, known))
    return tuple(
        evolve(memory, observers={**_sharing(memory, shares), **memory.observers}) for memory in memories
    )


def _sharing(memory: Memory, shares: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    if memory.base is None:
        return {}
    name = memory.replica_of or memory.name
    return {arch: memory.base for arch, names in shares.items() if name in names}


def _unseen(path: Path, arch: str, name: str, known: Mapping[str, int | None]) -> Fault:
    seen = [f"`{each}`" for each in known if known[each] is not None]
    return Fault(
        rule="not-shared",
        path=path,
        message=f"the cores of `{arch}` share memory `{name}` with the host, which cannot see it",
        hint=f"the host sees {', '.join(seen)}" if seen else "give it a `base`, the host's address",
        uses=(("memory", name, "base"),),
    )
