"""A simulated run of the emitted steps, in the order in which the host executes them.

It does not depend on how the steps were made: a step without an event takes the host's time, a step with an
event takes the time of its timeline, and a Wait stops the host until the event has happened.
"""

from collections.abc import Mapping

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.steps import Copy, Dispatch, StepOrder, Wait
from target_arch.soc.model import HOST_ENGINE
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.clock import Clock
from target_arch.stages.steps.times import Times


def replay(order: StepOrder, times: Times, host: str) -> tuple[tuple[Activity, ...], float]:
    """The busy spans of every resource and the end of the last step, in seconds. `host` is the host's
    instance.
    """
    clock, spans = Clock(), list[Activity]()
    memories = {buffer.name: buffer.memory for buffer in order.buffers}
    end = 0
    for step in order.steps:
        if isinstance(step, Wait):
            clock.wait(step.event)
        elif isinstance(step, Copy | Dispatch):
            start, stop = clock.issue(step.event, _takes(step, times, memories))
            where = host if step.event is None else step.event.timeline
            spans.append(_span(step, where, start, stop))
            end = max(end, stop)
    ordered = sorted(spans, key=lambda span: (span.start, span.end, span.where, span.what))
    return tuple(ordered), max(end, clock.now) / PICO


def _takes(step: Copy | Dispatch, times: Times, memories: Mapping[str, str]) -> int:
    if isinstance(step, Dispatch):
        return times.run(step.partition, step.operator)
    source, target = memories[step.source.of], memories[step.target.of]
    return times.copy(source, target, step.engine or HOST_ENGINE, step.source.bytes)


def _span(step: Copy | Dispatch, where: str, start: int, stop: int) -> Activity:
    kind, what = (
        (ActivityKind.RUN, step.operator)
        if isinstance(step, Dispatch)
        else (ActivityKind.COPY, step.target.of)
    )
    return Activity(kind=kind, what=what, where=where, start=start / PICO, end=stop / PICO)
