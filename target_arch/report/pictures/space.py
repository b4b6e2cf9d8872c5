"""Pictures of compared chips: two goals against each other, and all axes side by side."""

from target_arch.report.facts.space import ShownPoint, ShownSpace
from target_arch.report.pictures.svg import Picture, group, label, line, tag, tip

_HEIGHT, _EDGE = 360, 56
_APART = 118
_MOST = 2000
"""Points beside the front that are drawn, evenly chosen."""


def front_picture(shown: ShownSpace) -> Picture:
    """The points by the first two goals, or by their order and the only one; those on the front lead to their
    rows.
    """
    first = len(shown.axes) - shown.goals
    across, up = (first, first + 1) if shown.goals > 1 else (first, first)
    parts = [
        line(_percent(0), _HEIGHT - _EDGE, _percent(1), _HEIGHT - _EDGE, "rule"),
        line(_percent(0), _EDGE, _percent(0), _HEIGHT - _EDGE, "rule"),
        label(_percent(0), 16, f"{shown.axes[up].name}, from bottom to top", "strong"),
        label(_percent(0), 32, f"{shown.axes[up].low} to {shown.axes[up].high}", "small dim"),
        label(_percent(1), _HEIGHT - 30, f"{shown.axes[across].name}, from left to right", "strong end"),
        label(
            _percent(1),
            _HEIGHT - 12,
            f"{shown.axes[across].low} to {shown.axes[across].high}",
            "small dim end",
        ),
    ]
    parts += (_dot(shown, point, across, up) for point in _drawn(shown))
    title = f"{shown.axes[up].name} against {shown.axes[across].name}"
    return Picture(title=title, width=None, height=_HEIGHT, body="".join(parts))


def axes_picture(shown: ShownSpace) -> Picture:
    """A line for each point through its values on all axes."""
    width = _APART * len(shown.axes) + _EDGE
    top, bottom = 40, _HEIGHT - 40
    parts = []
    for number, axis in enumerate(shown.axes):
        x = _EDGE + number * _APART
        parts += [
            line(x, top, x, bottom, "rule"),
            label(x, 16, axis.name, "strong middle"),
            label(x, 32, axis.high, "small dim middle"),
            label(x, bottom + 18, axis.low, "small dim middle"),
        ]
    for point in _drawn(shown):
        places = (
            f"{_EDGE + number * _APART},{bottom - place * (bottom - top):.1f}"
            for number, place in enumerate(point.places)
        )
        class_ = "edge h0" if point.front else "edge thin rule faint"
        drawn = tag(
            "polyline", tip(_said(shown, point)), points=" ".join(places), class_=class_, style="fill:none"
        )
        parts.append(_linked(point, drawn))
    return Picture(title="every point on every axis", width=width, height=_HEIGHT, body="".join(parts))


def _drawn(shown: ShownSpace) -> list[ShownPoint]:
    """The points that are drawn, those on the front last."""
    others = [point for point in shown.points if not point.front]
    every = max(1, -(-len(others) // _MOST))
    return [*others[::every], *shown.front]


def _dot(shown: ShownSpace, point: ShownPoint, across: int, up: int) -> str:
    x = _percent(point.places[across])
    y = _HEIGHT - _EDGE - point.places[up] * (_HEIGHT - 2 * _EDGE)
    class_ = "h0 solid" if point.front else "plain"
    drawn = tag("circle", tip(_said(shown, point)), cx=x, cy=y, r=5 if point.front else 2.5, class_=class_)
    return _linked(point, drawn)


def _percent(place: float) -> str:
    """The abscissa of a place from 0 to 1 in the picture of the front."""
    return f"{2 + 96 * place:.3f}%"


def _linked(point: ShownPoint, drawn: str) -> str:
    return group([tag("a", drawn, href=f"#point-{point.number}")] if point.front else [drawn])


def _said(shown: ShownSpace, point: ShownPoint) -> str:
    return ", ".join(f"{name} {cell}" for name, cell in zip(shown.head, point.cells, strict=True))
