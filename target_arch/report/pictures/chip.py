"""The picture of a chip: its target_archs, its memories, and the copy paths between them.

Three columns. Left the host and the memories that it sees, in the middle the engines that copy, right every
other instance with the memories that are its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from attrs import frozen

from target_arch.report.pictures.style import hue_class
from target_arch.report.pictures.svg import Picture, fitted, group, label, tag, tip, width_of
from target_arch.soc.model import HOST_ENGINE, CopyPath, Instance, Memory, SoC
from target_arch.soc.units import BANDWIDTH, FREQUENCY, SIZE, TIME, written

_WIDTH = 290
_ENGINE = 230
_GAP = 130
_LINE = 16
_PAD = 10
_SPACE = 14
_MARGIN = 12


@frozen(kw_only=True)
class Box:
    """A box with lines of text, the first of them its name; `inside` are boxes that it encloses."""

    name: str
    lines: tuple[str, ...]
    class_: str
    x: float
    y: float
    width: float
    height: float
    inside: tuple["Box", ...] = ()

    @property
    def every(self) -> tuple["Box", ...]:
        """The box and those inside of it."""
        return (self, *self.inside)


def chip_picture(soc: SoC) -> Picture:
    """The chip as it is described; nothing of a model."""
    right_x = _MARGIN + _WIDTH + _GAP + _ENGINE + _GAP
    left = _column(_left(soc), _MARGIN)
    right = _column(_right(soc), right_x)
    places = {box.name: box for column in (left, right) for outer in column for box in outer.every}
    engines = _engines(soc, places, bool(right))
    boxes = (*left, *engines, *right)
    width = max(box.x + box.width for box in boxes) + _MARGIN
    height = max(box.y + box.height for box in boxes) + _MARGIN
    drawn = [*map(_drawn, boxes), *_edges(soc, places, {box.name: box for box in engines})]
    return Picture(title=f"the chip {soc.name}", width=width, height=height, body="".join(drawn))


def stacked_chip(soc: SoC) -> Picture:
    """The same below each other, for narrow pages: an engine says in words what it reads and writes."""
    engines = [_box(name, _engine_in_words(soc, name), "card") for name in _engine_names(soc)]
    boxes = _column((*_left(soc), *engines, *_right(soc)), 1)
    height = max(box.y + box.height for box in boxes) + _MARGIN
    body = "".join(map(_drawn, boxes))
    return Picture(title=f"the chip {soc.name}", width=_WIDTH + 2, height=height, body=body)


def _engine_names(soc: SoC) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.engine for path in soc.copies))


def _engine_in_words(soc: SoC, name: str) -> list[str]:
    paths = [path for path in soc.copies if path.engine == name]
    lines = _engine(soc, name, paths)
    lines += _wrapped("reads", dict.fromkeys(path.source for path in paths))
    return lines + _wrapped("writes", dict.fromkeys(path.target for path in paths))


def _wrapped(before: str, names: Iterable[str]) -> list[str]:
    """The names in as many lines as they need."""
    lines, start = [], before
    for name in names:
        longer = f"{start} {name},"
        if start != before and width_of(longer, 11) > _WIDTH - 2 * _PAD:
            lines.append(start)
            longer = f"{name},"
        start = longer
    return [*lines, start.rstrip(",")]


def _left(soc: SoC) -> list[Box]:
    (host,) = (instance for instance in soc.instances if instance.arch.host)
    seen = [memory for memory in soc.memories if memory.base is not None]
    return [_card(soc, host, ()), *(_box(memory.name, _memory(memory), "plain") for memory in seen)]


def _right(soc: SoC) -> list[Box]:
    """The cards of instances, then the memories that several of them share."""
    owners = {memory.name: _owners(soc, memory) for memory in soc.memories if memory.base is None}
    own = {name: found[0] for name, found in owners.items() if len(found) == 1}
    cards = [
        _card(soc, instance, [memory for memory in soc.memories if own.get(memory.name) == instance.name])
        for instance in soc.instances
        if not instance.arch.host
    ]
    shared = [memory for memory in soc.memories if memory.name in owners and memory.name not in own]
    return cards + [_box(memory.name, _memory(memory), "plain") for memory in shared]


def _owners(soc: SoC, memory: Memory) -> list[str]:
    return [each.name for each in soc.instances if not each.arch.host and soc.sees(each, memory.name)]


def _card(soc: SoC, instance: Instance, memories: Iterable[Memory]) -> Box:
    arch = instance.arch
    number = soc.instances.index(instance)
    clock = f", {written(arch.clock, FREQUENCY)}" if arch.clock else ""
    lines = [instance.name + (" (host)" if arch.host else ""), f"{arch.backend}{clock}, {instance.device}"]
    lines.append(f"program: {_load(instance)}")
    lines += _reaches(soc, instance)
    inside = tuple(_box(memory.name, _memory(memory), "plain") for memory in memories)
    box = _box(instance.name, lines, hue_class(number))
    grown = sum(each.height + _SPACE / 2 for each in inside) + (_PAD / 2 if inside else 0)
    return Box(
        name=box.name, lines=box.lines, class_=box.class_, x=0, y=0,
        width=_WIDTH, height=box.height + grown, inside=inside,
    )  # fmt: skip


def _load(instance: Instance) -> str:
    load = instance.arch.load
    bytes_ = f", {written(load.bytes, SIZE)}" if load.bytes else ""
    return load.process + bytes_ + (f", {written(load.time, TIME)}" if load.time else "")


def _reaches(soc: SoC, instance: Instance) -> list[str]:
    """The host's memories that an accelerator sees, too."""
    if instance.arch.host:
        return []
    seen = [
        f"{memory.name} at {memory.observers[instance.arch.name]:#x}"
        for memory in soc.memories
        if memory.base is not None and instance.arch.name in memory.observers
    ]
    return [f"sees {each}" for each in seen]


