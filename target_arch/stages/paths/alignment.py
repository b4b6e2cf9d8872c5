"""The alignment of buffers: every copy path of their memory must be able to carry them."""

from math import lcm

from target_arch.soc.model import SoC
from target_arch.soc.words import CacheDuty

ALIGNMENT = 16
"""Bytes to which every tensor is aligned, so that kernels may use vector loads."""

CACHE_LINE = 64
"""Alignment of buffers in a cached memory with cache duties, so that no two buffers share a line."""


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where one has a cache duty."""
    paths = [path for path in soc.copies if memory in (path.source, path.target)]
    duties = any(path.cache != CacheDuty.NONE for path in paths) and soc.memory(memory).cached
    return lcm(ALIGNMENT, CACHE_LINE if duties else 1, *(path.alignment for path in paths))
