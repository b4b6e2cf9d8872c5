"""Bytes by number. Every byte of every value has a number of its own, so two places hold the same bytes where
they hold the same numbers, whatever the values are.

Numbers are in runs of neighbours: an array of two rows, the first number of each run and its length. Equal
numbers have equal runs.
"""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from target_arch.plan.kernels import Slice

Runs = NDArray[np.int64]


class ByteNumbers:
    """The numbers given out so far, each with the value whose byte it is."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._values: list[str] = []
        self._next = 0

    def take(self, size: int, value: str) -> int:
        """The first of so many new numbers, for the bytes of a value."""
        self._firsts.append(self._next)
        self._values.append(value)
        self._next += size
        return self._firsts[-1]

    def owners(self, runs: Runs) -> tuple[int, ...]:
        """Which values, counted from 0 in the order in which they were taken, the numbers belong to."""
        found: dict[int, None] = {}
        for first, count in runs.T.tolist():
            value = bisect_right(self._firsts, first) - 1
            while value < len(self._firsts) and self._firsts[value] < first + count:
                found[value] = None
                value += 1
        return tuple(found)

    def told(self, runs: Runs) -> str:
        """The first bytes that these numbers are, in words."""
        first, count = (int(row[0]) for row in runs)
        number = bisect_right(self._firsts, first) - 1
        more = " and others" if runs.shape[1] > 1 else ""
        return f"`{self._values[number]}[{first - self._firsts[number]}:+{count}]`{more}"


class Content:
    """The numbers of the bytes of a tensor or a buffer: one run while it was only written whole, else one by
    one.
    """

    def __init__(self, size: int, first: int) -> None:
        self._size, self._first = size, first
        self._each: Runs | None = None

    def read(self, part: Slice) -> Runs:
        """The numbers of the bytes of a slice, row after row."""
        if self._each is not None:
            return runs_of(self._each[places(part)])
        if part.rows == 1 or part.stride == part.row_bytes:
            return one_run(self._first + part.offset, part.bytes)
        starts = self._first + part.offset + np.arange(part.rows, dtype=np.int64) * part.stride
        return np.stack((starts, np.full(part.rows, part.row_bytes, dtype=np.int64)))

    def write(self, part: Slice, runs: Runs) -> None:
        """The bytes of a slice are now those with these numbers, row after row."""
        if part.bytes == self._size and part.rows == 1 and runs.shape[1] == 1:
            self._first, self._each = int(runs[0, 0]), None
            return
        if self._each is None:
            self._each = self._first + np.arange(self._size, dtype=np.int64)
        self._each[places(part)] = _listed(runs)

    @property
    def whole(self) -> Runs:
        """The numbers of all bytes."""
        return one_run(self._first, self._size) if self._each is None else runs_of(self._each)


def one_run(first: int, count: int) -> Runs:
    """So many numbers from the first on."""
    return np.array(((first,), (count,)), dtype=np.int64)


def places(part: Slice) -> slice | NDArray[np.int64]:
    """The bytes of a slice, as an index of an array."""
    if part.rows == 1:
        return slice(part.offset, part.end)
    rows = part.offset + np.arange(part.rows, dtype=np.int64) * part.stride
    return (rows[:, None] + np.arange(part.row_bytes, dtype=np.int64)).ravel()


def runs_of(each: NDArray[np.int64]) -> Runs:
    """The runs of numbers that are listed one by one."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(each) != 1) + 1))
    return np.stack((each[starts], np.diff(np.append(starts, each.size))))


def same(one: Runs, other: Runs) -> bool:
    """True where both are the same numbers in the same order."""
    return bool(np.array_equal(one, other))


def picked(runs: Runs, elements: NDArray[np.int64], size: int) -> Runs:
    """The runs of these elements, each of so many bytes, in that order."""
    numbers = _listed(runs).reshape(-1, size)
    return runs_of(numbers[elements].ravel())


def _listed(runs: Runs) -> NDArray[np.int64]:
    first, count = runs
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()), dtype=np.int64)
