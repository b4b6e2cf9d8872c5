"""The colours of pictures and pages, in light and in dark.

Style sheets have colours, no variables: many viewers of SVG know none. A hue belongs to an instance, in the
order of the SoC; nothing is said by colour alone.
"""

from collections.abc import Container, Mapping

from attrs import frozen

from target_arch.soc.model import SoC

HUES = 8
"""Instances with a colour of their own; the ninth has the first one's."""


@frozen(kw_only=True)
class Theme:
    """Colours as red, green and blue in hexadecimal."""

    page: str
    surface: str
    sunken: str
    ink: str
    dim: str
    hair: str
    bad: str
    good: str
    tint: float
    """The part of a hue in the filling of a box."""
    hues: tuple[str, ...]
    kinds: Mapping[str, str]


LIGHT = Theme(
    page="f6f7f9",
    surface="ffffff",
    sunken="eef0f4",
    ink="1b2130",
    dim="4d5769",
    hair="d3d8e1",
    bad="b42318",
    good="157347",
    tint=0.24,
    hues=("2f6fde", "c8660a", "168453", "8250df", "cb2f6d", "0b7f8a", "947000", "86563f"),
    kinds={
        "input": "2f6fde",
        "output": "168453",
        "activation": "70767f",
        "constant": "b08400",
        "local": "cb2f6d",
        "state": "8250df",
        "next-state": "c8560a",
        "resident": "0b7f8a",
    },
)
DARK = Theme(
    page="12151c",
    surface="1a1f29",
    sunken="232a36",
    ink="f0f2f6",
    dim="c9d0dc",
    hair="3a4353",
    bad="ff8f85",
    good="6fd3a0",
    tint=0.34,
    hues=("74a5ff", "f0a25a", "5cc896", "b595f5", "f281ac", "56c7d1", "dfba4b", "cfa48e"),
    kinds={
        "input": "74a5ff",
        "output": "4fd08f",
        "activation": "a9adb3",
        "constant": "e3c04a",
        "local": "f0719f",
        "state": "b08cff",
        "next-state": "f08a4a",
        "resident": "56c7d1",
    },
)

_FIXED = """svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
svg .small{font-size:11px}svg .strong{font-weight:600}svg .middle{text-anchor:middle}svg .end{text-anchor:end}
svg .edge{fill:none;stroke-width:1.4}svg .wait{stroke-dasharray:3 2}svg .thin{stroke-width:1}
svg .faint{stroke-opacity:.55}
svg .dash{stroke-dasharray:5 4}
svg .box{stroke-width:1.2}
svg .z4,svg .z16,svg .z64{display:none}svg a{text-decoration:none}
svg a:hover rect,svg a:focus rect{stroke-width:2.6}
"""


def stylesheet() -> str:
    """The rules for the classes that pictures use; light, or dark if the system is, but not on paper."""
    return f"{_FIXED}{_colours(LIGHT)}@media screen and (prefers-color-scheme:dark){{{_colours(DARK)}}}"


def mixed(colour: str, into: str, part: float) -> str:
    """That part of a colour in another."""
    pairs = zip(bytes.fromhex(colour), bytes.fromhex(into), strict=True)
    return bytes(round(one * part + other * (1 - part)) for one, other in pairs).hex()


def hue_class(number: int) -> str:
    """The class of the instance with that number in its SoC."""
    return f"h{number % HUES}"


def used_hues(soc: SoC, used: Container[str]) -> tuple[tuple[str, str], ...]:
    """Class and name of the instances that are used, in the order of the SoC: a legend."""
    named = enumerate(each.name for each in soc.instances)
    return tuple((hue_class(number), name) for number, name in named if name in used)


def kind_class(kind: str) -> str:
    """The class of a kind of buffers."""
    return f"k-{kind.replace(' ', '-')}"


def _colours(theme: Theme) -> str:
    classes = {f"h{index}": hue for index, hue in enumerate(theme.hues)}
    classes |= {f"k-{kind}": colour for kind, colour in theme.kinds.items()}
    rules = [
        f"svg .surface{{fill:#{theme.surface}}}",
        f"svg .sunken{{fill:#{theme.sunken}}}",
        f"svg text{{fill:#{theme.ink}}}svg .dim{{fill:#{theme.dim}}}svg .bad{{fill:#{theme.bad}}}",
        f"svg .hair{{stroke:#{theme.hair}}}svg .rule{{stroke:#{theme.dim}}}",
        f"svg .limit{{stroke:#{theme.bad}}}svg .arrow{{fill:#{theme.dim}}}",
        f"svg .card{{fill:#{theme.surface};stroke:#{theme.hair}}}",
        f"svg .plain{{fill:#{theme.sunken};stroke:#{theme.dim}}}",
        f"svg .copy{{fill:#{mixed(theme.dim, theme.surface, 0.45)};stroke:#{theme.dim}}}",
        f"svg .wait{{fill:#{mixed(theme.bad, theme.surface, 0.1)};stroke:#{theme.bad}}}",
        f"svg .free{{fill:#{theme.sunken};stroke:#{theme.hair}}}",
    ]
    for name, colour in classes.items():
        tint = mixed(colour, theme.surface, theme.tint)
        rules.append(
            f"svg .{name}{{fill:#{tint};stroke:#{colour}}}svg .{name}.solid{{fill:#{colour};stroke:none}}"
        )
    return "".join(rules)
