"""How full every pool is: peak and bound against the capacity of its memory."""

from collections.abc import Sequence

from target_arch.report.facts.shown import ShownPool
from target_arch.report.pictures.axis import percent
from target_arch.report.pictures.svg import Picture, fitted, group, label, line, tag, tip

_ROW = 30
_BAR = 14
_NAME = 170
_NUMBERS = 390
_WIDTH = 1200


def pools_picture(pools: Sequence[ShownPool]) -> Picture:
    """One bar per pool; each is as long as its memory, whatever that has."""
    drawn = []
    for number, pool in enumerate(pools):
        y = number * _ROW
        drawn.append(label(0, y + 20, fitted(pool.name, _NAME - 10), "ink strong"))
        drawn.append(
            label(_WIDTH - _NUMBERS + 12, y + 20, fitted(pool_text(pool), _NUMBERS - 14, 11), "dim small")
        )
        drawn.append(
            tag("svg", _bar(pool), x=_NAME, y=y + 8, width=_WIDTH - _NAME - _NUMBERS, height=_BAR + 4)
        )
    return Picture(title="pools", width=_WIDTH, height=max(len(pools), 1) * _ROW + 6, body="".join(drawn))


def pool_bar(pool: ShownPool) -> Picture:
    """The bar of one pool, as wide as there is room."""
    return Picture(title=f"{pool.name}: {pool_text(pool)}", width=None, height=_BAR, body=_bar(pool))


def pool_text(pool: ShownPool) -> str:
    """How full a pool gets."""
    part = pool.peak / pool.capacity if pool.capacity else 0
    gap = pool.peak - pool.in_place_bound
    over = f", {gap:,} B above the bound" if gap else ", at the bound"
    return f"{pool.peak:,} of {pool.capacity:,} B ({part:.1%}){over}"


def _bar(pool: ShownPool) -> str:
    bound = percent(pool.in_place_bound, pool.capacity)
    return group(
        [
            tip(pool_text(pool)),
            tag("rect", width="100%", height=_BAR, rx=2, class_="free"),
            tag("rect", width=percent(pool.peak, pool.capacity), height=_BAR, rx=2, class_="k-input"),
            line(bound, 0, bound, _BAR, "limit"),
        ]
    )
