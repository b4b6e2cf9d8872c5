"""Bytes of buffers, for the checker alone: which bytes a slice has, which were written."""

import numpy as np
from numpy.typing import NDArray

from target_arch.plan.kernels import Slice


class Written:
    """Which bytes of a buffer were written. Whole buffers need no array."""

    def __init__(self, size: int, everything: bool) -> None:
        self._size, self._everything = size, everything
        self._bytes: NDArray[np.bool_] | None = None

    def write(self, part: Slice) -> None:
        """The bytes of the slice are written."""
        if self._everything or (part.rows == 1 and part.row_bytes == self._size):
            self._everything, self._bytes = True, None
            return
        if self._bytes is None:
            self._bytes = np.zeros(self._size, dtype=np.bool_)
        self._bytes[_picked(part)] = True
        if self._bytes.all():
            self._everything, self._bytes = True, None

    def covers(self, part: Slice) -> bool:
        """True where all bytes of the slice were written."""
        return self._everything or (self._bytes is not None and bool(self._bytes[_picked(part)].all()))

    @property
    def complete(self) -> bool:
        """True where every byte was written."""
        return self._everything


def meet(one: Slice, other: Slice) -> bool:
    """True where two slices of one buffer have a byte in common: by listing the bytes, where their ranges
    meet.
    """
    if one.offset >= other.end or other.offset >= one.end:
        return False
    if one.rows == 1 and other.rows == 1:
        return True
    return bool(np.intersect1d(_listed(one), _listed(other)).size)


def _picked(part: Slice) -> slice | NDArray[np.int64]:
    return slice(part.offset, part.end) if part.rows == 1 else _listed(part)


def _listed(part: Slice) -> NDArray[np.int64]:
    """The byte offsets of a slice."""
    rows = np.arange(part.rows) * part.stride
    return (part.offset + rows[:, None] + np.arange(part.row_bytes)).ravel()
