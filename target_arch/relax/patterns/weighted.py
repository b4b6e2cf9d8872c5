"""Sums of products with constant weights: composites of a call, a bias and an activation, integer and float.
Which call it is, and what its weights are, is said in `conv`, `dense` and `transposed`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen
from tvm.relax.dpl import wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name
from target_arch.relax.patterns.constants import Constant
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
from target_arch.relax.patterns.windows import LAYOUTS, one_of

Sides = tuple[int, int, int, int]


@frozen(kw_only=True, eq=False)
class Weighted:
    """A call: its kind, its weights in the layout of the kind, with the axis of the output's channels, and
    its attributes.

    `axes` are those of its activations, empty where they are no images. A `padding` that is beside the
    attributes may be joined with a `pad` before the call.
    """

    kind: OperatorKind
    weights: Constant
    channels: int
    axis: int = 0
    attributes: Mapping[str, Attribute] = field(factory=dict)
    axes: str = ""
    padding: Sides | None = None

    @property
    def position(self) -> int:
        """Where the channels of an activation are, counted from the right."""
        return len(self.axes) - self.axes.index("C") if self.axes else 1

    @property
    def layout(self) -> str | None:
        """The layout of its image."""
        return LAYOUTS[self.axes] if self.axes else None

    def opened(self, match: Match, x: Any, zero: int) -> tuple[Any, Mapping[str, Attribute]]:
        """The input before a `pad` with the stored value of 0, and the attributes then."""
        if self.padding is None:
            return x, self.attributes
        source, padding = unpadded(match, x, self.padding, self.axes, zero)
        return source, {**self.attributes, "padding": padding}


Read = Callable[[Match], Weighted | None]
"""What the `call` of a match is; None where it is something else."""


def integer(calls: tuple[str, ...], read: Read) -> Matcher:
    """`dequantize → one of the calls → [+ bias] → [relu | clip] → quantize → [clip]`."""
    x = dequantized()
    call = one_of(calls, x, wildcard())
    value, added = biased(call)
    ending = integer_ending(value)
    parts = {"x": x, "call": call, "bias": added, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=parts, build=partial(_integer, read))


def real(calls: tuple[str, ...], read: Read) -> Matcher:
    """`one of the calls → [+ bias] → [relu | clip]` on floats."""
    call = one_of(calls, wildcard(), wildcard())
    value, added = biased(call)
    ending = float_ending(value, ("add", *calls))
    parts = {"call": call, "bias": added, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=parts, build=partial(_real, read))


def _integer(read: Read, match: Match) -> Draft | None:
    call = read(match)
    x, out = input_quantization(match, "x"), output_quantization(match)
    weights = None if call is None else stored_weights(call.weights)
    grid = None if weights is None else weights.quantization
    if call is None or x is None or out is None or weights is None or grid is None:
        return None
    if grid.axis not in (None, call.axis):
        return None
    bias = bias_of(match, match.call("bias"), call.channels, call.position)
    scales = tuple(float(np.float64(x.scale[0]) * scale) for scale in grid.scale)
    stored = None if bias is None else integer_bias(bias, call.channels, scales)
    if stored is None:
        return None
    source, attributes = call.opened(match, match.required("x").args[0], x.zero_point[0])
    return Draft(
        kind=call.kind,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        constants=(weights, stored),
        attributes={**attributes, **integer_activation(match, out)},
        layout=call.layout,
        quantizations={source: x, match.root: out},
    )


def _real(read: Read, match: Match) -> Draft | None:
    call, activation, x = read(match), float_activation(match), match.required("call").args[0]
    if call is None or activation is None or not match.is_activation(x) or dtype_of(x) != "float32":
        return None
    bias = bias_of(match, match.call("bias"), call.channels, call.position)
    if bias is None:
        return None
    source, attributes = call.opened(match, x, 0)
    return Draft(
        kind=call.kind,
        inputs=(source,),
        output=match.root,
        constants=(float_constant(call.weights), float_bias(bias, call.channels)),
        attributes={**attributes, **activation},
        layout=call.layout,
    )


def image_weights(match: Match) -> Constant | None:
    """The weights of a call over images, with two axes for the window: where there is one, the last axis is
    added. None where they are computed.
    """
    weights = match.constant(match.required("call").args[1])
    if weights is None or weights.values.ndim == 4:
        return weights
    return weights.reshaped((*weights.values.shape, 1))


def unpadded(match: Match, x: Any, padding: Sides, axes: str, zero: int) -> tuple[Any, Sides]:
    """The input before a `pad` with zeros that this call alone reads, and the padding of both together."""
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
