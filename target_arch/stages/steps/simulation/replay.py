"""A simulated run of the emitted steps, in the order in which the host executes them.

It does not depend on how the steps were made: a step without an event takes the host's time, a step with an
event takes the time of its timeline after the host has ordered it, and a Wait stops the host until the event
has happened and it has settled what is over.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch, StepOrder, Wait
from target_arch.soc.model import HOST_ENGINE
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.simulation.clock import Clock
from target_arch.stages.steps.simulation.times import Times

_Busy = tuple[int, Copy | Dispatch | Wait, str, int, int, ActivityKind | None]
"""The step that keeps something busy, with its number, what that is, start and end in picoseconds, and the
kind where the step alone does not say it.
"""


@frozen
class Replay:
    """The busy spans of every resource, the host's waits and orders, and the end of the last step, in
    seconds. Of most runs only the end is asked for, so spans are made when they are.
    """

    makespan: float
    _busy: Sequence[_Busy] = field(repr=False)
    _idle: Sequence[_Busy] = field(repr=False)

    @property
    def spans(self) -> tuple[Activity, ...]:
        """The activities of every resource, by time."""
        return _ordered(_span(*busy) for busy in self._busy)

    @property
    def waits(self) -> tuple[Activity, ...]:
        """The times of the host that are not for its own work, by time."""
        return _ordered(_span(*idle) for idle in self._idle)


def replay(order: StepOrder, times: Times, host: str) -> Replay:
    """The run of these steps. `host` is the host's instance."""
    run = _Run(order, times, host)
    for number, step in enumerate(order.steps):
        if isinstance(step, Wait):
            run.wait(number, step)
        elif isinstance(step, Copy | Dispatch):
            run.issue(number, step)
    return Replay(max(run.end, run.clock.now) / PICO, run.busy, run.idle)


class _Run:
    """A run so far."""

    def __init__(self, order: StepOrder, times: Times, host: str) -> None:
        self._times, self._host = times, host
        self._memories = {buffer.name: buffer.memory for buffer in order.buffers}
        self._issued: dict[str, list[tuple[int, Copy | Dispatch]]] = {}
        self.clock = Clock(orders=times.orders)
        self.busy, self.idle = list[_Busy](), list[_Busy]()
        self.end = 0

    def issue(self, number: int, step: Copy | Dispatch) -> None:
        before, where = self.clock.now, self._host
        start, stop = self.clock.issue(step.event, _takes(step, self._times, self._memories))
        if step.event is not None:
            where = step.event.timeline
            self._issued.setdefault(where, []).append((number, step))
            self._note(ActivityKind.ORDER, number, step, before, self.clock.now)
        self.busy.append((number, step, where, start, stop, None))
        self.end = max(self.end, stop)

    def wait(self, number: int, step: Wait) -> None:
        before, value = self.clock.now, step.event.value
        settled = self.clock.wait(step.event)
        self._note(None, number, step, before, self.clock.now)
        issued = self._issued[step.event.timeline][value - len(settled) : value] if settled else ()
        for (other, work), (start, stop) in zip(issued, settled, strict=True):
            self._note(ActivityKind.SETTLE, other, work, start, stop)

    def _note(
        self, kind: ActivityKind | None, number: int, step: Copy | Dispatch | Wait, start: int, stop: int
    ) -> None:
        """Remember a time of the host that is not for its own work, if it is any."""
        if stop > start:
            self.idle.append((number, step, self._host, start, stop, kind))


def step_times(steps: Sequence[Copy | Dispatch], buffers: Iterable[Buffer], times: Times) -> tuple[int, ...]:
    """The picoseconds of each step."""
    memories = {buffer.name: buffer.memory for buffer in buffers}
    return tuple(_takes(step, times, memories) for step in steps)


def _ordered(spans: Iterable[Activity]) -> tuple[Activity, ...]:
    return tuple(sorted(spans, key=lambda span: (span.start, span.end, span.where, span.what, span.step)))


def _takes(step: Copy | Dispatch, times: Times, memories: Mapping[str, str]) -> int:
    if isinstance(step, Dispatch):
        return times.run(step.partition, step.operator)
    source, target = memories[step.source.of], memories[step.target.of]
    return times.copy(source, target, step.engine or HOST_ENGINE, step.source.bytes)


def _span(
    number: int,
    step: Copy | Dispatch | Wait,
    where: str,
    start: int,
    stop: int,
    noted: ActivityKind | None,
) -> Activity:
    kind, what = _named(step)
    begin, end = start / PICO, stop / PICO
    return Activity(step=number, kind=noted or kind, what=what, where=where, start=begin, end=end)


def _named(step: Copy | Dispatch | Wait) -> tuple[ActivityKind, str]:
    match step:
        case Dispatch():
            return ActivityKind.RUN, step.operator
        case Copy():
            return ActivityKind.COPY, step.target.of
        case Wait():
            return ActivityKind.WAIT, str(step.event)
