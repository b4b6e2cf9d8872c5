"""The weights of a sum of products, as sums over their taps for each pair of output and input channel."""

from typing import Any, Self

import numpy as np
from attrs import field, frozen

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import Booleans, ChannelRange, Integers, channels_of

_INTEGERS = ("int8", "uint8")
_KINDS = (OperatorKind.CONV2D, OperatorKind.DEPTHWISE_CONV2D, OperatorKind.DENSE)


def reads_integers(operator: Operator, model: Model) -> bool:
    """Return whether activations are 8-bit integers on grids of one scale each, computed without floats."""
    if operator.arithmetic is Arithmetic.FLOAT:
        return False
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    return all(
        tensor.dtype in _INTEGERS and tensor.quantization is not None and len(tensor.quantization.scale) == 1
        for tensor in tensors
    )


@frozen(kw_only=True, eq=False)
class Weights:
    """For output channel `o` and input channel `c` the sums of the positive and of the negative weights over
    all taps, and whether all of them are zero; `bias` for each output channel.

    `zero_point` is the input's. `padded`: some output reads outside of its image, where a tap adds nothing.
    Of a depthwise convolution, only the pairs that belong together are not zero.
    """

    positive: Integers = field(repr=False)
    negative: Integers = field(repr=False)
    unread: Booleans = field(repr=False)
    bias: Integers = field(repr=False)
    zero_point: int
    padded: bool

    @classmethod
    def of(cls, operator: Operator, model: Model) -> Self | None:
        """Return the weights of a conv2d, depthwise_conv2d or dense of 8 bits; None for a form that this does
        not know: floats, wider integers, groups, weights with a zero point, other kinds.
        """
        source = model.tensors[operator.inputs[0]]
        if operator.kind not in _KINDS or not reads_integers(operator, model):
            return None
        if [model.tensors[name].dtype for name in operator.constants] != ["int8", "int32"]:
            return None
        if operator.attributes.get("groups", 1) != 1 or channels_of(model.tensors[operator.output]) != len(
            bias := stored_values(model.tensors[operator.constants[1]])
        ):
            return None
        weights = model.tensors[operator.constants[0]].quantization
        sums = _tap_sums(operator, model)
        if weights is None or any(weights.zero_point) or sums is None or source.quantization is None:
            return None
        padding: Any = operator.attributes.get("padding", ())
        positive, negative = sums
        return cls(
            positive=positive,
            negative=negative,
            unread=(positive == 0) & (negative == 0),
            bias=bias.astype(np.int64),
            zero_point=source.quantization.zero_point[0],
            padded=any(amount > 0 for amount in padding),
        )

    def sums(self, values: ChannelRange) -> ChannelRange:
        """Return the range of the sums, bias included, for values less their zero point."""
        high = _times(self.positive, values.high) + _times(self.negative, values.low)
        low = _times(self.positive, values.low) + _times(self.negative, values.high)
        return ChannelRange(low=low + self.bias, high=high + self.bias)

    def folded(self, values: Integers) -> Integers:
        """Return what input channels of these constant values, less their zero point, add to every sum."""
        return _times(self.positive + self.negative, values)


def _times(matrix: Integers, vector: Integers) -> Integers:
    """The product by floating point, exact below 2**53, which is far faster."""
    product: Integers = (matrix.astype(np.float64) @ vector.astype(np.float64)).astype(np.int64)
    return product


def stored_values(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the values of a constant, in its shape."""
    assert tensor.data is not None
    return np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)


def taps_of(operator: Operator, model: Model) -> np.ndarray[Any, Any] | None:
    """Return the weights of a conv2d or a dense as [output channel, tap, input channel]; None of a form with
    another order of its input's channels.
    """
    weights = stored_values(model.tensors[operator.constants[0]])
    channels = channels_of(model.tensors[operator.inputs[0]])
    row = weights.size // weights.shape[0]
    if row % channels or (operator.kind is OperatorKind.CONV2D and weights.shape[-1] != channels):
        return None
    return weights.reshape(weights.shape[0], -1, channels)


def _tap_sums(operator: Operator, model: Model) -> tuple[Integers, Integers] | None:
    """The sums of positive and of negative weights over the taps, [output channel, input channel]."""
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        weights = stored_values(model.tensors[operator.constants[0]])
        channels = channels_of(model.tensors[operator.inputs[0]])
        return _diagonal(weights.reshape(-1, weights.shape[-1]), channels)
    taps = taps_of(operator, model)
    if taps is None:
        return None
    return np.maximum(taps, 0).sum(axis=1, dtype=np.int64), np.minimum(taps, 0).sum(axis=1, dtype=np.int64)


def _diagonal(taps: np.ndarray[Any, Any], channels: int) -> tuple[Integers, Integers] | None:
    """Of a depthwise convolution, whose taps are [tap, output channel]."""
    outputs = taps.shape[1]
    if outputs % channels:
        return None
    positive, negative = np.zeros((2, outputs, channels), np.int64)
    places = np.arange(outputs), np.arange(outputs) // (outputs // channels)
    positive[places] = np.maximum(taps, 0).sum(axis=0, dtype=np.int64)
    negative[places] = np.minimum(taps, 0).sum(axis=0, dtype=np.int64)
    return positive, negative
