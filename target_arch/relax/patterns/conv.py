"""Convolutions: `conv2d` and `depthwise_conv2d`, integer and float. Relax's `conv1d` is one of images of one
row.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm.relax.dpl import wildcard

from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import NHWC, Draft, Match, Matcher
from target_arch.relax.patterns.pieces import (
    bias_of,
    biased,
    dequantized,
    float_activation,
    float_bias,
    float_constant,
    float_ending,
    input_quantization,
    integer_activation,
    integer_bias,
    integer_ending,
    output_quantization,
)
from target_arch.relax.patterns.weights import stored_weights
from target_arch.relax.patterns.windows import LAYOUTS, one_of, pair, sides

_CONVOLUTIONS = ("nn.conv2d", "nn.conv1d")
_TO_OHWI = {
    "HWIO": (3, 0, 1, 2),
    "HWOI": (2, 0, 1, 3),
    "OIHW": (0, 2, 3, 1),
    "OHWI": (0, 1, 2, 3),
    "OIW": (0, 3, 2, 1),
}
"""The axes of weights in the order of a kind; those of one row get it as a last axis."""


@frozen(kw_only=True, eq=False)
class _Convolution:
    """The parameters of a call: kind, weights in its layout, attributes, output channels; `axes` are those of
    its activations, `layout` those of the image.
    """

    kind: OperatorKind
    weights: Constant
    channels: int
    attributes: Mapping[str, Attribute]
    padding: tuple[int, int, int, int]
    axes: str

    @property
    def layout(self) -> str:
        """The layout of its image."""
        return LAYOUTS[self.axes]

    @property
    def position(self) -> int:
        """Where the channels of an activation are, counted from the right."""
        return len(self.axes) - self.axes.index("C")


def named_conv2d() -> Matcher:
    """A convolution that the reader of the model stated as such."""
    return _named(OperatorKind.CONV2D)


def named_depthwise_conv2d() -> Matcher:
    """A depthwise convolution that the reader of the model stated as such."""
    return _named(OperatorKind.DEPTHWISE_CONV2D)


def integer_conv2d() -> Matcher:
    """`dequantize → conv2d → [+ bias] → [relu | clip] → quantize → [clip]`."""
    return _integer(OperatorKind.CONV2D)


def integer_depthwise_conv2d() -> Matcher:
    """`dequantize → conv2d → [+ bias] → [relu | clip] → quantize → [clip]`, a group for each channel."""
    return _integer(OperatorKind.DEPTHWISE_CONV2D)


def float_conv2d() -> Matcher:
    """`conv2d → [+ bias] → [relu | clip]` on floats."""
    return _float(OperatorKind.CONV2D)


def float_depthwise_conv2d() -> Matcher:
    """`conv2d → [+ bias] → [relu | clip]` on floats, a group for each input channel."""
    return _float(OperatorKind.DEPTHWISE_CONV2D)


def _named(kind: OperatorKind) -> Matcher:
    stated = named(kind)

    def build(match: Match) -> Draft | None:
        draft = stated.build(match)
        grid = None if draft is None else draft.quantizations.get(draft.inputs[0])
        if draft is None or grid is None:
            return draft
        around: Any = draft.attributes["padding"]
        source, padding = _unpadded(match, draft.inputs[0], around, NHWC, grid.zero_point[0])
        return evolve(
            draft,
            inputs=(source,),
            attributes={**draft.attributes, "padding": padding},
            quantizations={source: grid, match.root: draft.quantizations[match.root]},
        )

    return evolve(stated, build=build)


def _integer(kind: OperatorKind) -> Matcher:
    x = dequantized()
    conv = one_of(_CONVOLUTIONS, x, wildcard())
    value, added = biased(conv)
    ending = integer_ending(value)
    calls = {"x": x, "conv": conv, "bias": added, **ending.calls}
    return Matcher(
        roots=ending.roots, pattern=ending.pattern, calls=calls, build=_of_kind(kind, _build_integer)
    )


def _float(kind: OperatorKind) -> Matcher:
    conv = one_of(_CONVOLUTIONS, wildcard(), wildcard())
    value, added = biased(conv)
    ending = float_ending(value, ("add", *_CONVOLUTIONS))
    calls = {"conv": conv, "bias": added, **ending.calls}
    return Matcher(
        roots=ending.roots, pattern=ending.pattern, calls=calls, build=_of_kind(kind, _build_float)
    )


_Builder = Callable[[Match, _Convolution, Any], Draft | None]


def _of_kind(kind: OperatorKind, build: _Builder) -> Callable[[Match], Draft | None]:
    def built(match: Match) -> Draft | None:
        call = match.required("conv")
        convolution = _read(match, call)
        if convolution is None or convolution.kind is not kind:
            return None
        return build(match, convolution, call)

    return built


def _build_integer(match: Match, convolution: _Convolution, call: Any) -> Draft | None:
    del call
    x, out = input_quantization(match, "x"), output_quantization(match)
    stored_as = stored_weights(convolution.weights)
    weights = None if stored_as is None else stored_as.quantization
    if x is None or out is None or stored_as is None or weights is None:
        return None
    if not _per_output_channel(convolution, weights):
        return None
    bias = bias_of(match, match.call("bias"), convolution.channels, convolution.position)
    scales = tuple(float(np.float64(x.scale[0]) * scale) for scale in weights.scale)
    stored = None if bias is None else integer_bias(bias, convolution.channels, scales)
    if stored is None:
        return None
    source, padding = _unpadded(
        match, match.required("x").args[0], convolution.padding, convolution.axes, x.zero_point[0]
    )
    return Draft(
        kind=convolution.kind,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        constants=(stored_as, stored),
        attributes={**convolution.attributes, "padding": padding, **integer_activation(match, out)},
        layout=convolution.layout,
        quantizations={source: x, match.root: out},
    )


def _build_float(match: Match, convolution: _Convolution, call: Any) -> Draft | None:
    activation = float_activation(match)
    bias = bias_of(match, match.call("bias"), convolution.channels, convolution.position)
    x = call.args[0]
    if activation is None or bias is None or not match.is_activation(x) or dtype_of(x) != "float32":
        return None
    source, padding = _unpadded(match, x, convolution.padding, convolution.axes, 0)
    return Draft(
        kind=convolution.kind,
        inputs=(source,),
        output=match.root,
        constants=(float_constant(convolution.weights), float_bias(bias, convolution.channels)),
        attributes={**convolution.attributes, "padding": padding, **activation},
        layout=convolution.layout,
    )


def _read(match: Match, call: Any) -> _Convolution | None:
    """None for weights that are not constant and layouts that are neither NHWC nor NCHW, nor these without
    rows.
    """
    axes, order = str(call.attrs.data_layout), _TO_OHWI.get(str(call.attrs.kernel_layout))
    weights = _weights(match.constant(call.args[1]))
    if weights is None or order is None or axes not in LAYOUTS:
        return None
    in_channels = shape_of(call.args[0])[axes.index("C")]
    attributes: dict[str, Attribute] = {
        "strides": pair(call.attrs.strides),
        "dilation": pair(call.attrs.dilation),
    }
    padding = sides(call.attrs.padding, axes)
    ohwi, groups = weights.transposed(order), int(call.attrs.groups)
    channels = ohwi.values.shape[0]
    kind, kept = OperatorKind.CONV2D, ohwi
    if groups != 1 and (groups != in_channels or ohwi.values.shape[3] != 1):
        attributes["groups"] = groups
    elif groups != 1:
        flat = ohwi.transposed((1, 2, 0, 3)).reshaped((*ohwi.values.shape[1:3], channels))
        if flat is None:
            return None
        kind, kept = OperatorKind.DEPTHWISE_CONV2D, flat
        attributes["depth_multiplier"] = channels // in_channels
    return _Convolution(
        kind=kind,
        weights=kept,
        channels=channels,
        attributes=attributes,
        padding=padding,
        axes=axes,
    )


def _weights(found: Constant | None) -> Constant | None:
    """Weights with two axes for the window: where there is one, the last axis is added."""
    if found is None or found.values.ndim == 4:
        return found
    return found.reshaped((*found.values.shape, 1))


def _unpadded(
    match: Match, x: Any, padding: tuple[int, int, int, int], axes: str, zero: int
) -> tuple[Any, tuple[int, int, int, int]]:
    """The input before a `pad` with zeros that this convolution alone reads, and the padding of both
    together.
    """
    pad = match.graph.call(x)
    if pad is None or operator_name(pad) != "nn.pad":
        return x, padding
    if len(match.graph.users[x]) != 1 or x in match.graph.outputs:
        return x, padding
    widths = [int(width) for width in pad.attrs.pad_width]
    around = {name: (widths[2 * at], widths[2 * at + 1]) for at, name in enumerate(axes)}
    zeros = str(pad.attrs.pad_mode) == "constant" and float(pad.attrs.pad_value) == zero
    inner = not any(around["N"]) and not any(around["C"]) and min(widths) >= 0
    if not (zeros and inner and match.is_activation(pad.args[0])):
        return x, padding
    (top, bottom), (left, right) = around.get("H", (0, 0)), around["W"]
    return pad.args[0], (padding[0] + top, padding[1] + left, padding[2] + bottom, padding[3] + right)


def _per_output_channel(convolution: _Convolution, weights: Quantization) -> bool:
    return weights.axis is None or weights.axis == (0 if convolution.kind is OperatorKind.CONV2D else 2)
