"""Two bundles side by side: a page, and the same as text."""

from attrs import frozen

from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import table
from target_arch.report.facts.compared import Compared, ComparedModel, Figure, Moved
from target_arch.report.facts.shown import ShownBundle, ShownModel, ShownPool
from target_arch.report.page.page import page
from target_arch.report.pictures.graph import graph_picture
from target_arch.report.pictures.style import used_hues
from target_arch.report.pictures.svg import Picture
from target_arch.report.pictures.timeline import Lane, lanes, timeline_picture

Row = tuple[str, ...]
FIGURE_HEAD = ("", "before", "after", "change")
MOVED_HEAD = ("operator", "before", "after", "cost before", "cost after", "why it is there now")


@frozen(kw_only=True)
class Side:
    """One side of the comparison of a model; `heading` also says which one. `part` is the share of the longer
    run that this one takes.
    """

    name: str
    heading: str
    instances: tuple[tuple[str, str], ...]
    graph: Picture
    timeline: Picture | None
    lanes: tuple[Lane, ...]
    pools: tuple[ShownPool, ...]
    part: float


def comparison_page(found: Compared) -> str:
    """The page, one file that needs nothing beside itself."""
    return page(
        "comparison.html.j2",
        found=found,
        models=[(each, _figure_rows(each), _moved_rows(each), _sides(found, each)) for each in found.models],
        figure_head=FIGURE_HEAD,
        moved_head=MOVED_HEAD,
    )


def comparison_text(found: Compared) -> str:
    """Figures and moved operators of each model, as tables of text."""
    parts = []
    for each in found.models:
        parts.append(f"{_heading(found.before, each.before)}, then {_heading(found.after, each.after)}\n")
        parts.append(table(FIGURE_HEAD, _figure_rows(each), right=(1, 2, 3)))
        moved = _moved_rows(each)
        parts.append("moved\n" + table(MOVED_HEAD, moved, right=(3, 4)) if moved else "no operator moved\n")
    parts += [f"only before: {name}\n" for name in found.only_before]
    parts += [f"only after: {name}\n" for name in found.only_after]
    return "\n".join(parts)


def _heading(shown: ShownBundle, model: ShownModel) -> str:
    return f"{model.name} on {shown.soc.name}, mode {shown.mode}"


def _figure_rows(each: ComparedModel) -> list[Row]:
    return [(f.name, _value(f, f.before), _value(f, f.after), _change(f)) for f in each.figures]


def _value(figure: Figure, value: float | None) -> str:
    if value is None:
        return ""
    return duration(value) if figure.unit == "s" else f"{value:,.0f} {figure.unit}".strip()


def _change(figure: Figure) -> str:
    return "" if figure.change is None else "same" if not figure.change else f"{figure.change:+.1%}"


def _moved_rows(each: ComparedModel) -> list[Row]:
    return [_moved_row(moved) for moved in each.moved]


def _moved_row(moved: Moved) -> Row:
    costs = ("" if cost is None else duration(cost) for cost in (moved.cost_before, moved.cost_after))
    return (moved.operator, moved.before or "", moved.after or "", *costs, moved.reason)


def _sides(found: Compared, each: ComparedModel) -> tuple[Side, Side]:
    runs = [model.run.makespan for model in (each.before, each.after) if model.run is not None]
    longest = max(runs, default=0.0)
    return (
        _side("before", found.before, each.before, longest),
        _side("after", found.after, each.after, longest),
    )


def _side(word: str, shown: ShownBundle, model: ShownModel, longest: float) -> Side:
    soc, run = shown.soc, model.run
    part = run.makespan / longest if run is not None and longest else 1.0
    return Side(
        name=_heading(shown, model),
        heading=f"{word}: {_heading(shown, model)}",
        instances=used_hues(soc, model.used),
        graph=graph_picture(model, soc),
        timeline=None if run is None else timeline_picture(model, run, soc, part),
        lanes=() if run is None else lanes(run, soc),
        pools=model.pools,
        part=part,
    )
