"""Elements of SVG as text, and the width that text takes."""

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from attrs import frozen

from target_arch.report.pictures.style import stylesheet

_NARROW = frozenset("ijlftrI.,:;'|!()[]-` ")
_WIDE = frozenset("mwMW@%—…")
_EDGE = 6
"""Pixels around a picture that is a file of its own."""


@frozen(kw_only=True)
class Picture:
    """A picture of `height` pixels. `width` is None where it takes the width that it is given: its abscissae
    are percentages, and text keeps its size however wide it is drawn.

    `title` describes it, `body` are its elements.
    """

    title: str
    width: float | None
    height: float
    body: str

    @property
    def inline(self) -> str:
        """The picture as an element of a page, which has the style sheet."""
        size: dict[str, float | str] = {"width": "100%", "height": self.height}
        if self.width is not None:
            size = _size(self.width, self.height)
        body = f"<title>{text_of(self.title)}</title>{self.body}"
        return tag("svg", body, role="img", class_="figure", **size)

    def alone(self, width: float = 1200) -> str:
        """The picture as a file, with its own style; in dark colours where the reader has asked for them."""
        wide = width if self.width is None else self.width
        back = tag("rect", class_="surface", width="100%", height="100%")
        # Abscissae are percentages of the inner element.
        inner = tag("svg", self.body, x=_EDGE, y=_EDGE, width=wide, height=self.height)
        body = f"<title>{text_of(self.title)}</title><style>{escape(stylesheet())}</style>{back}{inner}"
        size = _size(wide + 2 * _EDGE, self.height + 2 * _EDGE)
        return tag("svg", body, xmlns="http://www.w3.org/2000/svg", **size) + "\n"


def _size(width: float, height: float) -> dict[str, float | str]:
    return {"width": width, "height": height, "viewBox": f"0 0 {number(width)} {number(height)}"}


def number(value: float) -> str:
    """At most three decimals, no zeros at the end."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def tag(name: str, inner: str = "", **attributes: float | str) -> str:
    """An element; `class_` is its class, other underscores become hyphens. `inner` is markup."""
    written = "".join(
        f" {'class' if key == 'class_' else key.replace('_', '-')}="
        + quoteattr(text_of(value) if isinstance(value, str) else number(value))
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def text_of(text: str) -> str:
    """Text that XML can hold, escaped but for quotes: control characters become replacement characters."""
    if not text.isprintable():
        text = "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in text)
    return escape(text)


def label(x: float | str, y: float, text: str, class_: str = "ink", **attributes: float | str) -> str:
    """A line of text from (x, y) on."""
    return tag("text", text_of(text), x=x, y=y, class_=class_, **attributes)


def tip(text: str) -> str:
    """The text that a screen reader reads, and that appears while a pointer is on the element around it."""
    return f"<title>{text_of(text)}</title>"


def line(x1: float | str, y1: float, x2: float | str, y2: float, class_: str) -> str:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def width_of(text: str, size: float = 12) -> float:
    """The pixels that text takes in a sans-serif font, never less than it does."""
    return size * sum(0.36 if each in _NARROW else 0.93 if each in _WIDE else 0.64 for each in text)


def fitted(text: str, width: float, size: float = 12) -> str:
    """The text, or as much of its start as fits the width with an ellipsis."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def group(parts: Iterable[str], **attributes: float | str) -> str:
    """Elements that belong together."""
    return tag("g", "".join(parts), **attributes)
