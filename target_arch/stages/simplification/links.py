"""Which channels of an operator's tensors are the same channel, so that they stay or go together."""

import numpy as np

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import Integers, channels_of

_SAME = (
    OperatorKind.ADD,
    OperatorKind.SUB,
    OperatorKind.MUL,
    OperatorKind.AVG_POOL2D,
    OperatorKind.MAX_POOL2D,
    OperatorKind.RELU,
    OperatorKind.REQUANTIZE,
    OperatorKind.LOOKUP,
)


def repeats_channels(operator: Operator) -> bool:
    """Return whether the operator writes values of channels, which it has as a constant, to every place."""
    return operator.kind is OperatorKind.TILE and not operator.inputs


def keeps_last_axis(operator: Operator) -> bool:
    """Return whether a transpose leaves the channels where they are."""
    axes = operator.attributes["axes"]
    return isinstance(axes, tuple) and axes[-1] == len(axes) - 1


def concatenated_by_channel(operator: Operator, model: Model) -> bool:
    """Return whether a concat joins channels, not rows."""
    return int(str(operator.attributes["axis"])) in (-1, len(model.tensors[operator.output].shape) - 1)


def reshaped_channels(channels: int, reshaped: int) -> tuple[int, Integers, Integers] | None:
    """Return, for a reshape between these extents of the last axis, how many groups of channels belong
    together, and the group of each channel of the input and of the output; None where neither extent divides
    the other.
    """
    groups = min(channels, reshaped)
    if groups == 0 or max(channels, reshaped) % groups:
        return None
    return groups, np.arange(channels) % groups, np.arange(reshaped) % groups


def links(operator: Operator, model: Model) -> dict[str, Integers] | None:
    """Return for each activation that the operator reads or writes the number of each of its channels, equal
    where channels stay or go together; None where none of its channels can go.

    The numbers of sums of products are not here: their inputs and outputs go apart (`weights`), but of a
    depthwise convolution, whose outputs belong to one input each.
    """
    extents = {name: channels_of(model.tensors[name]) for name in (*operator.inputs, operator.output)}
    output = extents[operator.output]
    own = {name: np.arange(extent) for name, extent in extents.items()}
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        own[operator.output] = np.arange(output) // (output // extents[operator.inputs[0]])
        return own
    if operator.kind is OperatorKind.CONCAT and concatenated_by_channel(operator, model):
        return _slices(operator, extents)
    if repeats_channels(operator):
        return own if channels_of(model.tensors[operator.constants[0]]) == output else None
    if operator.kind is OperatorKind.RESHAPE:
        reshaped = reshaped_channels(extents[operator.inputs[0]], output)
        return None if reshaped is None else {operator.inputs[0]: reshaped[1], operator.output: reshaped[2]}
    same = operator.kind in _SAME or operator.kind is OperatorKind.CONCAT
    if same or (operator.kind is OperatorKind.TRANSPOSE and keeps_last_axis(operator)):
        return own if len(set(extents.values())) == 1 else None
    return None


def _slices(operator: Operator, extents: dict[str, int]) -> dict[str, Integers] | None:
    """The operands of a concat one after the other; one that is there twice belongs to both places."""
    if len(set(operator.inputs)) != len(operator.inputs):
        return None
    ends = np.cumsum([extents[name] for name in operator.inputs])
    parts = {
        name: np.arange(end - extents[name], end) for name, end in zip(operator.inputs, ends, strict=True)
    }
    return {**parts, operator.output: np.arange(extents[operator.output])}
