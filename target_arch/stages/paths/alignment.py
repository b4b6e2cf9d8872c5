"""The alignment of buffers: every copy path of their memory must be able to carry them."""

from math import lcm

from target_arch.plan.kernels import TENSOR_ALIGNMENT
from target_arch.soc.model import SoC


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where they matter."""
    paths = (path for path in soc.copies if memory in (path.source, path.target))
    return lcm(TENSOR_ALIGNMENT, soc.own_line(memory), *(path.alignment for path in paths))
