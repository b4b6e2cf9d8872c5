"""Live bytes as sums over time.

The unit of time is that of the spans: steps, or items of a program.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from target_arch.plan.memory import Buffer

Interval = tuple[int, int]
"""First and last moment, both included."""


def live_sums(sizes: Iterable[tuple[Interval, int]], end: int) -> NDArray[np.int64]:
    """The bytes live at every moment from 0 to `end`, both included; each size counts throughout its span."""
    changes = np.zeros(end + 2, dtype=np.int64)
    for (first, last), size in sizes:
        changes[first] += size
        changes[last + 1] -= size
    return np.cumsum(changes[:-1])


class IntervalSums:
    """The bytes of buffers over time, as prefix sums: a partition may have thousands of buffers and call
    sites, so a question about a span must be a look-up.
    """

    def __init__(self, buffers: Collection[Buffer]) -> None:
        self._firsts, self._begun = _summed((buffer.first, buffer.bytes) for buffer in buffers)
        self._lasts, self._ended = _summed((buffer.last, buffer.bytes) for buffer in buffers)

    def within(self, span: Interval) -> int:
        """The bytes of all buffers that are live at some moment of the span."""
        return (
            self._begun[bisect_right(self._firsts, span[1])] - self._ended[bisect_left(self._lasts, span[0])]
        )


def _summed(sizes: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The moments in order, and the sum of bytes before each."""
    ordered = sorted(sizes)
    return [moment for moment, _ in ordered], list(accumulate((size for _, size in ordered), initial=0))
