"""The timeline of a schedule, in the words of the model and the SoC."""

from collections.abc import Collection

from target_arch.plan.timeline import Span, SpanKind, Timeline
from target_arch.soc.model import Instance
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.portfolio import Found


def timeline(
    scheduler: ListScheduler,
    chosen: JobSchedule,
    found: Found,
    used: Collection[Instance],
    joules: Collection[float],
) -> Timeline:
    """The run that a schedule describes, its copies included.

    `used` are the instances that work in it, `joules` what operators take whose energy was measured.
    """
    jobs = scheduler.jobs
    recorded = scheduler.run(chosen.order, chosen.seats, record=True)
    assert recorded is not None
    where = (*jobs.machines, *(name for name, _ in jobs.channels))
    spans = [
        Span(
            kind=SpanKind.RUN,
            what=jobs.names[job],
            where=jobs.machines[machine],
            start=recorded.starts[job] / PICO,
            end=recorded.ends[job] / PICO,
        )
        for job, machine in enumerate(recorded.machines)
        if machine >= 0
    ]
    spans += [
        Span(
            kind=SpanKind.COPY,
            what=jobs.data[datum].name,
            where=where[resource],
            start=start / PICO,
            end=end / PICO,
        )
        for datum, _, resource, start, end in recorded.copies
    ]
    return Timeline(
        makespan=recorded.makespan / PICO,
        bound=min(found.bound, recorded.makespan) / PICO,
        method=found.method,
        load=sum(instance.arch.load.time for instance in used),
        load_bytes=sum(instance.arch.load.bytes for instance in used),
        energy=sum(joules),
        metered=len(joules),
        spans=tuple(sorted(spans, key=lambda span: (span.start, span.end, span.where, span.what))),
    )
