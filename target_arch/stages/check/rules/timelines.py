"""Events of a run: their numbering on each timeline, the steps in flight, and races with them."""

from collections import deque
from collections.abc import Iterable, Iterator

from attrs import frozen

from target_arch.plan.steps import Event
from target_arch.stages.check.rules.faults import Fault
from target_arch.stages.check.rules.touches import Touch, meet


@frozen(kw_only=True)
class Flight:
    """An asynchronous step, in flight until its event is waited for."""

    number: int
    event: Event
    touches: tuple[Touch, ...]


class Timelines:
    """The steps in flight. Steps of one timeline run in order, and so never race with each other."""

    def __init__(self) -> None:
        self._flying: dict[str, deque[Flight]] = {}
        self._near: dict[str, list[Flight]] = {}
        """By buffer, for what touches it; those that are over are removed when it is next asked for."""
        self._issued: dict[str, int] = {}
        self._done: dict[str, int] = {}

    def races(self, event: Event | None, touches: tuple[Touch, ...]) -> Iterator[Fault]:
        """Steps in flight on bytes of a step that starts now with that event, where one of both writes."""
        for flight in self._in_flight_near(touches):
            if (event is None or flight.event.timeline != event.timeline) and _race(touches, flight.touches):
                message = (
                    f"it starts while step {flight.number} (`{flight.event}`) is in flight on the same bytes"
                )
                yield "race", message

    def issue(self, number: int, event: Event, touches: tuple[Touch, ...]) -> Iterator[Fault]:
        """A step is in flight from now on; its event must be the next of the timeline."""
        expected = self._issued.get(event.timeline, 0) + 1
        if event.value != expected:
            yield "wrong-event", f"it signals `{event}`, value {expected} is the next of that timeline"
        self._issued[event.timeline] = event.value
        flight = Flight(number=number, event=event, touches=touches)
        self._flying.setdefault(event.timeline, deque()).append(flight)
        for name in {touch.part.of for touch in touches}:
            self._near.setdefault(name, []).append(flight)

    def unknown(self, event: Event) -> Iterator[Fault]:
        """An event to be waited for that nothing signals."""
        if event.value > self._issued.get(event.timeline, 0):
            yield "unknown-event", f"nothing issued so far signals `{event}`"

    def over(self, event: Event) -> list[Flight]:
        """The steps that are over when the event has been waited for, and no longer in flight."""
        ended = []
        flying = self._flying.get(event.timeline, deque())
        while flying and flying[0].event.value <= event.value:
            ended.append(flying.popleft())
        self._done[event.timeline] = max(event.value, self._done.get(event.timeline, 0))
        return ended

    def busy(self, name: str, event: Event | None) -> bool:
        """True where something in flight touches the buffer that may end after a step with that event
        starts.
        """
        own = None if event is None else event.timeline
        return any(flight.event.timeline != own for flight in self._near_to(name))

    def left(self) -> Iterator[Fault]:
        """Steps still in flight at the end."""
        flying = (flight for timeline in self._flying.values() for flight in timeline)
        for flight in sorted(flying, key=lambda flight: flight.number):
            yield "in-flight", f"step {flight.number} (`{flight.event}`) is still in flight"

    def _in_flight_near(self, touches: Iterable[Touch]) -> list[Flight]:
        """The steps in flight that touch the same buffers, each once, in order."""
        found = {
            flight.number: flight
            for name in {touch.part.of for touch in touches}
            for flight in self._near_to(name)
        }
        return [found[number] for number in sorted(found)]

    def _near_to(self, name: str) -> list[Flight]:
        near = self._near.get(name, [])
        near[:] = [f for f in near if f.event.value > self._done.get(f.event.timeline, 0)]
        return near


def _race(touches: Iterable[Touch], others: tuple[Touch, ...]) -> bool:
    return any(
        (touch.write or other.write) and touch.part.of == other.part.of and meet(touch.part, other.part)
        for touch in touches
        for other in others
    )
