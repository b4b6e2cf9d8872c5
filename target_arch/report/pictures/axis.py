"""Axes: round places for marks, and grids of percentages."""

from collections.abc import Callable, Iterable, Iterator
from math import floor, log10

from target_arch.report.pictures.svg import label, line, width_of

_DRAWN = 1040
"""Pixels that a picture of percentages takes at least when it is not zoomed."""
_LAST = 0.94
"""The part of an axis after which no word has room."""


def marks(end: float, most: int) -> Iterator[float]:
    """At most `most` round places from 0 to the end, 0 included: multiples of 1, 2 or 5 of a power of ten."""
    step = 10.0 ** floor(log10(end / most)) if end > 0 else 1.0
    step = next(step * factor for factor in (1, 2, 5, 10) if end / (step * factor) < most)
    yield from (index * step for index in range(int(end / step + 1e-9) + 1))


def percent(part: float, whole: float) -> str:
    """The part in percent of the whole, as an abscissa."""
    return f"{100 * part / whole:.4f}".rstrip("0").rstrip(".") + "%" if whole else "0%"


def grid(ends: Iterable[float], whole: float, top: float, bottom: float, said: Callable[[float], str]) -> str:
    """Vertical hairs at these places with a word below each."""
    drawn = []
    for place in ends:
        x = percent(place, whole)
        drawn.append(line(x, top, x, bottom, "hair"))
        if place <= whole * _LAST:
            drawn.append(label(x, bottom + 14, said(place), "dim small", dx=3))
    return "".join(drawn)


def zoom_class(part: float, text: str) -> str | None:
    """The class of a label that fits that part of the width from some zoom on; None where it never does."""
    needed = width_of(text, 11) + 8
    return next(
        (f"z{zoom}" if zoom > 1 else "" for zoom in (1, 4, 16, 64) if part * zoom * _DRAWN >= needed), None
    )
