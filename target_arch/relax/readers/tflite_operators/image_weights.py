"""Weights of CONV_2D and DEPTHWISE_CONV_2D, as the kinds of operators want them."""

from typing import Any

import numpy as np

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand, TFLiteOperator

StoredWeights = tuple[TFLiteOperand, np.ndarray[Any, Any], int]
"""The operand in the file, its values as a kind wants them, and the axis of their outputs there."""


def image_weights(site: TFLiteOperator, weight: TFLiteOperand) -> tuple[OperatorKind, StoredWeights]:
    """The kind of this convolution, and its weights. A depthwise one of a single channel is a convolution, as
    other formats have it: whatever takes these takes it, too.
    """
    if site.operator == "CONV_2D":
        return OperatorKind.CONV2D, (weight, weight.constant, 0)
    if site.x.shape[3] == 1:
        return OperatorKind.CONV2D, (weight, weight.constant.transpose(3, 1, 2, 0), 0)
    return OperatorKind.DEPTHWISE_CONV2D, (weight, weight.constant[0], 2)


def groups_of(site: TFLiteOperator, weight: TFLiteOperand) -> int:
    """The groups of channels that are summed apart."""
    channels = site.x.shape[3]
    return channels if site.operator == "DEPTHWISE_CONV_2D" else channels // weight.shape[3]
