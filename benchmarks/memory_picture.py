"""The picture of `benchmarks.memory`: instructions over bytes, a line for each model."""

from collections.abc import Iterator, Mapping, Sequence

from target_arch.report.pictures.axis import marks
from target_arch.report.pictures.style import hue_class
from target_arch.report.pictures.svg import Picture, group, label, line, tag, tip

_WIDTH, _HEIGHT = 900.0, 420.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 190.0, 34.0, 44.0
_MARKS = 6
_DOT = 3.5
_MOST = 0.05
"""Points above this are drawn at the top, with their number."""

Point = tuple[float, float]
"""Parts of the arena of one operator at a time, and of its instructions: how many more."""


def curves_picture(curves: Mapping[str, Sequence[Point]]) -> Picture:
    """Curves by the name of their model; each begins at (1, 0)."""
    drawn = [*_axes()]
    for number, (name, points) in enumerate(curves.items()):
        drawn.append(_curve(name, [(_x(part), _y(more)) for part, more in points], number, points))
    title = "instructions of a run over bytes of its arena"
    return Picture(title=title, width=_WIDTH, height=_HEIGHT, body="".join(drawn))


def _x(part: float) -> float:
    return round(_LEFT + part * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(more: float) -> float:
    part = min(max(more / _MOST, 0), 1)
    return round(_HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM), 1)


def _axes() -> Iterator[str]:
    yield label(0, 18, "instructions added to a run", "dim")
    for more in marks(_MOST, _MARKS):
        yield line(_LEFT, _y(more), _x(1), _y(more), "hair")
        yield label(_LEFT - 8, _y(more) + 4, f"{more:.1%}", "dim small end")
    for part in marks(1.0, _MARKS):
        yield line(_x(part), _TOP, _x(part), _HEIGHT - _BOTTOM, "hair")
        yield label(_x(part), _HEIGHT - _BOTTOM + 16, f"{part:.0%}", "dim small middle")
    yield label(_LEFT, _HEIGHT - 8, "arena, of that of one operator at a time", "dim")


def _curve(name: str, places: Sequence[Point], number: int, points: Sequence[Point]) -> str:
    """The line, a dot for each bundle, and the name in the legend."""
    hue, row = hue_class(number), _TOP + 10 + 22 * number
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
    dots = [
        group([tip(f"{name}: {part:.1%} of the bytes, {more:+.2%}"), _dot(x, y, hue), _above(x, y, more)])
        for (x, y), (part, more) in zip(places, points, strict=True)
    ]
    legend = [_dot(_x(1) + 20, row - 4, hue), label(_x(1) + 30, row, name, "ink small")]
    return group([tag("path", d=path, class_=f"edge {hue}", style="fill:none"), *dots, *legend])


def _above(x: float, y: float, more: float) -> str:
    return label(x + 8, y + 4, f"{more:+.1%}", "dim small") if more > _MOST else ""


def _dot(x: float, y: float, hue: str) -> str:
    return tag("circle", cx=x, cy=y, r=_DOT, class_=f"{hue} solid")
