"""The alignment of buffers: every copy path of their memory must be able to carry them."""

from math import lcm

from target_arch.plan.kernels import TENSOR_ALIGNMENT
from target_arch.soc.model import SoC
from target_arch.soc.words import InstructionSet

_VECTORS = ((InstructionSet.X86_64, 64), (InstructionSet.HVXV67, 128))
"""Bytes of the longest vectors. On x86-64 they are lines of a cache: one across two lines is read twice, and
weights of 8 bits for AMX took a dense layer 1.25 times as long. Code for HVX loads constants and scratch
where whole vectors begin.
"""


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where they matter."""
    return lcm(_least(soc, memory), *_vectors(soc, memory))


def part_alignment(soc: SoC, memory: str) -> int:
    """The alignment of a tensor inside the buffer of another one. Cores read slices where they are, whatever
    the number of their elements: vectors across cache lines take less than a copy of what another core wrote.
    """
    return _carried(soc, memory) if soc.is_of_cores(memory) else _least(soc, memory)


def _least(soc: SoC, memory: str) -> int:
    return lcm(TENSOR_ALIGNMENT, soc.own_line(memory), _carried(soc, memory))


def _vectors(soc: SoC, memory: str) -> tuple[int, ...]:
    """The bytes of vectors of the cores that work in a memory."""
    sets = {arch.isa for arch in soc.archs if memory in arch.memory}
    return tuple(size for isa, size in _VECTORS if isa in sets)


def _carried(soc: SoC, memory: str) -> int:
    return lcm(*(path.alignment for path in soc.copies if memory in (path.source, path.target)))
