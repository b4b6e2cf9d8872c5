"""Convolutions: `conv2d` and `depthwise_conv2d`, integer and float. Relax's `conv1d` is one of images of one
row.
"""

from functools import partial
from typing import Any

from attrs import evolve

from target_arch.plan.model import Attribute
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.patterns import weighted
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import NHWC, Draft, Match, Matcher
from target_arch.relax.patterns.weighted import Weighted, image_weights, unpadded
from target_arch.relax.patterns.windows import LAYOUTS, pair, sides

_CALLS = ("nn.conv2d", "nn.conv1d")
_TO_OHWI = {
    "HWIO": (3, 0, 1, 2),
    "HWOI": (2, 0, 1, 3),
    "OIHW": (0, 2, 3, 1),
    "OHWI": (0, 1, 2, 3),
    "OIW": (0, 3, 2, 1),
}
"""The axes of weights in the order of a kind; those of one row get it as a last axis."""


def named_conv2d() -> Matcher:
    """A convolution that the reader of the model stated as such."""
    return _named(OperatorKind.CONV2D)


def named_depthwise_conv2d() -> Matcher:
    """A depthwise convolution that the reader of the model stated as such."""
    return _named(OperatorKind.DEPTHWISE_CONV2D)


def integer_conv2d() -> Matcher:
    """`dequantize → conv2d → [+ bias] → [relu | clip] → quantize → [clip]`."""
    return weighted.integer(_CALLS, partial(_read, OperatorKind.CONV2D))


def integer_depthwise_conv2d() -> Matcher:
    """`dequantize → conv2d → [+ bias] → [relu | clip] → quantize → [clip]`, a group for each channel."""
    return weighted.integer(_CALLS, partial(_read, OperatorKind.DEPTHWISE_CONV2D))


def float_conv2d() -> Matcher:
    """`conv2d → [+ bias] → [relu | clip]` on floats."""
    return weighted.real(_CALLS, partial(_read, OperatorKind.CONV2D))


def float_depthwise_conv2d() -> Matcher:
    """`conv2d → [+ bias] → [relu | clip]` on floats, a group for each input channel."""
    return weighted.real(_CALLS, partial(_read, OperatorKind.DEPTHWISE_CONV2D))


def _named(kind: OperatorKind) -> Matcher:
    stated = named(kind)

    def build(match: Match) -> Draft | None:
        draft = stated.build(match)
        grid = None if draft is None else draft.quantizations.get(draft.inputs[0])
        if draft is None or grid is None:
            return draft
        around: Any = draft.attributes["padding"]
        source, padding = unpadded(match, draft.inputs[0], around, NHWC, grid.zero_point[0])
        return evolve(
            draft,
            inputs=(source,),
            attributes={**draft.attributes, "padding": padding},
            quantizations={source: grid, match.root: draft.quantizations[match.root]},
        )

    return evolve(stated, build=build)


def _read(wanted: OperatorKind, match: Match) -> Weighted | None:
    """None for another kind, weights that are not constant, and layouts that are neither NHWC nor NCHW, nor
    these without rows.
    """
    call = match.required("call")
    axes, order = str(call.attrs.data_layout), _TO_OHWI.get(str(call.attrs.kernel_layout))
    weights = image_weights(match)
    if weights is None or order is None or axes not in LAYOUTS:
        return None
    in_channels = shape_of(call.args[0])[axes.index("C")]
    attributes: dict[str, Attribute] = {
        "strides": pair(call.attrs.strides),
        "dilation": pair(call.attrs.dilation),
    }
    ohwi, groups = weights.transposed(order), int(call.attrs.groups)
    channels = ohwi.values.shape[0]
    kind, kept, axis = OperatorKind.CONV2D, ohwi, 0
    if groups != 1 and (groups != in_channels or ohwi.values.shape[3] != 1):
        attributes["groups"] = groups
    elif groups != 1:
        flat = ohwi.transposed((1, 2, 0, 3)).reshaped((*ohwi.values.shape[1:3], channels))
        if flat is None:
            return None
        kind, kept, axis = OperatorKind.DEPTHWISE_CONV2D, flat, 2
        attributes["depth_multiplier"] = channels // in_channels
    if kind is not wanted:
        return None
    return Weighted(
        kind=kind,
        weights=kept,
        channels=channels,
        axis=axis,
        attributes=attributes,
        axes=axes,
        padding=sides(call.attrs.padding, axes),
    )
