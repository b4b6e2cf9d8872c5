"""Pad, in all of its modes."""

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax, te, tirx

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, counted, zero

_MODES = ("constant", "edge", "reflect", "wrap")


def _pad(node: Node) -> Any:
    shape = node.shape(0)
    before, after = _widths(node, len(shape))
    mode = node.text("mode", "constant", _MODES)
    value = _value(node) if mode == "constant" else None
    if mode == "constant" and isinstance(value, float) and min((*before, *after), default=0) >= 0:
        widths = [width for pair in zip(before, after, strict=True) for width in pair]
        return relax.op.nn.pad(node.operand(0), widths, pad_value=value)
    for extent, front, back in zip(shape, before, after, strict=True):
        if mode != "constant" and extent == 0 and front + back > 0:
            raise NotConverted("it repeats the elements of a tensor without any")

    def definition(x: Any, *fill: Any) -> Any:
        def element(*at: Any) -> Any:
            places = [place.astype("int32") - front for place, front in zip(at, before, strict=True)]
            if mode != "constant":
                return x(*(_source(place, extent, mode) for place, extent in zip(places, shape, strict=True)))
            outside = [
                tirx.all(place >= 0, place < extent)
                for place, extent, front, back in zip(places, shape, before, after, strict=True)
                if front > 0 or back > 0
            ]
            filled = fill[0](*([0] * len(fill[0].shape))) if fill else zero(str(x.dtype))
            return tirx.if_then_else(tirx.all(*outside), x(*places), filled) if outside else x(*places)

        new = (n + front + back for n, front, back in zip(shape, before, after, strict=True))
        return te.compute(tuple(new), element)

    fill = node.given(2) if mode == "constant" else None
    return node.computed(definition, node.operand(0), *([] if fill is None else [fill]))


def _source(place: Any, extent: int, mode: str) -> Any:
    """The place inside a dimension whose element is repeated at a place outside."""
    if mode == "edge":
        return tirx.max(tirx.min(place, extent - 1), 0)
    if mode == "wrap" or extent == 1:
        return tirx.floormod(place, extent)
    period = 2 * (extent - 1)
    turned = tirx.floormod(place, period)
    return tirx.Select(turned < extent, turned, period - turned)


def _widths(node: Node, rank: int) -> tuple[Sequence[int], Sequence[int]]:
    """Elements before and after each dimension; below zero where elements are cut off."""
    pads = node.integers(1, "pads")
    axes = node.constant(3, "axes")
    if pads is None:
        raise NotConverted("operand 1 is missing")
    listed = range(rank) if axes is None else [counted(int(each), rank) for each in axes.reshape(-1)]
    half = len(pads) // 2
    before, after = [0] * rank, [0] * rank
    for axis, front, back in zip(listed, pads[:half], pads[half:], strict=True):
        before[axis], after[axis] = front, back
    return before, after


def _value(node: Node) -> float | None:
    """The number to pad with; None where it is computed, or of a type whose numbers a float may not hold."""
    if "value" in node.attributes:
        return float(node.attributes["value"])
    if node.given(2) is None:
        return 0.0
    if not node.dtype(0).startswith("float"):
        return None
    try:
        given = node.constant(2, "constant_value")
    except NotConverted:
        return None
    return None if given is None else float(given.reshape(-1)[0])


CONVERTERS: Mapping[str, Converter] = {"Pad": converter(_pad, "mode pads value")}
