"""The one clock of steps: when resources are free and events happen, in whole picoseconds.

Items are ordered, steps are issued and step orders are replayed by it. (The search for a placement has a fast
approximation of its own.)
"""

from collections.abc import Mapping

from target_arch.plan.steps import Event

NOTHING: Mapping[str, int] = {}

HOST = ""
"""The resource of everything that takes the host's own time."""


class Clock:
    """When every resource of a chip is free: the host's thread, instances, the channels of DMA engines.

    A resource does one thing at a time, one after the other; an engine of `widths` does so many, each on the
    channel that is free first. What runs behind the host's back is begun by the host, so it begins at `now`,
    the host's time, at the earliest.
    """

    def __init__(self, widths: Mapping[str, int] = NOTHING) -> None:
        self.now = 0
        self._widths = widths
        self._free: dict[str, list[int]] = {}
        self._ends: dict[str, list[int]] = {}

    def free(self, resource: str) -> int:
        """When a resource takes something new."""
        if resource == HOST:
            return self.now
        return min(self._free[resource]) if resource in self._free else 0

    def begin(self, resource: str, ready: int, takes: int) -> tuple[int, int]:
        """Keep a resource busy as soon as it is free and the work ready; from when to when it is."""
        if resource == HOST:
            start = max(ready, self.now)
            self.now = start + takes
            return start, self.now
        if resource not in self._free:
            self._free[resource] = [0] * self._widths.get(resource, 1)
        channels = self._free[resource]
        first = min(channels)
        start = max(ready, first)
        channels[channels.index(first)] = start + takes
        return start, start + takes

    def begins(self, timeline: str, needed: Mapping[str, int] = NOTHING) -> int:
        """When a step issued on the timeline (one instance or channel) would begin, after waiting for these
        values of others.
        """
        begin = max(self.now, self._free[timeline][0] if timeline in self._free else 0)
        for other, value in needed.items():
            if other != timeline:
                begin = max(begin, self._ends[other][value])
        return begin

    def issue(self, event: Event | None, takes: int) -> tuple[int, int]:
        """Start a step; from when to when it runs. The host is taken where there is no event."""
        start, end = self.begin(HOST if event is None else event.timeline, self.now, takes)
        if event is not None:
            self._ends.setdefault(event.timeline, [0]).append(end)
        return start, end

    def done(self, timeline: str, value: int) -> int:
        """When an event happens."""
        return self._ends[timeline][value]

    def wait(self, event: Event) -> None:
        """The host goes on when the event has happened."""
        self.wait_until(self.done(event.timeline, event.value))

    def wait_until(self, time: int) -> None:
        """The host goes on at that time."""
        self.now = max(self.now, time)
