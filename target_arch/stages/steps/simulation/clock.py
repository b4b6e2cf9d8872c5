"""The clock of steps: the times at which resources are free and events happen, in whole picoseconds.

Ordering items, issuing steps and replaying a step order all use it. (The search for a placement has a fast
approximation of its own.)
"""

import heapq
from collections.abc import Collection, Mapping

from target_arch.plan.steps import Event
from target_arch.stages.steps.simulation.orders import FREE, NO_ORDERS, Orders

NOTHING: Mapping[str, int] = {}

HOST = ""
"""The resource of everything that takes the host's own time."""


class Clock:
    """The time at which each resource of a chip is free: the host's thread, instances, the channels of DMA
    engines.

    A resource does one thing at a time; an engine with channels (`widths`) does one per channel, and uses the
    channel that is free first. The host starts asynchronous work, so this begins at `now`, the host's time,
    or later. `orders` are what each start and each end of such work takes of the host; what has ended on
    timelines that are `joining` is settled by one look.
    """

    def __init__(
        self,
        widths: Mapping[str, int] = NOTHING,
        orders: Orders = NO_ORDERS,
        joining: Collection[str] = (),
    ) -> None:
        self.now = 0
        self._widths, self._orders, self._joining = widths, orders, joining
        self._settled: dict[str, int] = {}
        """By timeline how many of its steps the host knows to be over."""
        self._free: dict[str, list[int]] = {}
        """By resource a heap of the times at which its channels are free."""
        self._ends: dict[str, list[int]] = {}

    def free(self, resource: str) -> int:
        """The time at which a resource is free."""
        if resource == HOST:
            return self.now
        return self._free[resource][0] if resource in self._free else 0

    def begin(self, resource: str, ready: int, takes: int, *, follows: bool = False) -> tuple[int, int]:
        """Keep a resource busy, from when it is free and the work is ready, after the host has ordered it;
        what `follows` is part of the order before. Returns start and end.
        """
        if resource == HOST:
            start = max(ready, self.now)
            self.now = start + takes
            return start, self.now
        if resource in self._orders and not follows:
            self.now += self._orders[resource].start
            ready = max(ready, self.now)
        if resource not in self._free:
            self._free[resource] = [0] * self._widths.get(resource, 1)
        channels = self._free[resource]
        start = max(ready, channels[0])
        heapq.heapreplace(channels, start + takes)
        return start, start + takes

    def begins(self, timeline: str, needed: Mapping[str, int] = NOTHING) -> int:
        """The time at which a step on the timeline (one instance or channel) would begin, after waits for
        these values of other timelines.
        """
        begin = max(self.now, self._free[timeline][0] if timeline in self._free else 0)
        for other, value in needed.items():
            if other != timeline:
                begin = max(begin, self._ends[other][value])
        return begin

    def issue(self, event: Event | None, takes: int, *, follows: bool = False) -> tuple[int, int]:
        """Start a step, on the host's thread if it has no event; one that `follows` is part of the order
        before. Returns start and end.
        """
        where = HOST if event is None else event.timeline
        start, end = self.begin(where, self.now, takes, follows=follows)
        if event is not None:
            self._ends.setdefault(event.timeline, [0]).append(end)
        return start, end

    def done(self, timeline: str, value: int) -> int:
        """The time of an event."""
        return self._ends[timeline][value]

    def wait(self, event: Event) -> tuple[tuple[int, int], ...]:
        """The host continues when the event has happened and it has settled all steps of the timeline up to
        it. Returns when it began and ended to settle each, as far as that takes its time.
        """
        takes = self._orders.get(event.timeline, FREE).end
        if not takes:
            self.wait_until(self.done(event.timeline, event.value))
            return ()
        first = self._settled.get(event.timeline, 0)
        if event.timeline in self._joining:
            first = max(first, event.value - 1)
        settled = tuple(self._settle(event.timeline, value, takes) for value in range(first, event.value))
        self._settled[event.timeline] = max(first, event.value)
        return settled

    def _settle(self, timeline: str, before: int, takes: int) -> tuple[int, int]:
        """Settle the step after so many."""
        self.wait_until(self.done(timeline, before + 1))
        self.now += takes
        return self.now - takes, self.now

    def wait_until(self, time: int) -> None:
        """The host continues at that time."""
        self.now = max(self.now, time)
