"""Transposed convolutions of one group of channels, integer and float. Relax's `conv1d_transpose` is one of
images of one row.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen
from tvm.relax.dpl import wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Draft, Match, Matcher
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

_CALLS = ("nn.conv2d_transpose", "nn.conv1d_transpose")
_TO_OHWI = {"IOHW": (1, 2, 3, 0), "IOW": (1, 3, 2, 0)}
"""The axes of weights in the order of the kind; those of one row get it as a last axis."""


@frozen(kw_only=True, eq=False)
class _Transposed:
    """A call: its weights [O,KH,KW,C], its attributes, and the axes of its activations."""

    weights: Constant
    attributes: Mapping[str, Attribute]
    axes: str

    @property
    def position(self) -> int:
        """Where the channels of an activation are, counted from the right."""
        return len(self.axes) - self.axes.index("C")

    @property
    def channels(self) -> int:
        """The channels of its output."""
        return int(self.weights.values.shape[0])


def named_conv2d_transpose() -> Matcher:
    """A transposed convolution that the reader of the model stated as such."""
    return named(OperatorKind.CONV2D_TRANSPOSE)


def integer_conv2d_transpose() -> Matcher:
    """`dequantize → conv2d_transpose → [+ bias] → [relu | clip] → quantize`."""
    x = dequantized()
    call = one_of(_CALLS, x, wildcard())
    value, added = biased(call)
    ending = integer_ending(value)
    calls = {"x": x, "call": call, "bias": added, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_integer)


def float_conv2d_transpose() -> Matcher:
    """`conv2d_transpose → [+ bias] → [relu | clip]` on floats."""
    call = one_of(_CALLS, wildcard(), wildcard())
    value, added = biased(call)
    ending = float_ending(value, (str(OperatorKind.ADD), *_CALLS))
    calls = {"call": call, "bias": added, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_float)


def _build_integer(match: Match) -> Draft | None:
    x, out, read = input_quantization(match, "x"), output_quantization(match), _read(match)
    weights = None if read is None else stored_weights(read.weights)
    if x is None or out is None or read is None or weights is None:
        return None
    grid = weights.quantization
    if grid is None or grid.axis not in (None, 0):
        return None
    scales = tuple(float(np.float64(x.scale[0]) * scale) for scale in grid.scale)
    bias = bias_of(match, match.call("bias"), read.channels, read.position)
    stored = None if bias is None else integer_bias(bias, read.channels, scales)
    if stored is None:
        return None
    source = match.required("x").args[0]
    return Draft(
        kind=OperatorKind.CONV2D_TRANSPOSE,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        constants=(weights, stored),
        attributes={**read.attributes, **integer_activation(match, out)},
        layout=LAYOUTS[read.axes],
        quantizations={source: x, match.root: out},
    )


def _build_float(match: Match) -> Draft | None:
    read, activation, source = _read(match), float_activation(match), match.required("call").args[0]
    if read is None or activation is None or not match.is_activation(source) or dtype_of(source) != "float32":
        return None
    bias = bias_of(match, match.call("bias"), read.channels, read.position)
    if bias is None:
        return None
    return Draft(
        kind=OperatorKind.CONV2D_TRANSPOSE,
        inputs=(source,),
        output=match.root,
        constants=(float_constant(read.weights), float_bias(bias, read.channels)),
        attributes={**read.attributes, **activation},
        layout=LAYOUTS[read.axes],
    )


def _read(match: Match) -> _Transposed | None:
    """None for several groups, computed weights, and an output that reaches beyond all windows."""
    attributes = match.required("call").attrs
    axes, order = str(attributes.data_layout), _TO_OHWI.get(str(attributes.kernel_layout))
    weights = match.constant(match.required("call").args[1])
    if weights is None or order is None or axes not in LAYOUTS or int(attributes.groups) != 1:
        return None
    image = weights if weights.values.ndim == 4 else weights.reshaped((*weights.values.shape, 1))
    top, left, bottom, right = sides(attributes.padding, axes)
    *rows, columns = (int(number) for number in attributes.output_padding)
    bottom, right = bottom - (sum(rows) if "H" in axes else 0), right - columns
    if image is None or min(bottom, right) < 0:
        return None
    return _Transposed(
        weights=image.transposed(order),
        attributes={
            "strides": pair(attributes.strides),
            "dilation": pair(attributes.dilation),
            "padding": (top, left, bottom, right),
        },
        axes=axes,
    )
