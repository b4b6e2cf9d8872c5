"""Transposed convolutions of one group of channels, integer and float. Relax's `conv1d_transpose` is one of
images of one row.
"""

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.patterns import weighted
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Match, Matcher
from target_arch.relax.patterns.weighted import Weighted, image_weights
from target_arch.relax.patterns.windows import LAYOUTS, pair, sides

_CALLS = ("nn.conv2d_transpose", "nn.conv1d_transpose")
_TO_OHWI = {"IOHW": (1, 2, 3, 0), "IOW": (1, 3, 2, 0)}
"""The axes of weights in the order of the kind; those of one row get it as a last axis."""


def named_conv2d_transpose() -> Matcher:
    """A transposed convolution that the reader of the model stated as such."""
    return named(OperatorKind.CONV2D_TRANSPOSE)


def integer_conv2d_transpose() -> Matcher:
    """`dequantize → conv2d_transpose → [+ bias] → [relu | clip] → quantize`."""
    return weighted.integer(_CALLS, _read)


def float_conv2d_transpose() -> Matcher:
    """`conv2d_transpose → [+ bias] → [relu | clip]` on floats."""
    return weighted.real(_CALLS, _read)


def _read(match: Match) -> Weighted | None:
    """None for several groups, computed weights, and an output that reaches beyond all windows."""
    attributes = match.required("call").attrs
    axes, order = str(attributes.data_layout), _TO_OHWI.get(str(attributes.kernel_layout))
    image = image_weights(match)
    if image is None or order is None or axes not in LAYOUTS or int(attributes.groups) != 1:
        return None
    top, left, bottom, right = sides(attributes.padding, axes)
    *rows, columns = (int(number) for number in attributes.output_padding)
    bottom, right = bottom - (sum(rows) if "H" in axes else 0), right - columns
    if min(bottom, right) < 0:
        return None
    weights = image.transposed(order)
    return Weighted(
        kind=OperatorKind.CONV2D_TRANSPOSE,
        weights=weights,
        channels=int(weights.values.shape[0]),
        attributes={
            "strides": pair(attributes.strides),
            "dilation": pair(attributes.dilation),
            "padding": (top, left, bottom, right),
        },
        axes=axes,
    )
