"""The timeline of a run: a lane for every instance and DMA channel, and the waits of the host.

Abscissae are percentages, so that a page can draw it wider, and text keeps its size. A bar
clips its own label.
"""

from collections.abc import Iterable, Mapping

from attrs import frozen

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.printed.reasoning import duration
from target_arch.report.facts.shown import ShownModel, ShownRun
from target_arch.report.pictures.axis import grid, marks, percent, zoom_class
from target_arch.report.pictures.style import hue_class
from target_arch.report.pictures.svg import Picture, label, line, tag, tip
from target_arch.soc.model import SoC

LANE = 30
_BAR = 22
_AXIS = 24
_MOST = 6_000
"""Bars that are drawn one by one; of more, those too narrow to be seen are joined with their neighbours."""
_VISIBLE = 500e-6
"""The part of the whole up to which bars are joined: half a pixel, and 32 in the widest drawing."""
_CLASSES = {
    ActivityKind.WAIT: "wait",
    ActivityKind.COPY: "copy",
    ActivityKind.ORDER: "plain",
    ActivityKind.SETTLE: "plain",
}
"""The classes of bars that have not that of their lane."""
_BY_HOST = {ActivityKind.ORDER: "the host starts ", ActivityKind.SETTLE: "the host sees the end of "}


@frozen(kw_only=True)
class Lane:
    """An instance, or a channel of an engine."""

    name: str
    class_: str


@frozen(kw_only=True)
class Opening:
    """The first sight of a timeline: one of ZOOMS, and what part of the run is left of it."""

    zoom: int
    start: float


ZOOMS = (1, 4, 16, 64)
_OPENED = ZOOMS[:3]
_NAMED = 0.5
"""The part of all computing time whose operators have their names at first."""


def lanes(run: ShownRun, soc: SoC) -> tuple[Lane, ...]:
    """The lanes of a run: instances, the busiest first, then channels."""
    instances = [Lane(name=each.name, class_=hue_class(n)) for n, each in enumerate(soc.instances)]
    busy = {*run.lanes, soc.host.name}
    known = {lane.name for lane in instances}
    channels = [Lane(name=name, class_="copy") for name in sorted(busy - known)]
    taken = _taken(run)
    ordered = sorted(instances, key=lambda lane: -taken.get(lane.name, 0.0))
    return tuple(lane for lane in (*ordered, *channels) if lane.name in busy)


def opening(run: ShownRun) -> Opening:
    """The least zoom in which half of the computing time has its names, and there the longest computation of
    the busiest instance.
    """
    taken = _taken(run)
    if not taken or not run.makespan:
        return Opening(zoom=1, start=0.0)
    runs = [span for span in run.spans if span.kind == ActivityKind.RUN]
    zoom = next((zoom for zoom in _OPENED if _named(runs, run.makespan, zoom) >= _NAMED), _OPENED[-1])
    busiest = max(taken, key=lambda name: taken[name])
    longest = max((span for span in runs if span.where == busiest), key=lambda span: span.end - span.start)
    return Opening(zoom=zoom, start=longest.start / run.makespan)


def _taken(run: ShownRun) -> dict[str, float]:
    """Seconds that each instance computes."""
    taken: dict[str, float] = {}
    for span in run.spans:
        if span.kind == ActivityKind.RUN:
            taken[span.where] = taken.get(span.where, 0.0) + span.end - span.start
    return taken


def _named(runs: Iterable[Activity], whole: float, zoom: int) -> float:
    """The part of the computing time in bars that have a name at this zoom."""
    seconds = {False: 0.0, True: 0.0}
    for span in runs:
        took = span.end - span.start
        needed = zoom_class(took / whole, span.what)
        seconds[needed is not None and int(needed.removeprefix("z") or 1) <= zoom] += took
    return seconds[True] / (sum(seconds.values()) or 1.0)


