"""The rows that an operator needs for a row of its output, alone or with the addition after it."""

from collections.abc import Mapping
from typing import Any

from target_arch.backends.plain_c.stripes.rowwise import image_of
from target_arch.backends.plain_c.stripes.schedule import Unit
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.regions.stripes import Window

_TAPS: Mapping[str, int] = {OperatorKind.CONV2D: 1, OperatorKind.DEPTHWISE_CONV2D: 0}
"""The axis of the weights along the rows."""


def window_of(operator: Operator, model: Model) -> Window | None:
    """The rows of its first input that an operator on one image needs; None where it is not of a kind that
    goes over rows.
    """
    attributes: Any = operator.attributes
    image, facts = image_of(model.tensors[operator.inputs[0]]), operator.facts
    if facts.elementwise:
        return Window(tensor=image)
    if operator.kind in _TAPS:
        taps = model.tensors[operator.constants[0]].shape[_TAPS[operator.kind]]
    elif facts.structure is Structure.POOL:
        taps = attributes["kernel"][0]
    else:
        return None
    return Window(
        tensor=image,
        height=(taps - 1) * attributes.get("dilation", (1, 1))[0] + 1,
        stride=attributes.get("strides", (1, 1))[0],
        before=attributes.get("padding", (0, 0, 0, 0))[0],
    )


def unit_of(operator: Operator, after: Operator | None, other: Tensor | None, model: Model) -> Unit:
    """What a convolution reads and makes, and the addition `after` it, whose other operand is `other`."""
    window = window_of(operator, model)
    assert window is not None
    last = after or operator
    return Unit(
        operators=tuple(each.id for each in (operator, after) if each is not None),
        reads=(window, *(Window(tensor=image_of(each)) for each in (other,) if each is not None)),
        image=image_of(model.tensors[last.output]),
    )
