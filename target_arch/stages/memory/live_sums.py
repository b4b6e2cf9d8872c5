"""What the buffers of one kernel take over time, as sums that are looked up."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from itertools import accumulate

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.pool_ledger import Span


class IntervalSums:
    """The bytes of buffers over time, summed up: a partition may have thousands of both buffers and sites."""

    def __init__(self, buffers: Collection[Buffer]) -> None:
        self._firsts, self._begun = _summed((buffer.first, buffer.bytes) for buffer in buffers)
        self._lasts, self._ended = _summed((buffer.last, buffer.bytes) for buffer in buffers)

    def within(self, span: Span) -> int:
        """The bytes of those that are live at some item of the span."""
        return (
            self._begun[bisect_right(self._firsts, span[1])] - self._ended[bisect_left(self._lasts, span[0])]
        )


def _summed(sizes: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The items in order, and the bytes of all before each."""
    ordered = sorted(sizes)
    return [item for item, _ in ordered], list(accumulate((size for _, size in ordered), initial=0))