def _memory(memory: Memory) -> list[str]:
    speed = [
        f"{way} {written(rate, BANDWIDTH)}"
        for way, rate in (("read", memory.read_bandwidth), ("write", memory.write_bandwidth))
        if rate is not None
    ]
    speed += [written(memory.latency, TIME)] if memory.latency else []
    where = [] if memory.base is None else [f"at {memory.base:#x}"]
    where += ["cached"] if memory.cached else []
    where += [] if memory.writable else ["read-only"]
    lines = [f"{memory.name}, {written(memory.size, SIZE)}", ", ".join(speed), ", ".join(where)]
    return [each for each in lines if each]


def _box(name: str, lines: Sequence[str], class_: str, width: float = _WIDTH) -> Box:
    height = len(lines) * _LINE + 2 * _PAD - 4
    return Box(name=name, lines=tuple(lines), class_=class_, x=0, y=0, width=width, height=height)


def _column(boxes: Iterable[Box], x: float) -> tuple[Box, ...]:
    """The boxes below each other, and in each the boxes inside of it."""
    placed, y = [], float(_MARGIN)
    for box in boxes:
        placed.append(_at(box, x, y))
        y += box.height + _SPACE
    return tuple(placed)


def _at(box: Box, x: float, y: float) -> Box:
    inside, below = [], y + len(box.lines) * _LINE + 2 * _PAD - 4
    for each in box.inside:
        inside.append(
            Box(
                name=each.name, lines=each.lines, class_=each.class_, x=x + _PAD, y=below,
                width=box.width - 2 * _PAD, height=each.height,
            )
        )  # fmt: skip
        below += each.height + _SPACE / 2
    return Box(
        name=box.name, lines=box.lines, class_=box.class_, x=x, y=y, width=box.width, height=box.height,
        inside=tuple(inside),
    )  # fmt: skip


