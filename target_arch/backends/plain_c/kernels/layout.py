"""How weights are packed for the instruction set of a target_arch.

Each layout is one header of `runtime_c/kernels`, whose comment is the contract; the numbers here are its
numbers. Every form of a header reads the same bytes, so a bundle made for one instruction set computes the
same on every other.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.soc.words import InstructionSet


@frozen(kw_only=True)
class WeightLayout:
    """Blocks of `block` outputs, in each of them groups of `len(order)` consecutive k; `order` is that of the
    k in a group.

    Packed weights are int8 [N / block][K / group][block][group], both rounded up, zeros where there is none.
    """

    name: str
    block: int
    order: tuple[int, ...]
    growth: float = 1.1
    """The most that packing may add to weights, as a factor, beside some KiB."""

    @property
    def header(self) -> str:
        """The header that defines the operations on it."""
        return f"kernels/s8_{self.name}.h"

    @property
    def group(self) -> int:
        """How many k of an output are adjacent."""
        return len(self.order)

    def depth(self, products: int) -> int:
        """The products of an output, rounded up to whole groups."""
        return -(-products // self.group) * self.group

    def size(self, outputs: int, products: int) -> int:
        """How many bytes the packed weights of so many outputs take."""
        return -(-outputs // self.block) * self.block * self.depth(products)

    def packed(self, weights: Any) -> bytes:
        """The bytes of int8 weights [N, K]."""
        outputs, products = weights.shape
        padding = (-outputs % self.block, -products % self.group)
        whole = np.pad(weights, ((0, padding[0]), (0, padding[1])))
        blocks = whole.reshape(whole.shape[0] // self.block, self.block, -1, self.group)
        ordered = blocks.transpose(0, 2, 1, 3)[..., list(self.order)]
        return np.ascontiguousarray(ordered, dtype=np.int8).tobytes()


PAIRS = WeightLayout(name="pairs", block=8, order=(0, 1))
QUADS = WeightLayout(name="quads", block=2, order=(0, 2, 1, 3))
CHUNKS = WeightLayout(name="chunks", block=2, order=tuple(range(16)))
FOURS = WeightLayout(name="fours", block=8, order=(0, 1, 2, 3))
LINES = WeightLayout(name="lines", block=16, order=(0, 1, 2, 3), growth=2)
LAYOUTS = (PAIRS, QUADS, CHUNKS, FOURS, LINES)

_LAYOUTS: Mapping[InstructionSet, WeightLayout] = {
    InstructionSet.ARMV7E_M: QUADS,
    InstructionSet.ARMV8_1_M: CHUNKS,
    InstructionSet.AARCH64: FOURS,
    InstructionSet.X86_64: LINES,
}
"""Layouts of the instruction sets that have one of their own."""


def layout_of(isa: InstructionSet) -> WeightLayout:
    """The layout of weights for an instruction set."""
    return _LAYOUTS.get(isa, PAIRS)
