"""Operators that C computes for some lines of their output: the contract between their forms and a region.

Lines are those of the region's innermost cut: rows, columns of images of one row, or channels.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from target_arch.backends.plain_c.kernels.joining import few_operands
from target_arch.backends.plain_c.kernels.text import Inlined
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import DTYPE_BYTES, Model, Tensor
from target_arch.plan.regions.cut import Axis
from target_arch.plan.regions.lines import LineWindow, TensorLines

ROWS_HEADER, CHANNELS_HEADER = "kernels/rows.h", "kernels/channels.h"
"""Declare `ta_rows`, and `ta_channels_copy`."""

Turns = Mapping[int, int]
"""How many turns there are, by the lines that they make: the usual number first."""


@frozen(kw_only=True)
class FusedOperators:
    """Operators that become one call for a range of lines: one, or two where the second adds a tensor. As
    `Producer`, without operators they are copied, and those that accumulate take lines in.
    """

    operators: tuple[str, ...]
    reads: tuple[LineWindow, ...]
    image: TensorLines
    accumulates: bool = False


class Linewise(Inlined, Protocol):
    """One that computes some lines."""

    @property
    def unit(self) -> FusedOperators:
        """The tensors that it reads and makes."""

    def functions(self, turns: Turns) -> tuple[CFunction, ...]:
        """The functions that its C calls in these turns, beside those of headers."""

    def more(self, turns: Turns) -> float:
        """The instructions that turns take more than one call for all lines, by estimate."""


@frozen(kw_only=True)
class TurnNames:
    """The C names in a turn: its output and its operands as `ta_rows`, the pointer to the first new row, and
    the suffix of the parameters for constants. Rows from `own.done` on up to `to` are computed.
    """

    own: str
    reads: tuple[str, ...]
    place: str
    suffix: str


class Rowwise(Linewise, Protocol):
    """One that computes some rows, or columns of images of one row: lines with their bytes together."""

    @property
    def cycles(self) -> float:
        """The instructions of one call for all rows, by estimate."""

    def constant(self, names: TurnNames) -> Iterator[str]:
        """Constants of its turn."""

    def call(self, names: TurnNames) -> Iterator[str]:
        """The statements that compute the rows."""


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


class Channelwise(Linewise, Protocol):
    """One that computes some channels."""

    def call(self, names: BlockNames, turns: Turns) -> Iterator[str]:
        """The statements that compute some channels, or add to the sums."""


def line_axis(tensor: Tensor, axis: Axis) -> int | None:
    """The axis of a tensor's lines; None where it has none.

    Rows are along the height of one image NHWC, else along the first axis of several elements, but not the
    last. Columns are those of one image of one row. Channels are along the last axis, of 8-bit values.
    """
    shape = tensor.shape
    if axis is Axis.CHANNELS:
        return len(shape) - 1 if shape and DTYPE_BYTES[tensor.dtype] == 1 else None
    if axis is Axis.COLUMNS:
        return 2 if len(shape) == 4 and shape[:2] == (1, 1) else None
    if len(shape) == 4:
        return 1 if shape[0] == 1 else None
    return next((place for place, extent in enumerate(shape[:-1]) if extent > 1), None)


def lines_of(tensor: Tensor, axis: Axis) -> TensorLines:
    """The lines of a tensor that has some."""
    place = line_axis(tensor, axis)
    assert place is not None
    lines = tensor.shape[place]
    return TensorLines(name=tensor.name, lines=lines, line_bytes=tensor.bytes // lines)


def closed(units: Sequence[Linewise], model: Model) -> bool:
    """True if these can be one call: no other operator reads a tensor in between, each is read, and the call
    has no more operands than any may.
    """
    read = [window.tensor.name for unit in units for window in unit.unit.reads]
    kept = set(model.kept)
    names = [unit.unit.image.name for unit in units[:-1]]
    return few_operands({*read} - {*names}, units) and all(
        name not in kept and read.count(name) and read.count(name) == model.uses[name] for name in names
    )
