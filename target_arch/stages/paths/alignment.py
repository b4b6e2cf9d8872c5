"""The alignment of buffers: every copy path of their memory must be able to carry them."""

from math import lcm

from target_arch.plan.kernels import TENSOR_ALIGNMENT
from target_arch.soc.model import SoC
from target_arch.soc.words import InstructionSet

_VECTORS = 64
"""Bytes of a line of a cache of x86-64, and of its longest vectors: one across two lines is read twice, and
weights of 8 bits for AMX took a dense layer 1.25 times as long.
"""


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where they matter."""
    return lcm(_least(soc, memory), _VECTORS if _has_long_vectors(soc, memory) else 1)


def part_alignment(soc: SoC, memory: str) -> int:
    """The alignment of a tensor inside the buffer of another one. Cores read slices where they are, whatever
    the number of their elements: vectors across cache lines take less than a copy of what another core wrote.
    """
    return _carried(soc, memory) if soc.is_of_cores(memory) else _least(soc, memory)


def _least(soc: SoC, memory: str) -> int:
    return lcm(TENSOR_ALIGNMENT, soc.own_line(memory), _carried(soc, memory))


def _has_long_vectors(soc: SoC, memory: str) -> bool:
    return any(arch.isa is InstructionSet.X86_64 and memory in arch.memory for arch in soc.archs)


def _carried(soc: SoC, memory: str) -> int:
    return lcm(*(path.alignment for path in soc.copies if memory in (path.source, path.target)))
