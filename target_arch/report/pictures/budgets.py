"""The budgets of accelerators as a waterfall: the bytes of a memory at each lowering, in order."""

from collections.abc import Iterable, Sequence

from target_arch.report.facts.shown import ShownBudget
from target_arch.report.pictures.axis import grid, marks, percent
from target_arch.report.pictures.svg import Picture, fitted, group, label, tag, tip

_ROW = 24
_BAR = 16
_AXIS = 24
_NAME = 250
_NUMBERS = 240
_WIDTH = 1200

LEGEND = (
    ("k-activation", "live, of others"),
    ("k-local", "used by the kernel"),
    ("k-input", "guaranteed, not used"),
    ("wait", "alignment and holes"),
)
"""Classes and words for the colours of a waterfall."""


def budgets_picture(pool: str, budgets: Sequence[ShownBudget]) -> Picture:
    """One bar per partition and set of equal call sites, each as long as the memory."""
    whole = max(budget.capacity for budget in budgets)
    height = len(budgets) * _ROW
    bars = [grid(marks(whole, 8), whole, 0, height, _bytes)]
    names = []
    for number, budget in enumerate(budgets):
        bars.append(_bar(budget, number * _ROW, whole))
        y = number * _ROW + 16
        names.append(label(0, y, fitted(_name(budget), _NAME - 10), "ink"))
        names.append(label(_WIDTH - _NUMBERS + 12, y, fitted(_said(budget), _NUMBERS - 14, 11), "dim small"))
    chart = tag("svg", "".join(bars), x=_NAME, width=_WIDTH - _NAME - _NUMBERS, height=height + _AXIS)
    return Picture(
        title=f"budgets in {pool}", width=_WIDTH, height=height + _AXIS, body="".join([chart, *names])
    )


def by_pool(budgets: Iterable[ShownBudget]) -> dict[str, list[ShownBudget]]:
    """The budgets of each memory, in the order of lowering."""
    found: dict[str, list[ShownBudget]] = {}
    for budget in budgets:
        found.setdefault(budget.pool, []).append(budget)
    return {pool: found[pool] for pool in sorted(found)}


def in_numbers(budget: ShownBudget) -> tuple[str, str, str, str]:
    """The bar in words: its name, and bytes live, used and offered."""
    used = "" if budget.used is None else f"{budget.used:,}"
    return _name(budget), f"{budget.live:,}", used, f"{budget.guaranteed:,}"


def _bytes(value: float) -> str:
    return f"{value:,.0f} B"


def _name(budget: ShownBudget) -> str:
    more = f" and {len(budget.sites) - 1} more" if len(budget.sites) > 1 else ""
    return f"{budget.partition}: {budget.sites[0]}{more}"


def _said(budget: ShownBudget) -> str:
    used = "" if budget.used is None else f", used {budget.used:,}"
    return f"offered {budget.guaranteed:,} B{used}"


def _bar(budget: ShownBudget, top: float, whole: int) -> str:
    """Live bytes, those lost to alignment and holes, the used part of the offer, and its rest."""
    used = min(budget.used or 0, budget.guaranteed)
    parts = (
        (budget.live, "k-activation"),
        (budget.gap, "wait"),
        (used, "k-local"),
        (budget.guaranteed - used, "k-input"),
    )
    y, start, drawn = top + (_ROW - _BAR) / 2, 0, []
    for size, class_ in parts:
        if size > 0:
            x, width = percent(start, whole), percent(size, whole)
            drawn.append(tag("rect", x=x, y=y, width=width, height=_BAR, class_=class_))
            start += size
    about = (
        f"{', '.join(budget.sites)}\n{budget.capacity:,} B less {budget.live:,} B live less "
        f"{budget.gap:,} B of alignment and holes: {budget.guaranteed:,} B offered"
    )
    return group([tip(about), *drawn])
