"""Copies that the host can make although no table declares them.

The host reads and writes every memory that it sees. Where a memory mode has its workspace in one of them and
the model's inputs and outputs in another, results have to get there, and no description needs to say so.
Tests: `tests/soc/test_host_copies.py`.
"""

from collections.abc import Iterator

from attrs import evolve

from target_arch.soc.model import CopyPath, Memory, MemoryMode, SoC


def with_host_copies(soc: SoC) -> SoC:
    """The SoC with a copy path by the CPU to each memory of outputs that no declared path leads to from the
    workspace; the same SoC where there is no such memory.
    """
    found = dict.fromkeys(path for mode in soc.modes for path in _missing(soc, mode))
    return evolve(soc, copies=(*soc.copies, *found)) if found else soc


def _missing(soc: SoC, mode: MemoryMode) -> Iterator[CopyPath]:
    work = [name for name in mode.workspace if _is_hosts(soc.memory(name))]
    reached = {*work}
    while more := {path.target for path in soc.copies if path.source in reached} - reached:
        reached |= more
    for name in mode.io:
        if work and name not in reached and _is_hosts(soc.memory(name)):
            yield CopyPath(source=work[0], target=name)


def _is_hosts(memory: Memory) -> bool:
    return memory.base is not None and memory.writable
