"""The picture of a model: its operators, in the colour of the instance that each is on."""

from collections.abc import Iterator, Mapping, Sequence

from target_arch.plan.printed.reasoning import duration
from target_arch.report.facts.shown import ShownModel, ShownOperator
from target_arch.report.pictures.layers import Point, layers
from target_arch.report.pictures.style import hue_class
from target_arch.report.pictures.svg import Picture, fitted, group, label, number, tag, text_of, tip
from target_arch.soc.model import SoC

_WIDTH, _HEIGHT = 190, 40
_GAP, _FALL = 26, 22
_MARGIN = 12
_MOST_RICH = 3_000
"""Operators up to which each has a second line and a note: every element takes a browser time to open."""


def graph_picture(model: ShownModel, soc: SoC, anchor: str = "") -> Picture:
    """The operators and the inputs they begin with. With an `anchor`, operators link to `#<anchor><id>`."""
    inputs = [each.name for each in model.inputs]
    inputs += [state for state in model.states if state not in inputs]
    names = [*inputs, *(each.id for each in model.operators)]
    numbers = {name: place for place, name in enumerate(names)}
    edges = [
        (numbers[before], numbers[each.id])
        for each in model.operators
        for before in each.before
        if before in numbers
    ]
    laid = layers(len(names), edges, box=(_WIDTH, _HEIGHT), gap=_GAP, fall=_FALL)
    hues = {instance.name: hue_class(place) for place, instance in enumerate(soc.instances)}
    shapes = {each.name: (each.shape, each.dtype) for each in model.inputs}
    middles = {each.id: laid.middles[numbers[each.id]] for each in model.operators}
    nodes = [_input(name, laid.middles[numbers[name]], shapes) for name in inputs]
    if len(model.operators) <= _MOST_RICH:
        nodes += [_node(each, middles[each.id], hues, anchor) for each in model.operators]
    else:
        nodes += _plain_nodes(model.operators, middles, hues, anchor)
    drawn = "".join(f"{_way(way)}" for way in laid.ways)
    path = tag("path", d=drawn, class_="edge rule") if drawn else ""
    body = group([path, *nodes], transform=f"translate({_MARGIN} {_MARGIN})")
    return Picture(
        title=f"the operators of {model.name}",
        width=max(laid.width, _WIDTH) + 2 * _MARGIN,
        height=laid.height + 2 * _MARGIN,
        body=body,
    )


def _way(points: tuple[Point, ...]) -> str:
    """A curve from the bottom of a node through points to the top of another."""
    (x, y), *others = points
    d = [f"M{x:.0f} {y + _HEIGHT / 2:.0f}"]
    y += _HEIGHT / 2
    for place, (to_x, middle) in enumerate(others):
        last = place == len(others) - 1
        to_y = middle - _HEIGHT / 2
        bend = (y + to_y) / 2
        d.append(f"C{x:.0f} {bend:.0f} {to_x:.0f} {bend:.0f} {to_x:.0f} {to_y:.0f}")
        if not last:
            d.append(f"V{middle + _HEIGHT / 2:.0f}")
        x, y = to_x, middle + _HEIGHT / 2
    return "".join(d)


def _input(name: str, middle: Point, shapes: Mapping[str, tuple[tuple[int, ...], str]]) -> str:
    x, y = middle[0] - _WIDTH / 2, middle[1] - _HEIGHT / 2
    shape, dtype = shapes.get(name, ((), "state"))
    kind = f"{dtype} {'x'.join(map(str, shape))}".strip()
    return group(
        [
            tip(f"{name}: {kind}"),
            tag("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=20, class_="box plain"),
            label(middle[0], y + 17, fitted(name, _WIDTH - 24), "ink middle"),
            label(middle[0], y + 32, fitted(kind, _WIDTH - 24, 11), "dim small middle"),
        ]
    )


def _node(each: ShownOperator, middle: Point, hues: Mapping[str, str], anchor: str) -> str:
    x, y = middle[0] - _WIDTH / 2, middle[1] - _HEIGHT / 2
    cost = "" if each.cost is None else f", {duration(each.cost)}"
    hue = hues.get(each.instance, "plain")
    text_width = _WIDTH - 22
    body = group(
        [
            tip(_about(each)),
            tag("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=5, class_=f"box {hue}"),
            *_edge(each, x, y, hues),
            label(x + 14, y + 17, fitted(each.id, text_width), "ink"),
            label(x + 14, y + 32, fitted(each.where + cost, text_width, 11), "dim small"),
        ]
    )
    return tag("a", body, href=f"#{anchor}{each.id}") if anchor else body


def _edge(each: ShownOperator, x: float, y: float, hues: Mapping[str, str]) -> Iterator[str]:
    """The left edge of a box in the colour of its instance, or in those of the shares of a divided one."""
    if each.cut is None:
        hue = hues.get(each.instance, "plain")
        yield tag("rect", x=x, y=y, width=6, height=_HEIGHT, rx=3, class_=f"{hue} solid")
        return
    places = sum(len(share.places) for share in each.cut.shares)
    for share in each.cut.shares:
        height = _HEIGHT * len(share.places) / places
        hue = hues.get(share.instance, "plain")
        yield tag("rect", x=x, y=y, width=6, height=height, class_=f"{hue} solid")
        y += height


def _plain_nodes(
    operators: Sequence[ShownOperator], middles: Mapping[str, Point], hues: Mapping[str, str], anchor: str
) -> Iterator[str]:
    """All boxes of a colour as one element, and a word for each operator."""
    boxes: dict[str, list[str]] = {}
    words = []
    for each in operators:
        x, y = middles[each.id][0] - _WIDTH / 2, middles[each.id][1] - _HEIGHT / 2
        box = f"M{number(x)} {number(y)}h{_WIDTH}v{_HEIGHT}h-{_WIDTH}z"
        boxes.setdefault(hues.get(each.instance, "plain"), []).append(box)
        word = tag("text", text_of(fitted(each.id, _WIDTH - 16)), x=x + 8, y=y + 24)
        words.append(tag("a", word, href=f"#{anchor}{each.id}") if anchor else word)
    for hue in sorted(boxes):
        yield tag("path", d="".join(boxes[hue]), class_=f"box {hue}")
    yield group(words, class_="ink")


def _about(each: ShownOperator) -> str:
    shape = "x".join(map(str, each.shape))
    return f"{each.id} ({each.partition}): {each.dtype} {shape}\non {each.where}: {each.reason}"
