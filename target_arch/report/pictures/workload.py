"""The timeline of a workload: a lane for every model, a bar where one of its jobs has the chip."""

from collections.abc import Sequence

from target_arch.plan.manifest.model import TimingEntry
from target_arch.plan.printed.reasoning import duration
from target_arch.report.pictures.axis import grid, marks, percent
from target_arch.report.pictures.style import hue_class
from target_arch.report.pictures.svg import Picture, line, tag, tip

_LANE = 30
_BAR = 22
_AXIS = 24


def workload_picture(timings: Sequence[tuple[str, TimingEntry]]) -> Picture:
    """The jobs of models, by their names."""
    whole = max((span.end for _, timing in timings for span in timing.spans), default=0.0)
    height = len(timings) * _LANE
    drawn = [grid(marks(whole, 8), whole, 0, height, lambda time: duration(time) if time else "0")]
    for number, (name, timing) in enumerate(timings):
        top = number * _LANE
        drawn.append(line("0%", top + _LANE, "100%", top + _LANE, "hair"))
        for span in timing.spans:
            took = span.end - span.start
            about = tip(f"{name}\n{duration(took)} from {duration(span.start) if span.start else 0} on")
            drawn.append(
                tag(
                    "rect",
                    about,
                    x=percent(span.start, whole),
                    y=top + (_LANE - _BAR) / 2,
                    width=percent(took, whole),
                    height=_BAR,
                    class_=hue_class(number),
                )
            )
    return Picture(
        title="the simulated workload, a row for each model", width=None, height=height + _AXIS,
        body="".join(drawn),
    )  # fmt: skip
