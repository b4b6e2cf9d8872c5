"""Bytes by number. Every byte of every value has a number of its own, so two places hold the same bytes where
they hold the same numbers, whatever the values are.

Numbers are in runs of neighbours: an array of two rows, the first number of each run and its length. Equal
numbers have equal runs.
"""

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from target_arch.plan.kernels import Slice

Numbers = NDArray[np.int64]
Runs = Numbers


class ByteNumbers:
    """The numbers given out so far, each with the value whose byte it is."""

    def __init__(self) -> None:
        self._values: list[str] = []
        self._starts: Numbers = np.zeros(256, dtype=np.int64)
        """The first number of each value, then the next number, then room for more."""

    def take(self, size: int, value: str) -> int:
        """The first of so many new numbers, for the bytes of a value."""
        self._values.append(value)
        number = len(self._values)
        if number == len(self._starts):
            self._starts = np.concatenate((self._starts, np.zeros_like(self._starts)))
        first = int(self._starts[number - 1])
        self._starts[number] = first + size
        return first

    def continued(self) -> "ByteNumbers":
        """These numbers, to which others are given out without changing them here."""
        other = ByteNumbers()
        other._values, other._starts = [*self._values], self._starts.copy()
        return other

    def owners(self, runs: Runs) -> tuple[int, ...]:
        """Which values, counted from 0 in the order in which they were taken, the numbers belong to."""
        low = self._owner(runs[0])
        high = np.searchsorted(self._firsts, runs[0] + runs[1], side="left")
        if (high - low > 1).any():
            several = map(range, low.tolist(), high.tolist())
            return tuple(dict.fromkeys(chain.from_iterable(several)))
        return tuple(dict.fromkeys(low.tolist()))

    def told(self, runs: Runs) -> str:
        """The first bytes that these numbers are, in words."""
        first, count = (int(row[0]) for row in runs)
        number = int(self._owner(runs[0, :1])[0])
        more = " and others" if runs.shape[1] > 1 else ""
        return f"`{self._values[number]}[{first - int(self._starts[number])}:+{count}]`{more}"

    @property
    def _firsts(self) -> Numbers:
        return self._starts[: len(self._values)]

    def _owner(self, numbers: Numbers) -> Numbers:
        return np.searchsorted(self._firsts, numbers, side="right") - 1


class Content:
    """The numbers of the bytes of a tensor or a buffer."""

    def __init__(self, size: int, first: int) -> None:
        self._size = size
        self._runs = one_run(first, size)

    def read(self, part: Slice) -> Runs:
        """The numbers of the bytes of a slice, row after row."""
        if part.rows > 1:
            return joined(_pieces(self._runs, _rows(part), part.row_bytes)[0])
        if part.bytes == self._size:
            return self._runs
        return _section(self._runs, part.offset, part.offset + part.bytes)

    def write(self, part: Slice, runs: Runs) -> None:
        """The bytes of a slice are now those with these numbers, row after row. Rows do not overlap."""
        if part.rows == 1 and part.bytes == self._size:
            self._runs = runs
            return
        if part.rows == 1:
            before = _section(self._runs, 0, part.offset)
            behind = _section(self._runs, part.offset + part.bytes, self._size)
            self._runs = joined(np.concatenate((before, runs, behind), axis=1))
            return
        starts = _rows(part)
        given = np.arange(part.rows, dtype=np.int64) * part.row_bytes
        new, inside = _pieces(runs, given, part.row_bytes)
        between = np.concatenate(([0], starts + part.row_bytes))
        old, beside = _pieces(self._runs, between, np.append(starts, self._size) - between)
        at = np.concatenate((starts[inside // part.row_bytes], beside))  # those of one row are in order
        self._runs = joined(np.concatenate((new, old), axis=1)[:, np.argsort(at, kind="stable")])

    @property
    def whole(self) -> Runs:
        """The numbers of all bytes."""
        return self._runs


def one_run(first: int, count: int) -> Runs:
    """So many numbers from the first on."""
    return np.array(((first,), (count,)), dtype=np.int64)


def count_of(runs: Runs) -> int:
    """How many numbers these are."""
    return int(runs[1].sum())


def same(one: Runs, other: Runs) -> bool:
    """True where both are the same numbers in the same order."""
    return bool(np.array_equal(one, other))


def picked(runs: Runs, elements: Numbers, size: int) -> Runs:
    """The runs of these elements, each of so many bytes, in that order."""
    return joined(_pieces(runs, elements.ravel() * size, size)[0])


def joined(runs: Runs) -> Runs:
    """The runs with those in one that follow each other."""
    ends, firsts = runs[0, :-1] + runs[1, :-1], runs[0, 1:]
    starts = np.concatenate(([0], np.flatnonzero(ends != firsts) + 1))
    return np.stack((runs[0, starts], np.add.reduceat(runs[1], starts)))


def _section(runs: Runs, start: int, stop: int) -> Runs:
    """The runs of the bytes from `start` to `stop`."""
    if start >= stop:
        return runs[:, :0]
    ends = np.cumsum(runs[1])
    low, high = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop, side="left")
    cut = runs[:, low : high + 1].copy()
    behind, before = ends[high] - stop, start - ends[low] + runs[1, low]
    cut[1, -1] -= behind
    cut[:, 0] += (before, -before)
    return cut


def _rows(part: Slice) -> Numbers:
    """Where each row of a slice begins."""
    return part.offset + np.arange(part.rows, dtype=np.int64) * part.stride


def _pieces(runs: Runs, starts: Numbers, sizes: Numbers | int) -> tuple[Runs, Numbers]:
    """The runs of the bytes from each start on, cut where one of the sections ends, and where each of them
    is in the content. A section may be empty.
    """
    firsts, counts = runs
    ends = np.cumsum(counts)
    stops = starts + sizes
    low = np.searchsorted(ends, starts, side="right")
    high = np.searchsorted(ends, stops, side="left")
    many = np.where(stops > starts, high - low + 1, 0)
    section = np.repeat(np.arange(len(starts)), many)
    run = np.arange(len(section)) - np.repeat(np.cumsum(many) - many - low, many)
    begins = ends[run] - counts[run]
    at = np.maximum(begins, starts[section])
    stop = np.minimum(ends[run], stops[section])
    return np.stack((firsts[run] + at - begins, stop - at)), at
