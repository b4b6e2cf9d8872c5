"""The bytes of a linked program in every memory: code, constants, variables, arenas, stack."""

from collections.abc import Sequence

from target_arch.plan.manifest.image import SectionEntry
from target_arch.report.facts.shown import ShownImage
from target_arch.report.pictures.axis import percent
from target_arch.report.pictures.style import kind_class
from target_arch.report.pictures.svg import Picture, fitted, group, label, tag, tip

_ROW = 30
_BAR = 14
_NAME = 170
_NUMBERS = 390
_WIDTH = 1200
_CONSTANTS, _VARIABLES, _STACK = kind_class("constant"), kind_class("state"), kind_class("next state")
_OTHER = "k-local"
_CLASSES = {
    "code": "k-input",
    "constants": _CONSTANTS,
    "read-only data": _CONSTANTS,
    "arenas": "k-activation",
    "stack": _STACK,
    "variables": _VARIABLES,
    "zeroed variables": _VARIABLES,
}

LEGEND = (
    ("k-input", "code"),
    (_CONSTANTS, "constants and read-only data"),
    (_VARIABLES, "variables"),
    ("k-activation", "arenas"),
    (_STACK, "stack"),
    (_OTHER, "other sections"),
    ("wait", "gaps and initial values"),
)
"""Classes and words for the colours of a bar."""


def image_picture(image: ShownImage) -> Picture:
    """One bar per memory; each is as long as its memory, whatever that has."""
    drawn = []
    for number, (name, capacity, linked) in enumerate(image.memories):
        y = number * _ROW
        sections = [section for section in image.sections if section.memory == name and section.linked]
        said = f"{linked:,} of {capacity:,} B ({linked / capacity if capacity else 0:.1%})"
        drawn.append(label(0, y + 20, fitted(name, _NAME - 10), "ink strong"))
        drawn.append(label(_WIDTH - _NUMBERS + 12, y + 20, fitted(said, _NUMBERS - 14, 11), "dim small"))
        bar = _bar(sections, capacity, linked)
        drawn.append(tag("svg", bar, x=_NAME, y=y + 8, width=_WIDTH - _NAME - _NUMBERS, height=_BAR + 4))
    height = max(len(image.memories), 1) * _ROW + 6
    return Picture(title=image.name, width=_WIDTH, height=height, body="".join(drawn))


def _bar(sections: Sequence[SectionEntry], capacity: int, linked: int) -> str:
    """The sections one after the other, then the gaps between them."""
    drawn = [tag("rect", width="100%", height=_BAR, rx=2, class_="free")]
    start = 0
    for section in sections:
        size = section.linked or 0
        rect = _piece(start, size, capacity, _CLASSES.get(section.what, _OTHER))
        drawn.append(group([tip(f"{section.section}, {section.what}: {size:,} B"), rect]))
        start += size
    if linked > start:
        rest = _piece(start, linked - start, capacity, "wait")
        drawn.append(group([tip(f"gaps and initial values: {linked - start:,} B"), rest]))
    return "".join(drawn)


def _piece(start: int, size: int, capacity: int, class_: str) -> str:
    x, width = percent(start, capacity), percent(size, capacity)
    return tag("rect", x=x, width=width, height=_BAR, class_=class_)
