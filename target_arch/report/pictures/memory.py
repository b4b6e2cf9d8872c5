"""The picture of a pool over the steps of a run: every buffer at its place and for its lifetime."""

from target_arch.report.facts.shown import ShownBuffer, ShownModel, ShownPool
from target_arch.report.pictures.axis import grid, marks, percent, zoom_class
from target_arch.report.pictures.style import kind_class
from target_arch.report.pictures.svg import Picture, label, line, tag, tip

_HEIGHT = 220
_TOP = 18
_AXIS = 24
_LABELLED = 16
"""Pixels of height from which a buffer has a label."""
_OUTLINED = 3
"""Pixels of height from which a buffer has an outline."""
_MOST_RICH = 3_000


def memory_picture(model: ShownModel, pool: ShownPool) -> Picture:
    """The pool: steps from left to right, bytes from the bottom up, to its peak."""
    steps = max(len(model.steps), 1)
    rows = max(pool.peak, 1)
    bottom = _TOP + _HEIGHT
    drawn = [
        grid((round(mark) for mark in marks(steps, 12) if mark == round(mark)), steps, _TOP, bottom, _step),
        line("0%", bottom, "100%", bottom, "rule"),
    ]
    rich = len(pool.buffers) <= _MOST_RICH
    ordered = sorted(pool.buffers, key=lambda each: (each.over is not None, each.first, each.offset))
    draw = _buffer if rich else _plain_buffer
    drawn += [draw(each, steps, rows) for each in ordered]
    bound = bottom - _HEIGHT * min(pool.in_place_bound, rows) / rows
    drawn.append(line("0%", bound, "100%", bound, "limit dash"))
    drawn.append(
        label("100%", _TOP - 6, f"peak {pool.peak:,} B of {pool.capacity:,} B", "dim small end", dx=-4)
    )
    drawn.append(
        label(
            4,
            _TOP - 6,
            f"dashed: {pool.in_place_bound:,} B that no plan of these steps can do without",
            "dim small",
        )
    )
    return Picture(
        title=f"{pool.name} over the steps of {model.name}",
        width=None,
        height=bottom + _AXIS,
        body="".join(drawn),
    )


def _step(number: float) -> str:
    return f"step {number:.0f}" if number else "0"


def _plain_buffer(each: ShownBuffer, steps: int, rows: int) -> str:
    x, width, y, height = _place(each, steps, rows)
    return tag("rect", x=x, y=y, width=width, height=height, class_=kind_class(each.kind))


def _place(each: ShownBuffer, steps: int, rows: int) -> tuple[str, str, float, float]:
    """Abscissa and width, ordinate and height."""
    height = max(_HEIGHT * each.bytes / rows, 0.75)
    y = _TOP + _HEIGHT - _HEIGHT * each.offset / rows - height
    return percent(each.first, steps), percent(each.last - each.first + 1, steps), y, height


def _buffer(each: ShownBuffer, steps: int, rows: int) -> str:
    x, width, y, height = _place(each, steps, rows)
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
