"""Operators that C computes for any rows of their output: the contract between their forms and a region."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from attrs import frozen

from target_arch.backends.plain_c.kernels.text import Parameter
from target_arch.backends.plain_c.stripes.schedule import Unit
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Tensor
from target_arch.plan.regions.stripes import Image

HEADER = "kernels/rows.h"
"""Declares `ta_rows`."""


@frozen(kw_only=True)
class Names:
    """The C names in a turn: its output and its operands as `ta_rows`, the pointer to the first new row, and
    the suffix of the parameters for constants. Rows from `own.done` on up to `to` are computed.
    """

    own: str
    reads: tuple[str, ...]
    place: str
    suffix: str


class Rowwise(Protocol):
    """One operator, or it and the addition after it, as C in a region."""

    @property
    def unit(self) -> Unit:
        """What it reads and makes."""

    @property
    def inside(self) -> tuple[Parameter, ...]:
        """The parameters for its constants, without their suffix."""

    @property
    def constants(self) -> tuple[str, ...]:
        """The tensors that these are given."""

    @property
    def packed(self) -> tuple[Tensor, ...]:
        """Those of them that the model has not."""

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that its C needs."""

    @property
    def functions(self) -> tuple[CFunction, ...]:
        """The functions that its C calls, beside those of headers."""

    def more(self, turns: Mapping[int, int]) -> float:
        """The instructions that turns take more than one call for all rows, by estimate; `turns` are how many
        there are, by their rows.
        """

    def constant(self, names: Names) -> Iterator[str]:
        """Constants of its turn."""

    def call(self, names: Names) -> Iterator[str]:
        """The statements that compute the rows."""


def image_of(tensor: Tensor) -> Image:
    """The rows of an image NHWC."""
    return Image(name=tensor.name, rows=tensor.shape[1], row_bytes=tensor.bytes // tensor.shape[1])


def is_image(tensor: Tensor) -> bool:
    """Whether a tensor is one image."""
    return len(tensor.shape) == 4 and tensor.shape[0] == 1
