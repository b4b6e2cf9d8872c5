"""Rules about memories: addresses, observers and uses."""

from collections.abc import Iterable, Iterator

from target_arch.diagnostics import listed
from target_arch.soc.c_names import PURPOSES, declared
from target_arch.soc.faults import Fault, Path, Related
from target_arch.soc.model import Memory, SoC, TargetArch
from target_arch.soc.rules.references import declared_name, named_in_list

_ADDRESSES = 2**64

Placed = tuple[int, Memory, Path]
"""The address of a memory for one observer, and the path that gives it."""


def named(soc: SoC, name: str) -> tuple[Memory, ...]:
    """The memory of that name, or the replicas it was expanded into; empty where there is none."""
    return tuple(memory for memory in soc.memories if name in (memory.name, memory.replica_of))


def _unobserved(soc: SoC) -> Iterator[Fault]:
    for memory in soc.memories:
        if memory.base is None and not memory.observers:
            path = declared(memory)
            message = f"no target_arch can see memory `{path[1]}`"
            hint = "give it a `base` (the host's address) or `observers`"
            yield Fault(rule="unobserved-memory", path=path, message=message, hint=hint, uses=(path,))


def _host_address(soc: SoC) -> Iterator[Fault]:
    hosts = [arch.name for arch in soc.archs if arch.host]
    for memory in soc.memories:
        for host in hosts:
            if host in memory.observers:
                path = (*declared(memory), "observers", host)
                message = f"the host `{host}` is among the observers of memory `{path[1]}`"
                hint = "the host's address is `base`"
                yield Fault(rule="host-address", path=path, message=message, hint=hint, at_key=True)


def _overlaps(soc: SoC) -> Iterator[Fault]:
    placed = [(memory.base, memory, _base_path(memory)) for memory in soc.memories if memory.base is not None]
    yield from _overlapping(placed, "the host")
    for arch in soc.archs:
        seen = {
            declared(memory): (memory.observers[arch.name], memory, _observer_path(memory, arch.name))
            for memory in soc.memories
            if arch.name in memory.observers
        }
        yield from _overlapping(list(seen.values()), f"`{arch.name}`")


def _overlapping(placed: list[Placed], observer: str) -> Iterator[Fault]:
    """Neighbours in the order of their addresses, each against the one that reaches farthest before it."""
    farthest: Placed | None = None
    for current in sorted(placed, key=lambda item: item[0]):
        start, memory, path = current
        uses = (path, (*declared(memory), "size"))
        if start + memory.size > _ADDRESSES:
            message = f"memory `{_declared(memory)}` ends behind the last 64-bit address"
            yield Fault(rule="address-range", path=path, message=message, uses=uses)
        if farthest is not None and start < farthest[0] + farthest[1].size:
            yield _overlap(current, farthest, observer, uses)
        if farthest is None or start + memory.size > farthest[0] + farthest[1].size:
            farthest = current


def _overlap(one: Placed, other: Placed, observer: str, uses: tuple[Path, ...]) -> Fault:
    (_, memory, path), (other_start, other_memory, other_path) = one, other
    first, second = _declared(memory), _declared(other_memory)
    message = f"memory `{first}` overlaps memory `{second}` in the addresses of {observer}"
    end = other_start + other_memory.size
    note = f"`{second}` takes {other_start:#x} up to {end - 1:#x}"
    return Fault(
        rule="address-overlap",
        path=path,
        message=message,
        hint=f"`{first}` may start at {end:#x}",
        related=(Related(path=other_path, message=note),),
        uses=(*uses, other_path, (*declared(other_memory), "size")),
    )


def _partial_line(soc: SoC) -> Iterator[Fault]:
    """A line at an end of the memory would hold bytes of its neighbour."""
    for memory in soc.memories:
        line = soc.own_line(memory.name)
        for key, number in (("base", memory.base or 0), ("size", memory.size)):
            if number % line:
                path: Path = (*declared(memory), key)
                message = f"the `{key}` of memory `{path[1]}` is no multiple of its cache lines of {line} B"
                uses = (path, (*declared(memory), "cached"), (*declared(memory), "cache_line"))
                yield Fault(rule="partial-line", path=path, message=message, uses=uses)


