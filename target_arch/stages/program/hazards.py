"""Hazards between steps, and the Waits they need, as late as possible.

A step may start while others are in flight, unless it touches bytes that one of them writes, or writes bytes
that one of them touches: then a Wait comes right before it. Two steps of one timeline need no Wait, as a
timeline keeps their order. A Wait for a value completes every earlier value of that timeline.
"""

from collections.abc import Iterable, Mapping

from target_arch.plan.kernels import Slice
from target_arch.plan.steps import Event

ByteAccess = tuple[Slice, bool]
"""Bytes of a buffer that a step touches, and whether it writes them."""


def overlap(first: Slice, second: Slice) -> bool:
    """True where two slices of one buffer share a byte. Rows of different strides count as all they
    enclose.
    """
    if first.offset >= second.end or second.offset >= first.end:
        return False
    if first.rows == 1 and second.rows == 1:
        return True
    if first.rows > 1 and second.rows > 1 and first.stride != second.stride:
        return True
    stride = first.stride if first.rows > 1 else second.stride
    apart = second.offset - first.offset
    # Rows i of the first and j of the second meet where -second.row < apart + (j - i) * stride < first.row.
    # If they would meet beyond the last row of one, that last row meets, as what they enclose does.
    lowest = (-second.row_bytes - apart) // stride + 1
    highest = -((apart - first.row_bytes) // stride) - 1
    return lowest <= highest


class InFlight:
    """The asynchronous steps not known to be complete, by the buffers they touch."""

    def __init__(self) -> None:
        self._touching: dict[str, list[tuple[Event, ByteAccess]]] = {}
        self._issued: dict[str, int] = {}
        self._complete: dict[str, int] = {}

    def next_event(self, timeline: str) -> Event:
        """The event of the next step on a timeline."""
        return Event(timeline=timeline, value=self._issued.get(timeline, 0) + 1)

    def issue(self, event: Event, accesses: Iterable[ByteAccess]) -> None:
        """A step with that event has started."""
        self._issued[event.timeline] = event.value
        for access in accesses:
            self._touching.setdefault(access[0].of, []).append((event, access))

    def complete(self, event: Event) -> None:
        """The event was waited for."""
        self._complete[event.timeline] = max(event.value, self._complete.get(event.timeline, 0))

    def pending(self, timeline: str) -> int:
        """How many steps of a timeline are in flight."""
        return self._issued.get(timeline, 0) - self._complete.get(timeline, 0)

    def issued(self, timeline: str) -> int:
        """How many steps were issued on a timeline so far."""
        return self._issued.get(timeline, 0)

    def hazards(self, accesses: Iterable[ByteAccess]) -> dict[str, int]:
        """The values of each timeline that must be complete before a step with these accesses may start."""
        needed: dict[str, int] = {}
        for part, writes in accesses:
            for event, (other, written) in self._current(part.of):
                known = event.value <= needed.get(event.timeline, 0)
                if not known and (writes or written) and overlap(part, other):
                    needed[event.timeline] = event.value
        return needed

    def touching(self, buffer: str) -> dict[str, int]:
        """The values of each timeline after which nothing in flight touches the buffer."""
        needed: dict[str, int] = {}
        for event, _ in self._current(buffer):
            needed[event.timeline] = max(event.value, needed.get(event.timeline, 0))
        return needed

    def everything(self) -> dict[str, int]:
        """The values of each timeline after which nothing is in flight."""
        return {timeline: value for timeline, value in self._issued.items() if self.pending(timeline)}

    def incomplete(self, values: Mapping[str, int]) -> dict[str, int]:
        """The values, by timeline, without those that are known to be complete."""
        return {name: value for name, value in values.items() if value > self._complete.get(name, 0)}

    def _current(self, buffer: str) -> list[tuple[Event, ByteAccess]]:
        flying = self._touching.get(buffer)
        if not flying:
            return []
        kept = [pair for pair in flying if pair[0].value > self._complete.get(pair[0].timeline, 0)]
        self._touching[buffer] = kept
        return kept
