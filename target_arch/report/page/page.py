"""The report of a bundle: one file of HTML."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from attrs import frozen
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import target_arch
from target_arch.plan.manifest.model import TimingEntry
from target_arch.plan.memory import BufferKind
from target_arch.plan.printed.reasoning import duration
from target_arch.report.facts.shown import ShownBundle, ShownImage, ShownModel, ShownPool, ShownRun
from target_arch.report.pictures import budgets as waterfall
from target_arch.report.pictures.budgets import budgets_picture, by_pool
from target_arch.report.pictures.chip import chip_picture, stacked_chip
from target_arch.report.pictures.frames import curve_bytes, frames_picture
from target_arch.report.pictures.graph import graph_picture
from target_arch.report.pictures.image import LEGEND as image_legend
from target_arch.report.pictures.image import image_picture
from target_arch.report.pictures.memory import bytes_axis, first_sight, memory_picture, memory_text
from target_arch.report.pictures.pools import pool_bar, pool_text
from target_arch.report.pictures.style import DARK, LIGHT, Theme, kind_class, stylesheet, used_hues
from target_arch.report.pictures.svg import Picture
from target_arch.report.pictures.timeline import (
    ZOOMS,
    Lane,
    Opening,
    lanes,
    legend,
    opening,
    timeline_picture,
)
from target_arch.report.pictures.workload import workload_picture
from target_arch.soc.text import COPY_HEAD, copy_rows

_FOLDER = Path(__file__).parent
_NEARLY_EMPTY = 0.1
"""Pools below that part of their memory are folded together."""
NOT_MOVED = Opening(zoom=1, start=0.0)
_MOST_ROWS = 2_000
"""Rows up to which a table is written out, and operators that have one each: a browser opens the page."""


@frozen(kw_only=True)
class PoolView:
    """A pool with its picture over the steps, the part of these that is left of what is seen first, the axis
    beside it, and what both show in words.
    """

    pool: ShownPool
    picture: Picture
    start: float
    axis: Picture
    text: str


@frozen(kw_only=True)
class ModelView:
    """A model with its pictures. `anchor` begins the names of its parts, `before` the links to them."""

    model: ShownModel
    anchor: str
    before: str
    links: tuple[tuple[str, str], ...]
    instances: tuple[tuple[str, str], ...]
    graph: Picture
    timeline: Picture | None
    timeline_legend: tuple[tuple[str, str], ...]
    lanes: tuple[Lane, ...]
    frames: Picture | None
    curve: tuple[tuple[str, ...], ...]
    opening: Opening
    kinds: tuple[tuple[str, str], ...]
    memories: tuple[PoolView, ...]
    folded: tuple[PoolView, ...]
    budgets: tuple[tuple[str, Picture, tuple[tuple[str, ...], ...]], ...]
    turns: tuple[tuple[str, str, tuple[str, ...]], ...]
    layers: tuple[tuple[str, ...], ...]
    partitions: tuple[tuple[str, ...], ...]
    attempts: tuple[tuple[str, ...], ...]


@frozen(kw_only=True)
class ImageView:
    """A linked program with its picture; `sections` and `fills` are the rows of its tables."""

    image: ShownImage
    picture: Picture
    sections: tuple[tuple[str, ...], ...]
    fills: tuple[tuple[str, ...], ...]


def report_page(shown: ShownBundle) -> str:
    """The page: everything inside, readable without JavaScript. Same values, same bytes."""
    return page(
        "page.html.j2",
        shown=shown,
        views=[_view(shown, number) for number in range(len(shown.models))],
        chip=chip_picture(shown.soc),
        stacked=stacked_chip(shown.soc),
        workload=workload_picture(_timings(shown)),
        timings=list(_timing_rows(shown)),
        nearly_empty=f"{_NEARLY_EMPTY:.0%}",
        copies=copy_rows(shown.soc),
        copy_head=COPY_HEAD,
        crowded=any(len(model.operators) > _MOST_ROWS for model in shown.models),
        budget_legend=waterfall.LEGEND,
        pools=[(name, f"{room:,}", f"{used:,}") for name, (room, used) in shown.pools.items()],
        constants=list(_constants(shown)),
        images=[_image(image) for image in shown.images],
        image_legend=image_legend,
    )


def _timings(shown: ShownBundle) -> list[tuple[str, TimingEntry]]:
    return [(model.name, model.timing) for model in shown.models if model.timing is not None]


def _timing_rows(shown: ShownBundle) -> Iterator[tuple[str, ...]]:
    for name, timing in _timings(shown):
        times = (timing.period, timing.deadline, timing.run, timing.longest_step, timing.worst_response)
        yield name, *map(duration, times), str(timing.priority)


def page(template: str, **values: object) -> str:
    """A template of this folder, filled; text is escaped wherever it goes."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "duration": duration,
        "count": _count,
        "gap": gap_text,
        "buffer_rows": _buffer_rows,
        "pool_bar": pool_bar,
        "pool_text": pool_text,
        "prose": _prose,
    }
    style = Markup(_variables() + (_FOLDER / "page.css").read_text(encoding="utf-8") + stylesheet())
    script = Markup((_FOLDER / "page.js").read_text(encoding="utf-8"))
    return made.get_template(template).render(
        **values,
        zooms=ZOOMS,
        style=style,
        script=script,
        version=target_arch.__version__,
        most_rows=_MOST_ROWS,
    )


def gap_text(bound: float, run: ShownRun) -> str:
    """How far a run is above a bound, in percent."""
    return f"{run.makespan / bound - 1:.1%}" if bound else "0%"