def _not_observed(soc: SoC) -> Iterator[Fault]:
    for arch in soc.archs:
        for path, name in _worked_in(soc, arch):
            for memory in named(soc, name):
                if arch.name not in memory.observers and not (arch.host and memory.base is not None):
                    message = f"target_arch `{arch.name}` works in memory `{name}`, which it cannot see"
                    wanted = "give it a `base`" if arch.host else f"add `{arch.name}` to its `observers`"
                    yield Fault(
                        rule="not-observed",
                        path=path,
                        message=message,
                        hint=wanted,
                        related=(Related(path=declared(memory), message=f"`{name}` is declared here"),),
                        uses=(
                            path,
                            (*declared(memory), "observers"),
                            (*declared(memory), "base"),
                            ("target_arch", arch.name, "host"),
                            ("target_arch", arch.name, "cores"),
                        ),
                    )


def _read_only(soc: SoC) -> Iterator[Fault]:
    for memory in soc.memories:
        if not memory.writable and memory.write_bandwidth is not None:
            path = (*declared(memory), "write_bandwidth")
            message = f"memory `{path[1]}` is not writable, but has a write bandwidth"
            yield _not_writable(path, message, memory)
    written = [
        (path, name, f"target_arch `{arch.name}` puts results in memory `{name}`")
        for arch in soc.archs
        for path, name in _worked_in(soc, arch)
    ]
    written += [
        (
            ("copy", index, "to"),
            copy.target,
            f"a copy path leads to memory `{declared_name(soc, copy.target)}`",
        )
        for index, copy in enumerate(soc.copies)
    ]
    written += [
        (path, name, f"memory mode `{mode.name}` puts tensors in memory `{name}`")
        for mode in soc.modes
        for purpose in ("workspace", "io")
        for path, name in named_in_list(soc, ("memory_mode", mode.name, purpose), getattr(mode, purpose))
    ]
    for path, name, message in written:
        for memory in named(soc, name):
            if not memory.writable:
                yield _not_writable(path, f"{message}, which is not writable", memory)


def _not_writable(path: Path, message: str, memory: Memory) -> Fault:
    writable = (*declared(memory), "writable")
    related = Related(path=writable, message=f"`{_declared(memory)}` is not writable")
    return Fault(rule="read-only", path=path, message=message, related=(related,), uses=(path, writable))


def _pools(soc: SoC) -> Iterator[Fault]:
    for mode in soc.modes:
        for purpose in PURPOSES:
            path = ("memory_mode", mode.name, purpose)
            for place, name in named_in_list(soc, path, getattr(mode, purpose)):
                for memory in named(soc, name):
                    if memory.base is None:
                        message = (
                            f"memory mode `{mode.name}` puts {_put(purpose)} in `{name}`, unseen by the host"
                        )
                        hint = f"the host sees {listed(_visible(soc))}"
                        base = (*declared(memory), "base")
                        yield Fault(
                            rule="pool-not-visible",
                            path=place,
                            message=message,
                            hint=hint,
                            uses=(place, base),
                        )


def _host_workspace(soc: SoC) -> Iterator[Fault]:
    hosts = [arch for arch in soc.archs if arch.host]
    for host in hosts[:1]:
        for mode in soc.modes:
            if not set(host.memory) & set(mode.workspace):
                path: Path = ("memory_mode", mode.name, "workspace")
                theirs: Path = ("target_arch", host.name, "memory")
                message = f"memory mode `{mode.name}` has no workspace in a memory of the host `{host.name}`"
                related = Related(path=theirs, message=f"`{host.name}` works in these")
                uses = (path, theirs)
                yield Fault(rule="host-workspace", path=path, message=message, related=(related,), uses=uses)


def _worked_in(soc: SoC, arch: TargetArch) -> Iterator[tuple[Path, str]]:
    path: Path = ("target_arch", arch.name)
    yield from named_in_list(soc, (*path, "memory"), arch.memory)
    listed_already = {declared_name(soc, name) for name in arch.memory}
    for buffer, name in arch.buffers.items():
        if declared_name(soc, name) not in listed_already:
            yield (*path, "buffers", buffer), declared_name(soc, name)


def _visible(soc: SoC) -> Iterable[str]:
    return dict.fromkeys(_declared(memory) for memory in soc.memories if memory.base is not None)


def _put(purpose: str) -> str:
    return {"workspace": "intermediate tensors", "io": "inputs and outputs"}.get(purpose, purpose)


def _declared(memory: Memory) -> str:
    return memory.replica_of or memory.name


def _base_path(memory: Memory) -> Path:
    return (*declared(memory), "base")


def _observer_path(memory: Memory, observer: str) -> Path:
    return (*declared(memory), "observers", observer)


MEMORY = (
    _unobserved,
    _host_address,
    _overlaps,
    _partial_line,
    _not_observed,
    _read_only,
    _pools,
    _host_workspace,
)
