"""The run of a bundle in the Trace Event Format, which Perfetto's UI and `chrome://tracing` open.

Format: "Trace Event Format", the JSON object form. Times are microseconds. Every model is a process; an
instance or a DMA channel is a thread; a wait is bound to what it waits for; the bytes of a pool are counters.
"""

from collections.abc import Iterator

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.manifest.model import StepKind
from target_arch.report.facts.shown import ShownBundle, ShownModel, ShownPool, ShownRun
from target_arch.report.pictures.timeline import lanes
from target_arch.soc.model import SoC

_MICRO = 1e6
_NEARLY = 2e-9
"""Seconds before an end that are inside also where readers round to nanoseconds."""
Event = dict[str, object]


def trace(shown: ShownBundle) -> dict[str, object]:
    """The trace as JSON values."""
    events = [
        event
        for number, model in enumerate(shown.models, start=1)
        if model.run is not None
        for event in _model(model, model.run, shown.soc, number)
    ]
    about = {"soc": shown.soc.name, "models": ", ".join(model.name for model in shown.models)}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def _model(model: ShownModel, run: ShownRun, soc: SoC, process: int) -> Iterator[Event]:
    yield _named(process, 0, "process_name", f"{model.name} on {soc.name}")
    threads = {lane.name: number for number, lane in enumerate(lanes(run, soc), start=1)}
    for name, thread in threads.items():
        yield _named(process, thread, "thread_name", name)
        order: Event = {"name": "thread_sort_index", "ph": "M", "pid": process, "tid": thread}
        yield {**order, "args": {"sort_index": thread}}
    said = {step.number: step.what for step in model.steps}
    for span in (*run.spans, *run.waits):
        yield {
            "name": span.what or said.get(span.step, ""),
            "cat": str(span.kind),
            "ph": "X",
            "ts": _time(span.start),
            "dur": _time(span.end - span.start),
            "pid": process,
            "tid": threads[span.where],
            "args": {"step": span.step, "what": said.get(span.step, "")},
        }
    yield from _bindings(model, run, process, threads)
    starts = {span.step: span.start for span in (*run.waits, *run.spans)}
    for pool in model.pools:
        yield from _counter(pool, starts, process)


def _bindings(model: ShownModel, run: ShownRun, process: int, threads: dict[str, int]) -> Iterator[Event]:
    """An arrow from the work that signals an event to the wait for it."""
    signals = {
        step.event: step.number for step in model.steps if step.event and step.kind is not StepKind.WAIT
    }
    spans = {span.step: span for span in run.spans}
    for number, wait in enumerate(run.waits, start=1):
        work = spans.get(signals.get(wait.what, -1))
        if work is None or wait.kind != ActivityKind.WAIT:
            continue
        about = {"name": "signals", "cat": "wait", "id": process * 1_000_000 + number, "pid": process}
        yield {**about, "ph": "s", "ts": _inside(work), "tid": threads[work.where]}
        yield {**about, "ph": "f", "bp": "e", "ts": _inside(wait), "tid": threads[wait.where]}


def _inside(span: Activity) -> float:
    """A time within the span, since an arrow belongs to the span around its end; and as late as it can be,
    since readers drop arrows into the past. A wait may begin long before the work that it waits for.
    """
    return _time(max((span.start + span.end) / 2, span.end - _NEARLY))


def _counter(pool: ShownPool, starts: dict[int, float], process: int) -> Iterator[Event]:
    """The bytes of live buffers, whenever they change; those in the bytes of others count once."""
    changes: dict[float, int] = {}
    own = [each for each in pool.buffers if each.over is None]
    for each in own:
        first = starts.get(each.first, 0.0)
        changes[first] = changes.get(first, 0) + each.bytes
        after = next((starts[step] for step in range(each.last + 1, each.last + 64) if step in starts), None)
        if after is not None:
            changes[after] = changes.get(after, 0) - each.bytes
    live = 0
    for time in sorted(changes):
        live += changes[time]
        about: Event = {"name": f"{pool.name} bytes", "ph": "C", "ts": _time(time), "pid": process}
        yield {**about, "args": {"bytes": live}}


def _named(process: int, thread: int, what: str, name: str) -> Event:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _time(seconds: float) -> float:
    return round(seconds * _MICRO, 6)
