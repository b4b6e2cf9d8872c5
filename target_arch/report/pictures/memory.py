"""The picture of a pool over the steps of a run: every buffer at its place and for its lifetime, on an axis
of bytes that ends at the capacity of the memory.
"""

from collections.abc import Iterator

from attrs import frozen

from target_arch.report.facts.shown import ShownBuffer, ShownModel, ShownPool
from target_arch.report.pictures.axis import grid, marks, percent, zoom_class
from target_arch.report.pictures.style import kind_class
from target_arch.report.pictures.svg import Picture, label, line, tag, tip

_HEIGHT = 220
_TOP = 18
_AXIS = 24
_BREAK = 34
"""Pixels between the peak and the capacity where the axis is broken."""
_FULLER = 4
"""An axis is broken where the capacity is more than so many peaks."""
_APART = 16
"""Pixels between two words of the axis."""
AXIS_WIDTH = 92
"""Pixels of the axis of bytes."""
_LABELLED = 16
"""Pixels of height from which a buffer has a label."""
_OUTLINED = 3
"""Pixels of height from which a buffer has an outline."""
_MOST_RICH = 3_000


@frozen(kw_only=True)
class MemoryScale:
    """Bytes and pixels of a picture: `rows` bytes are `height` pixels, from the bottom up; above them, up to
    the capacity, the axis is broken where it is not `whole`.
    """

    rows: int
    height: float
    whole: bool

    def y(self, place: int) -> float:
        """The ordinate of a byte."""
        return _TOP + _HEIGHT - self.height * place / self.rows


def scale(pool: ShownPool) -> MemoryScale:
    """The axis of a pool: to its capacity, broken where the peak is a small part of that."""
    peak = max(pool.peak, 1)
    if pool.capacity > _FULLER * peak:
        return MemoryScale(rows=peak, height=_HEIGHT - _BREAK, whole=False)
    return MemoryScale(rows=max(pool.capacity, peak), height=_HEIGHT, whole=True)


def memory_picture(model: ShownModel, pool: ShownPool) -> Picture:
    """The pool: steps from left to right, bytes from the bottom up, to its capacity."""
    steps, axis, bottom = max(len(model.steps), 1), scale(pool), _TOP + _HEIGHT
    drawn = [
        *_room(axis),
        grid((round(mark) for mark in marks(steps, 12) if mark == round(mark)), steps, _TOP, bottom, _step),
        line("0%", bottom, "100%", bottom, "rule"),
        line("0%", _TOP, "100%", _TOP, "rule"),
    ]
    rich = len(pool.buffers) <= _MOST_RICH
    ordered = sorted(pool.buffers, key=lambda each: (each.over is not None, each.first, each.offset))
    draw = _buffer if rich else _plain_buffer
    drawn += [draw(each, steps, axis) for each in ordered]
    bound = axis.y(min(pool.in_place_bound, axis.rows))
    drawn.append(line("0%", bound, "100%", bound, "limit dash"))
    return Picture(
        title=f"{pool.name} over the steps of {model.name}",
        width=None,
        height=bottom + _AXIS,
        body="".join(drawn),
    )


def first_sight(model: ShownModel, pool: ShownPool) -> float:
    """The part of the run after which the largest buffer begins to live."""
    largest = max(pool.buffers, key=lambda each: each.bytes, default=None)
    return 0.0 if largest is None else max(largest.first - 1, 0) / max(len(model.steps), 1)


def bytes_axis(pool: ShownPool) -> Picture:
    """The axis of bytes beside the picture of a pool: round places, the peak and the capacity."""
    axis = scale(pool)
    drawn = [label(AXIS_WIDTH - 8, y + 4, text, f"{look} small end") for y, text, look in _words(pool, axis)]
    body, height = "".join(drawn), _TOP + _HEIGHT + _AXIS
    return Picture(title=f"bytes of {pool.name}", width=AXIS_WIDTH, height=height, body=body)