def timeline_picture(model: ShownModel, run: ShownRun, soc: SoC, part: float = 1.0) -> Picture:
    """The run of a model, with the words that have room where it is drawn on that part of the width."""
    rows = lanes(run, soc)
    height = len(rows) * LANE
    drawn = [grid(marks(run.makespan, max(1, round(10 * part))), run.makespan, 0, height, _time)]
    waits: dict[str, list[Activity]] = {}
    spans: dict[str, list[Activity]] = {}
    for span in run.waits:
        waits.setdefault(span.where, []).append(span)
    for span in run.spans:
        spans.setdefault(span.where, []).append(span)
    crowded = len(run.spans) + len(run.waits) > _MOST
    said = {step.number: step.what for step in model.steps}
    for number, lane in enumerate(rows):
        top = number * LANE
        drawn.append(line("0%", top + LANE, "100%", top + LANE, "hair"))
        every = [*waits.get(lane.name, ()), *spans.get(lane.name, ())]
        shown = _joined(every, run.makespan) if crowded else every
        drawn += [_bar(span, top, lane, run.makespan, said, part) for span in shown]
    return Picture(
        title=f"a simulated run of {model.name}", width=None, height=height + _AXIS, body="".join(drawn)
    )


def named_timeline(model: ShownModel, run: ShownRun, soc: SoC, width: float = 1200) -> Picture:
    """The timeline with the names of its lanes, for a file of its own."""
    rows = lanes(run, soc)
    inner = timeline_picture(model, run, soc)
    names = [label(8, n * LANE + 20, lane.name) for n, lane in enumerate(rows)]
    chart = tag("svg", inner.body, x=150, width=width - 162, height=inner.height)
    return Picture(title=inner.title, width=width, height=inner.height, body="".join([*names, chart]))


def _time(seconds: float) -> str:
    return duration(seconds) if seconds else "0"


def _joined(spans: Iterable[Activity], whole: float) -> list[Activity]:
    """The spans; neighbours too close to be seen apart are joined."""
    found: list[Activity] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        last = found[-1] if found else None
        if last is not None and last.kind == span.kind and span.end - last.start < _VISIBLE * whole:
            found[-1] = Activity(
                step=last.step, kind=last.kind, what=last.what, where=last.where,
                start=last.start, end=max(last.end, span.end),
            )  # fmt: skip
        else:
            found.append(span)
    return found


def _bar(span: Activity, top: float, lane: Lane, whole: float, said: Mapping[int, str], part: float) -> str:
    room = part * (span.end - span.start) / whole if whole else 0
    x, width = percent(span.start, whole), percent(max(span.end - span.start, 0), whole)
    class_ = _CLASSES.get(span.kind, lane.class_)
    about = tip(
        f"{_BY_HOST.get(span.kind, '')}{said.get(span.step, span.what)}\n"
        f"step {span.step}, {duration(span.end - span.start)} from {_time(span.start)} on"
    )
    y = top + (LANE - _BAR) / 2
    zoomed = zoom_class(room, span.what) if span.kind in (ActivityKind.RUN, ActivityKind.COPY) else None
    if zoomed is None:
        return tag("rect", about, x=x, y=y, width=width, height=_BAR, class_=class_)
    inside = [
        about,
        tag("rect", width="100%", height=_BAR, class_=class_),
        label(4, 15, span.what, f"ink small {zoomed}".strip()),
    ]
    return tag("svg", "".join(inside), x=x, y=y, width=width, height=_BAR)


def legend(run: ShownRun, soc: SoC) -> tuple[tuple[str, str], ...]:
    """Classes and words for the colours of the timeline."""
    busy = [(lane.class_, lane.name) for lane in lanes(run, soc) if lane.class_ != "copy"]
    copies = any(span.kind == ActivityKind.COPY for span in run.spans)
    orders = any(span.kind in _BY_HOST for span in run.waits)
    return (
        *busy,
        *((("copy", "a copy"),) if copies else ()),
        *((("wait", "the host waits"),) if run.waits else ()),
        *((("plain", "the host starts work of others, or sees its end"),) if orders else ()),
    )
