"""Operators that C computes for any rows of their output: the contract between their forms and a region."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from attrs import frozen

from target_arch.backends.plain_c.kernels.text import Inlined
from target_arch.backends.plain_c.stripes.schedule import FusedOperators
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Tensor
from target_arch.plan.regions.stripes import TensorRows

HEADER = "kernels/rows.h"
"""Declares `ta_rows`."""


@frozen(kw_only=True)
class TurnNames:
    """The C names in a turn: its output and its operands as `ta_rows`, the pointer to the first new row, and
    the suffix of the parameters for constants. Rows from `own.done` on up to `to` are computed.
    """

    own: str
    reads: tuple[str, ...]
    place: str
    suffix: str


class Rowwise(Inlined, Protocol):
    """One that computes some rows."""

    @property
    def unit(self) -> FusedOperators:
        """The tensors that it reads and makes."""

    @property
    def functions(self) -> tuple[CFunction, ...]:
        """The functions that its C calls, beside those of headers."""

    @property
    def cycles(self) -> float:
        """The instructions of one call for all rows, by estimate."""

    def more(self, turns: Mapping[int, int]) -> float:
        """The instructions that turns take more than one call for all rows, by estimate; `turns` are how many
        there are, by their rows.
        """

    def constant(self, names: TurnNames) -> Iterator[str]:
        """Constants of its turn."""

    def call(self, names: TurnNames) -> Iterator[str]:
        """The statements that compute the rows."""


def row_axis(tensor: Tensor) -> int | None:
    """The axis of a tensor's rows: the height of one image NHWC, else the first of several elements, but not
    the last; None where the tensor has no rows.
    """
    shape = tensor.shape
    if len(shape) == 4:
        return 1 if shape[0] == 1 else None
    return next((axis for axis, extent in enumerate(shape[:-1]) if extent > 1), None)


def rows_of(tensor: Tensor) -> TensorRows:
    """The rows of a tensor that has some."""
    axis = row_axis(tensor)
    assert axis is not None
    rows = tensor.shape[axis]
    return TensorRows(name=tensor.name, rows=rows, row_bytes=tensor.bytes // rows)