def named_memory(model: ShownModel, pool: ShownPool, width: float = 1200) -> Picture:
    """The picture with its axis, for a file of its own."""
    inner = memory_picture(model, pool)
    words = label(AXIS_WIDTH, _TOP - 6, memory_text(pool), "dim small")
    chart = tag("svg", inner.body, x=AXIS_WIDTH, width=width - AXIS_WIDTH - 8, height=inner.height)
    body = "".join([bytes_axis(pool).body, words, chart])
    return Picture(title=inner.title, width=width, height=inner.height, body=body)


def memory_text(pool: ShownPool) -> str:
    """The picture of a pool in words: a sentence without its full stop."""
    bound = f"dashed: {pool.in_place_bound:,} B that no plan of these steps can do without"
    return f"peak {pool.peak:,} B of {pool.capacity:,} B; {bound}"


def _room(axis: MemoryScale) -> Iterator[str]:
    """The free room up to the capacity; where the axis is broken, with a mark that it is."""
    yield tag("rect", x="0%", y=_TOP, width="100%", height=_HEIGHT, class_="sunken")
    if not axis.whole:
        middle = _TOP + _BREAK / 2
        yield line("0%", middle - 2, "100%", middle - 2, "hair dash")
        yield line("0%", middle + 2, "100%", middle + 2, "hair dash")


def _words(pool: ShownPool, axis: MemoryScale) -> Iterator[tuple[float, str, str]]:
    """Ordinates of the axis with a word and its class: capacity and peak, and round places that are not near
    them.
    """
    taken = [float(_TOP)]
    yield _TOP, f"{pool.capacity:,} B", "strong"
    peak = axis.y(pool.peak)
    if peak - _TOP >= _APART:
        taken.append(peak)
        yield peak, f"{pool.peak:,}", "ink"
    for mark in marks(axis.rows, 5):
        y = axis.y(round(mark))
        if all(abs(y - other) >= _APART for other in taken):
            yield y, f"{round(mark):,}", "dim"


def _step(number: float) -> str:
    return f"step {number:.0f}" if number else "0"


def _plain_buffer(each: ShownBuffer, steps: int, axis: MemoryScale) -> str:
    x, width, y, height = _place(each, steps, axis)
    return tag("rect", x=x, y=y, width=width, height=height, class_=kind_class(each.kind))


def _place(each: ShownBuffer, steps: int, axis: MemoryScale) -> tuple[str, str, float, float]:
    """Abscissa and width, ordinate and height."""
    height = max(axis.height * each.bytes / axis.rows, 0.75)
    y = axis.y(each.offset) - height
    return percent(each.first, steps), percent(each.last - each.first + 1, steps), y, height


def _buffer(each: ShownBuffer, steps: int, axis: MemoryScale) -> str:
    x, width, y, height = _place(each, steps, axis)
    look = "solid" if height < _OUTLINED else "box"
    inside = [
        tip(_about(each)),
        tag("rect", width="100%", height=height, class_=f"{kind_class(each.kind)} {look}"),
    ]
    inside += [_held(offset, size, each, height) for _, offset, size in each.holds]
    if each.over is not None:
        inside.append(line(1.5, 0, 1.5, height, "limit box"))
    zoomed = zoom_class((each.last - each.first + 1) / steps, each.name)
    if height >= _LABELLED and zoomed is not None:
        inside.append(label(5, height / 2 + 4, each.name, f"ink small {zoomed}".strip()))
    return tag("svg", "".join(inside), x=x, y=y, width=width, height=height)


def _held(offset: int, size: int, each: ShownBuffer, height: float) -> str:
    """A tensor inside a buffer, as a dashed line at its start and end."""
    top = height - height * (offset + size) / each.bytes
    return line("0%", top, "100%", top, "rule dash thin") if 0 < top < height else ""


def _about(each: ShownBuffer) -> str:
    said = [
        f"{each.name} ({each.kind})",
        f"{each.bytes:,} B from byte {each.offset:,} on, steps {each.first} to {each.last}",
    ]
    said += [f"in the bytes of {each.over}"] if each.over else []
    said += [f"holds {name}: {size:,} B from its byte {offset:,} on" for name, offset, size in each.holds]
    return "\n".join(said)
