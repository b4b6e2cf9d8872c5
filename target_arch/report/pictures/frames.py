"""Memory against time for frames in flight: a bar of bytes for each number of frames, beside its period."""

from target_arch.plan.manifest.model import FramesEntry, FramesPoint
from target_arch.plan.printed.reasoning import duration
from target_arch.report.pictures.axis import grid, marks, percent
from target_arch.report.pictures.svg import Picture, label, tag, tip

_ROW = 24
_BAR = 16
_AXIS = 24
_NAME = 150
_NUMBERS = 130
_WIDTH = 900


def frames_picture(frames: FramesEntry) -> Picture:
    """The curve: with more frames in flight results come faster, and buffers exist more often."""
    points = frames.curve
    whole, height = max(map(curve_bytes, points), default=0), len(points) * _ROW
    bars, words = [grid(marks(whole, 5), whole, 0, height, _bytes)], list[str]()
    for number, point in enumerate(points):
        size, top, y = curve_bytes(point), number * _ROW, number * _ROW + 16
        about = tip("\n".join(f"{pool}: {each:,} B" for pool, each in sorted(point.pools.items())))
        bars.append(
            tag(
                "rect",
                about,
                x="0%",
                y=top + (_ROW - _BAR) / 2,
                width=percent(size, whole),
                height=_BAR,
                class_="k-activation",
            )
        )
        words.append(label(0, y, f"{point.frames}: every {duration(point.period)}", "ink"))
        words.append(label(_WIDTH - _NUMBERS + 12, y, _bytes(size), "dim small"))
    chart = tag("svg", "".join(bars), x=_NAME, width=_WIDTH - _NAME - _NUMBERS, height=height + _AXIS)
    return Picture(
        title="bytes by frames in flight, with the time from one result to the next",
        width=_WIDTH,
        height=height + _AXIS,
        body="".join([chart, *words]),
    )


def curve_bytes(point: FramesPoint) -> int:
    """All bytes that frames in flight and a run take in turn."""
    return sum(point.pools.values())


def _bytes(value: float) -> str:
    return f"{value:,.0f} B"
