"""The buffers of tensors in one memory and their lives, as the pool ledger counts them."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.live_sums import Interval

Numbers = NDArray[np.int64]


@frozen(kw_only=True, slots=False)
class Residents:
    """The buffers that need bytes of a memory whatever kernels use there, up to the moment `end`.

    `turns` are the spans in which the partitions run, in order: no two kernels run at once.
    """

    buffers: Sequence[Buffer] = field(repr=False)
    turns: Sequence[Interval] = field(repr=False)
    end: int

    @cached_property
    def first(self) -> Numbers:
        """First moments, by number of buffer."""
        return np.array([buffer.first for buffer in self.buffers], dtype=np.int64)

    @cached_property
    def last(self) -> Numbers:
        """Last moments."""
        return np.array([buffer.last for buffer in self.buffers], dtype=np.int64)

    @cached_property
    def sizes(self) -> Numbers:
        """Bytes."""
        return np.array([buffer.bytes for buffer in self.buffers], dtype=np.int64)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of every buffer, by name."""
        return {buffer.name: number for number, buffer in enumerate(self.buffers)}

    def live(self, span: Interval) -> NDArray[np.bool_]:
        """A mask of the buffers that are live at some moment of the span."""
        return (self.first <= span[1]) & (self.last >= span[0])

    def component(self, span: Interval) -> Interval:
        """The smallest span around a span whose borders no life crosses."""
        starts, stops = self._components
        low = int(np.searchsorted(starts, span[0], side="right")) - 1
        high = int(np.searchsorted(starts, span[1], side="right")) - 1
        return int(starts[low]), int(stops[high])

    @cached_property
    def _components(self) -> tuple[Numbers, Numbers]:
        spans = [(buffer.first, buffer.last) for buffer in self.buffers]
        return _joined((*spans, *self.turns))


def _joined(spans: Iterable[Interval]) -> tuple[Numbers, Numbers]:
    """First and last moment of every run of spans that overlap one another."""
    starts: list[int] = []
    stops: list[int] = []
    for first, last in sorted(spans):
        if stops and first <= stops[-1]:
            stops[-1] = max(stops[-1], last)
        else:
            starts.append(first)
            stops.append(last)
    return np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
