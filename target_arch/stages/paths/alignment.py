"""The alignment of buffers: every copy path of their memory must be able to carry them."""

from math import lcm

from target_arch.plan.kernels import TENSOR_ALIGNMENT
from target_arch.soc.model import SoC


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where they matter."""
    return lcm(TENSOR_ALIGNMENT, soc.own_line(memory), _carried(soc, memory))


def part_alignment(soc: SoC, memory: str) -> int:
    """The alignment of a tensor inside the buffer of another one. Cores read slices where they are, whatever
    the number of their elements: vectors across cache lines take less than a copy of what another core wrote.
    """
    return _carried(soc, memory) if soc.is_of_cores(memory) else least_alignment(soc, memory)


def _carried(soc: SoC, memory: str) -> int:
    return lcm(*(path.alignment for path in soc.copies if memory in (path.source, path.target)))