def _engines(soc: SoC, places: Mapping[str, Box], has_right: bool) -> tuple[Box, ...]:
    """The engines that copy, each as near as possible to the memories it connects."""
    wanted = []
    for name in _engine_names(soc):
        paths = [path for path in soc.copies if path.engine == name]
        ends = [places[end] for path in paths for end in (path.source, path.target) if end in places]
        box = _box(name, _engine(soc, name, paths), "card", _ENGINE)
        wanted.append((mean(end.y + end.height / 2 for end in ends) - box.height / 2, box))
    x, y, placed = _MARGIN + _WIDTH + _GAP, float(_MARGIN), []
    for middle, box in sorted(wanted, key=lambda each: (each[0], each[1].name)):
        placed.append(_at(box, x, max(y, middle)))
        y = placed[-1].y + box.height + _SPACE
    return tuple(placed)


def _engine(soc: SoC, name: str, paths: Iterable[CopyPath]) -> list[str]:
    if name == HOST_ENGINE:
        lines = [f"copies by {soc.host.name}", "synchronous"]
    else:
        channels = soc.dma(name).channels
        lines = [name, f"asynchronous, {channels} channel{'s' if channels > 1 else ''}"]
    speeds = dict.fromkeys(_speed(path) for path in paths)
    return lines + [speed for speed in speeds if speed][:3]


def _speed(path: CopyPath) -> str:
    said = [] if path.bandwidth is None else [written(path.bandwidth, BANDWIDTH)]
    said += [f"set-up {written(path.setup, TIME)}"] if path.setup else []
    return ", ".join([*said, "2-D"] if path.dimensions > 1 else said)


def _edges(soc: SoC, places: Mapping[str, Box], engines: Mapping[str, Box]) -> list[str]:
    """One line for each engine and memory, with an arrow at each end at which bytes arrive."""
    reads = {(path.engine, path.source) for path in soc.copies}
    writes = {(path.engine, path.target) for path in soc.copies}
    links = sorted(each for each in reads | writes if each[1] in places)
    drawn = []
    for engine, memory in links:
        box, place = engines[engine], places[memory]
        on_left = place.x < box.x
        x1, x2 = (place.x + place.width, box.x) if on_left else (place.x, box.x + box.width)
        y1 = _port(place, [e for e, m in links if m == memory], engine, engines)
        same_side = [m for e, m in links if e == engine and (places[m].x < box.x) == on_left]
        y2 = _port(box, same_side, memory, places)
        ends = ((engine, memory) in writes, (engine, memory) in reads)
        drawn.append(_edge(x1, y1, x2, y2, ends, f"{memory} and {engine}"))
    return drawn


def _port(box: Box, others: Iterable[str], other: str, places: Mapping[str, Box]) -> float:
    """The ordinate at which the line to `other` meets the box; lines do not meet each other there."""
    ordered = sorted(others, key=lambda name: (places[name].y, name))
    return box.y + box.height * (ordered.index(other) + 1) / (len(ordered) + 1)


def _edge(x1: float, y1: float, x2: float, y2: float, ends: tuple[bool, bool], what: str) -> str:
    sign = 1 if x2 > x1 else -1
    middle = (x1 + x2) / 2
    start, stop = x1 + (7 * sign if ends[0] else 0), x2 - (7 * sign if ends[1] else 0)
    path = f"M{start:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {stop:.1f} {y2:.1f}"
    parts = [tip(what), tag("path", d=path, class_="edge rule")]
    if ends[0]:
        parts.append(_arrow(x1, y1, -sign))
    if ends[1]:
        parts.append(_arrow(x2, y2, sign))
    return group(parts)


def _arrow(x: float, y: float, sign: int) -> str:
    return tag("path", d=f"M{x:.1f} {y:.1f}l{-8 * sign} -4v8z", class_="arrow")


def _drawn(box: Box) -> str:
    rect = tag("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=6, class_=f"box {box.class_}")
    parts = [tip(", ".join(box.lines)), rect]
    for number, text in enumerate(box.lines):
        class_ = "ink strong" if number == 0 else "dim small"
        y = box.y + _PAD + 9 + number * _LINE
        parts.append(
            label(box.x + _PAD, y, fitted(text, box.width - 2 * _PAD, 12 if number == 0 else 11), class_)
        )
    return group([*parts, *map(_drawn, box.inside)])