def _view(shown: ShownBundle, number: int) -> ModelView:
    model, soc = shown.models[number], shown.soc
    several = len(shown.models) > 1
    anchor = f"m{number}-" if several else ""
    budgets = by_pool(model.budgets)
    pools = _pool_views(model)
    folded = _folded(pools)
    kinds = sorted({each.kind for pool in model.pools for each in pool.buffers})
    return ModelView(
        model=model,
        anchor=anchor,
        before=f"{model.name}: " if several else "",
        links=tuple(_links(model)),
        instances=used_hues(soc, model.used),
        graph=graph_picture(model, soc, f"{anchor}op-"),
        timeline=None if model.run is None else timeline_picture(model, model.run, soc),
        timeline_legend=() if model.run is None else legend(model.run, soc),
        lanes=() if model.run is None else lanes(model.run, soc),
        frames=None if model.frames is None else frames_picture(model.frames),
        curve=tuple(_curve(model)),
        opening=NOT_MOVED if model.run is None else opening(model.run),
        kinds=tuple((kind_class(kind), kind) for kind in kinds),
        memories=tuple(each for each in pools if each not in folded),
        folded=folded,
        budgets=tuple(
            (pool, budgets_picture(pool, every), tuple(map(waterfall.in_numbers, every)))
            for pool, every in budgets.items()
        ),
        turns=tuple(_turns(model)),
        partitions=tuple(
            (each.id, each.instance, ", ".join(each.operators), each.reason, "; ".join(each.notes))
            for each in model.partitions
        ),
        layers=tuple(_layers(model)),
        attempts=tuple((a.kind, a.operator, a.instance, a.outcome, a.reason) for a in model.attempts),
    )


def _pool_views(model: ShownModel) -> tuple[PoolView, ...]:
    """The pools of a model."""
    return tuple(
        PoolView(
            pool=pool,
            picture=memory_picture(model, pool),
            start=first_sight(model, pool),
            axis=bytes_axis(pool),
            text=memory_text(pool),
        )
        for pool in model.pools
    )


def _folded(pools: Sequence[PoolView]) -> tuple[PoolView, ...]:
    """The pools that are nearly empty, where others are not."""
    empty = [each for each in pools if each.pool.peak < _NEARLY_EMPTY * each.pool.capacity]
    return tuple(empty) if len(empty) < len(pools) else ()


def _image(image: ShownImage) -> ImageView:
    return ImageView(
        image=image,
        picture=image_picture(image),
        sections=tuple(
            (each.memory, each.section, each.what, f"{each.predicted:,}", f"{each.linked or 0:,}")
            for each in image.sections
        ),
        fills=tuple(
            (name, f"{room:,}", f"{used:,}", f"{room - used:,}") for name, room, used in image.memories
        ),
    )


def _links(model: ShownModel) -> Iterator[tuple[str, str]]:
    yield "model", "Model"
    if model.run is not None:
        yield "timeline", "Timeline"
    if model.frames is not None:
        yield "frames", "Frames"
    yield "memory", "Memory"
    if model.budgets:
        yield "budgets", "Budgets"
    yield "lowering", "Lowering"
    yield "verification", "Verification"


def _curve(model: ShownModel) -> Iterator[tuple[str, ...]]:
    for each in () if model.frames is None else model.frames.curve:
        yield str(each.frames), duration(each.period), f"{curve_bytes(each):,}"


def _layers(model: ShownModel) -> Iterator[tuple[str, ...]]:
    """The rows of the operators that were compared one by one; those that are wrong first."""
    compared = None if model.verification is None else model.verification.layers
    for each in sorted(() if compared is None else compared.layers, key=lambda layer: layer.passed):
        numbers = (f"{each.elements:,}", f"{each.differ:,}", f"{each.largest:g}")
        said = "right" if each.passed else "WRONG"
        yield each.operator, each.kind, each.on, *numbers, each.exact, said, each.first_wrong


def _turns(model: ShownModel) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Turns of one phase and reason that follow each other, together."""
    for (phase, reason), slots in groupby(model.lowering, key=lambda slot: (slot.phase, slot.reason)):
        yield phase, reason, tuple(slot.partition for slot in slots)


def _constants(shown: ShownBundle) -> Iterator[tuple[str, str, str]]:
    for model in shown.models:
        for pool in model.pools:
            if any(each.kind == BufferKind.CONSTANT for each in pool.buffers) and pool.name != pool.memory:
                yield model.name, pool.memory, f"{pool.peak:,}"


def _buffer_rows(pool: ShownPool) -> list[tuple[str, ...]]:
    return [
        (
            each.name,
            each.kind,
            f"{each.offset:,}",
            f"{each.bytes:,}",
            f"{each.first} to {each.last}",
            each.over or "",
            ", ".join(name for name, _, _ in each.holds),
        )
        for each in sorted(pool.buffers, key=lambda each: (each.first, each.offset, each.name))
    ]


def _prose(text: str) -> Markup:
    """Text with words in backticks as code."""
    pieces = [escape(piece) for piece in text.split("`")]
    if len(pieces) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else piece
        for number, piece in enumerate(pieces)
    )


def _count(value: int) -> str:
    return f"{value:,}"


def _variables() -> str:
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{_palette(DARK)}}}}}\n"
    return f":root{{color-scheme:light dark;{_palette(LIGHT)}}}{dark}"


def _palette(theme: Theme) -> str:
    names = ("page", "surface", "sunken", "ink", "dim", "hair", "bad", "good")
    colours = {name: getattr(theme, name) for name in names} | {"link": theme.hues[0]}
    return "".join(f"--{name}:#{colour};" for name, colour in colours.items())
