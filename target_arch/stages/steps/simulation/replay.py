"""A simulated run of the emitted steps, in the order in which the host executes them.

It does not depend on how the steps were made: a step without an event takes the host's time, a step with an
event takes the time of its timeline, and a Wait stops the host until the event has happened.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch, StepOrder, Wait
from target_arch.soc.model import HOST_ENGINE
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.simulation.clock import Clock
from target_arch.stages.steps.simulation.times import Times


@frozen
class Replay:
    """The busy spans of every resource, the host's waits, and the end of the last step in seconds."""

    spans: tuple[Activity, ...]
    waits: tuple[Activity, ...]
    makespan: float


def replay(order: StepOrder, times: Times, host: str) -> Replay:
    """The run of these steps. `host` is the host's instance."""
    clock, spans, waits = Clock(), list[Activity](), list[Activity]()
    memories = {buffer.name: buffer.memory for buffer in order.buffers}
    end = 0
    for number, step in enumerate(order.steps):
        if isinstance(step, Wait):
            before = clock.now
            clock.wait(step.event)
            if clock.now > before:
                waits.append(_span(number, step, host, before, clock.now))
        elif isinstance(step, Copy | Dispatch):
            start, stop = clock.issue(step.event, _takes(step, times, memories))
            where = host if step.event is None else step.event.timeline
            spans.append(_span(number, step, where, start, stop))
            end = max(end, stop)
    return Replay(_ordered(spans), _ordered(waits), max(end, clock.now) / PICO)


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


def _span(number: int, step: Copy | Dispatch | Wait, where: str, start: int, stop: int) -> Activity:
    kind, what = _named(step)
    return Activity(step=number, kind=kind, what=what, where=where, start=start / PICO, end=stop / PICO)


def _named(step: Copy | Dispatch | Wait) -> tuple[ActivityKind, str]:
    match step:
        case Dispatch():
            return ActivityKind.RUN, step.operator
        case Copy():
            return ActivityKind.COPY, step.target.of
        case Wait():
            return ActivityKind.WAIT, str(step.event)
