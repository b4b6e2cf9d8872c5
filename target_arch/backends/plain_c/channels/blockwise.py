"""Operators that C computes for some channels: the contract between their forms and a region."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Protocol

from attrs import frozen

from target_arch.backends.plain_c.kernels.text import Inlined
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import DTYPE_BYTES, Tensor
from target_arch.plan.regions.channels import TensorChannels

HEADER = "kernels/channels.h"
"""Declares `ta_channels_copy`."""


@frozen(kw_only=True)
class BlockNames:
    """The C names in a step: pointers to the operand and to the first new channel, or to the sums, elements
    from a pixel there to the next, and the suffix of the parameters for constants. Channels from `n` on are
    computed, `some` of them.
    """

    x: str
    out: str
    apart: str
    suffix: str


class Blockwise(Inlined, Protocol):
    """One that computes some channels."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Their ids."""

    @property
    def read(self) -> TensorChannels:
        """The tensor whose channels it needs."""

    @property
    def image(self) -> TensorChannels:
        """The tensor that it makes."""

    @property
    def whole(self) -> bool:
        """Whether it needs all channels for each of its own, not only the same ones."""

    def functions(self, blocks: Sequence[int]) -> tuple[CFunction, ...]:
        """The functions that its C calls, beside those of headers; `blocks` are the numbers of channels in
        each step.
        """

    def more(self, blocks: Sequence[int]) -> float:
        """The instructions that these steps take more than one call for all channels, by estimate."""

    def call(self, names: BlockNames, blocks: Sequence[int]) -> Iterator[str]:
        """The statements that compute some channels, or add to the sums."""


def channels_of(tensor: Tensor) -> TensorChannels | None:
    """A tensor of 8-bit values as pixels with channels; None for any other."""
    if DTYPE_BYTES[tensor.dtype] != 1 or not tensor.shape:
        return None
    return TensorChannels(name=tensor.name, pixels=prod(tensor.shape[:-1]), channels=tensor.shape[-1])
