"""Rules about copy paths: their ends, their engine, their duties, and where they lead together."""

from collections.abc import Iterator

from target_arch.diagnostics import listed
from target_arch.soc.c_names import declared
from target_arch.soc.faults import Fault, Path, Related
from target_arch.soc.model import HOST_ENGINE, CopyPath, Instance, Memory, SoC
from target_arch.soc.rules.memory import named
from target_arch.soc.rules.references import ALL_MEMORIES, declared_name, named_in_list

_ALL_COPIES: Path = ("copy",)


def _to_itself(soc: SoC) -> Iterator[Fault]:
    for index, copy in enumerate(soc.copies):
        if copy.source == copy.target and copy.engine == HOST_ENGINE:
            name = declared_name(soc, copy.source)
            message = f"this copy path leads from memory `{name}` to itself"
            path: Path = ("copy", index, "to")
            yield Fault(
                rule="copy-to-itself", path=path, message=message, uses=(path, ("copy", index, "from"))
            )


def _duplicate(soc: SoC) -> Iterator[Fault]:
    first: dict[tuple[str, str, str], int] = {}
    for index, copy in enumerate(soc.copies):
        earlier = first.setdefault((copy.source, copy.target, copy.engine), index)
        if earlier != index:
            message = f"{_ends(soc, copy)} by `{copy.engine}` is declared twice"
            related = Related(path=("copy", earlier, "to"), message="the first one is here")
            uses = (("copy", index), ("copy", earlier))
            path: Path = ("copy", index, "to")
            yield Fault(rule="duplicate-copy", path=path, message=message, related=(related,), uses=uses)


def _cpu_ends(soc: SoC) -> Iterator[Fault]:
    for index, copy in enumerate(soc.copies):
        if copy.engine != HOST_ENGINE:
            continue
        for key, name in (("from", copy.source), ("to", copy.target)):
            for memory in named(soc, name):
                if memory.base is None:
                    path: Path = ("copy", index, key)
                    message = f"the host copies here, but cannot see memory `{declared_name(soc, name)}`"
                    hint = f"name the DMA engine that does it: {listed(dma.name for dma in soc.dmas)}"
                    uses = (("copy", index, "engine"), path, (*declared(memory), "base"))
                    yield Fault(
                        rule="cpu-copy-not-visible",
                        path=path,
                        message=message,
                        hint=hint if soc.dmas else "declare a DMA engine and name it as `engine`",
                        uses=uses,
                    )


def _unused_dma(soc: SoC) -> Iterator[Fault]:
    used = {copy.engine for copy in soc.copies}
    for dma in soc.dmas:
        if dma.name not in used:
            message = f"no copy path uses DMA engine `{dma.name}`"
            path: Path = ("dma", dma.name)
            yield Fault(rule="unused-dma", path=path, message=message, uses=(_ALL_COPIES, path), at_key=True)


def _block(soc: SoC) -> Iterator[Fault]:
    for index, copy in enumerate(soc.copies):
        if copy.max_bytes is not None and copy.max_bytes % copy.alignment:
            path: Path = ("copy", index, "max_bytes")
            message = f"`max_bytes`, {copy.max_bytes} B, is no multiple of `alignment`, {copy.alignment} B"
            hint = f"the next lower multiple is {copy.max_bytes // copy.alignment * copy.alignment}"
            uses = (path, ("copy", index, "alignment"))
            yield Fault(rule="copy-block", path=path, message=message, hint=hint, uses=uses)


def _cache_duty(soc: SoC) -> Iterator[Fault]:
    for index, copy in enumerate(soc.copies):
        path: Path = ("copy", index, "cache")
        ends = ((copy.cache.cleans, copy.source), (copy.cache.invalidates, copy.target))
        for name in (name for owed, name in ends if owed):
            for memory in named(soc, name):
                reason = _no_duty(soc, copy, memory)
                if reason is not None:
                    message = f"cache duty `{copy.cache}` is useless: {reason}"
                    uses = (path, ("copy", index, "engine"), (*declared(memory), "cached"))
                    yield Fault(rule="useless-cache-duty", path=path, message=message, uses=uses)


def _no_duty(soc: SoC, copy: CopyPath, memory: Memory) -> str | None:
    if copy.engine == HOST_ENGINE:
        return "the host copies through its cache"
    if not memory.cached:
        return f"memory `{declared_name(soc, memory.name)}` is not cached"
    return None


def _unreachable(soc: SoC) -> Iterator[Fault]:
    links = [(copy.source, copy.target) for copy in soc.copies]
    for instance, memory in _operand_memories(soc):
        if memory.name not in _reached(soc, instance, links):
            name = memory.replica_of or memory.name
            message = f"no copy path leads from a memory the host sees to memory `{name}`"
            hint = f'add a `[[copy]]` with `to = "{name}"`{_detour(soc, memory.name, links)}'
            path = declared(memory)
            yield Fault(
                rule="unreachable-memory",
                path=path,
                message=message,
                hint=hint,
                uses=(_ALL_COPIES, ALL_MEMORIES, (*path, "base"), (*path, "observers")),
                at_key=True,
            )


def _no_way_back(soc: SoC) -> Iterator[Fault]:
    links = [(copy.target, copy.source) for copy in soc.copies]
    for instance in soc.instances:
        names = [name for name in instance.memory if named(soc, name)]
        if names and not _reached(soc, instance, links) & set(names):
            arch = instance.arch
            path: Path = ("target_arch", arch.name, "memory")
            declared_names = listed(name for _, name in named_in_list(soc, path, arch.memory))
            where = f"{declared_names} of target_arch `{arch.name}`"
            message = f"no copy path leads from {where} to a memory the host sees"
            uses = (_ALL_COPIES, ALL_MEMORIES, path)
            yield Fault(rule="no-way-back", path=path, message=message, uses=uses)


def _operand_memories(soc: SoC) -> Iterator[tuple[Instance, Memory]]:
    """The memories that copies must reach, with the instance that works there.

    An instance that works in a memory of the host fills its buffers by itself.
    """
    for instance in soc.instances:
        own = [memory for name in instance.memory for memory in named(soc, name)]
        yield from ((instance, memory) for memory in own)
        if all(memory.base is None for memory in own):
            for name in dict.fromkeys(instance.buffers.values()):
                yield from ((instance, memory) for memory in named(soc, name) if memory not in own)


def _reached(soc: SoC, instance: Instance, links: list[tuple[str, str]]) -> set[str]:
    """The memories that copies lead to from those of the host. Bytes rest on their way in memories that the
    host sees, or where another target_arch works, but nowhere inside of the instance's own.
    """
    resting = {memory.name for memory in soc.memories if memory.base is not None}
    reached = set(resting)
    resting |= {name for each in soc.instances if each.arch != instance.arch for name in each.memory}
    while more := {target for source, target in links if source in reached & resting} - reached:
        reached |= more
    return reached


def _detour(soc: SoC, memory: str, links: list[tuple[str, str]]) -> str:
    """The addition to the hint where a path ends there that starts in a memory of the same target_arch."""
    sources = sorted({declared_name(soc, source) for source, target in links if target == memory})
    return f"; tensors do not rest in {listed(sources)} on their way" if sources else ""


def _ends(soc: SoC, copy: CopyPath) -> str:
    return f"copy path from `{declared_name(soc, copy.source)}` to `{declared_name(soc, copy.target)}`"


COPIES = (
    _to_itself,
    _duplicate,
    _cpu_ends,
    _unused_dma,
    _block,
    _cache_duty,
    _unreachable,
    _no_way_back,
)
