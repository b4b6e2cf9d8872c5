"""Interval arithmetic through a model: for every tensor, channel by channel, the stored values it can have.

The bounds are those of the operators' own arithmetic, rounding included: requantization never falls as an
accumulator rises, so the ends of an interval go to the ends of the result's. Values are never too few: where
a rule does not know an operator, its output may have every value of its type. An input has those of its type,
or those that are promised.

Tests: `tests/stages/simplification/test_removal.py`.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from target_arch.plan.arithmetic import (
    INT32_MAX,
    INT32_MIN,
    activation_range,
    addition,
    counts_in_multiplier,
    requantization,
)
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import ChannelRange, channels_of
from target_arch.stages.simplification.links import (
    concatenated_by_channel,
    keeps_last_axis,
    reshaped_channels,
)
from target_arch.stages.simplification.reals import promised_reals, quantized
from target_arch.stages.simplification.weights import Weights, reads_integers

Ranges = Mapping[str, ChannelRange]
_Rule = Callable[[Operator, Model, Ranges], ChannelRange | None]


def channel_ranges(model: Model) -> dict[str, ChannelRange]:
    """Return the range of every tensor of integers of up to 32 bits."""
    known: dict[str, ChannelRange] = {}
    reals = promised_reals(model)
    for name in model.given:
        _note(known, name, _given(name, model))
    for name in (name for operator in model.operators for name in operator.constants):
        _note(known, name, ChannelRange.of_constant(model.tensors[name]))
    for operator in model.operators:
        tensor = model.tensors[operator.output]
        rule = _rule_of(operator)
        inputs = (*operator.inputs, *operator.constants)
        ruled = rule(operator, model, known) if rule and all(name in known for name in inputs) else None
        if operator.kind is OperatorKind.QUANTIZE and inputs[0] in reals:
            ruled = quantized(operator, model, reals[inputs[0]])
        if ruled is None or ruled.channels != channels_of(tensor):
            ruled = ChannelRange.of_type(tensor)
        _note(known, operator.output, ruled)
    return known


def _given(name: str, model: Model) -> ChannelRange | None:
    """The range that is promised of an input; without a promise, and of a state, all values of the type."""
    every, promise = ChannelRange.of_type(model.tensors[name]), model.input_ranges.get(name)
    return every if every is None or promise is None else every.within(int(promise.low), int(promise.high))


def _note(known: dict[str, ChannelRange], name: str, range_: ChannelRange | None) -> None:
    if range_ is not None:
        known[name] = range_


def _products(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    """Sums of products, and a bias. Where there is padding, any tap may add nothing."""
    weights = Weights.of(operator, model)
    if weights is None:
        return None
    values = known[operator.inputs[0]].less(weights.zero_point)
    sums = weights.sums(values.with_zero() if weights.padded else values)
    if sums.low.min() < INT32_MIN or sums.high.max() > INT32_MAX:
        return None
    return sums.mapped(requantization(operator, model).apply)


def _scaled(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    """A value on another grid."""
    if not reads_integers(operator, model):
        return None
    scale = requantization(operator, model)
    return known[operator.inputs[0]].mapped(lambda value, _: scale.apply(value + scale.input_offset))


def _sum(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    operands = _operands(operator, model, known)
    if operands is None:
        return None
    (first, second), parameters = operands, addition(operator, model)
    ends = (second.low, second.high) if parameters.sign > 0 else (second.high, second.low)
    pairs = ((first.low, ends[0]), (first.high, ends[1]))
    low, high = (
        np.array([parameters.apply(int(a), int(b)) for a, b in zip(*pair, strict=True)], np.int64)
        for pair in pairs
    )
    return ChannelRange(low=low, high=high)


def _product(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    operands = _operands(operator, model, known)
    if operands is None:
        return None
    scale = requantization(operator, model)
    first, second = operands[0].less(-scale.input_offset), operands[1].less(-scale.second_offset)
    corners = np.stack([a * b for a in (first.low, first.high) for b in (second.low, second.high)])
    return ChannelRange(low=corners.min(axis=0), high=corners.max(axis=0)).mapped(
        lambda value, _: scale.apply(value)
    )


def _operands(operator: Operator, model: Model, known: Ranges) -> tuple[ChannelRange, ChannelRange] | None:
    """The ranges of two operands for the channels of the output."""
    channels = channels_of(model.tensors[operator.output])
    names = (*operator.inputs, *operator.constants)
    spread = [known[name].spread(channels) for name in names]
    if not reads_integers(operator, model) or len(spread) != 2 or spread[0] is None or spread[1] is None:
        return None
    return spread[0], spread[1]


def _pool(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    """A greatest value and a mean are between the least and the greatest value, where grids are equal."""
    source, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    padded_by_zeros = operator.attributes.get("count_include_pad", False)
    if source.quantization != out.quantization or padded_by_zeros or counts_in_multiplier(operator):
        return None
    return known[operator.inputs[0]].within(*activation_range(operator, model))


def _lookup(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    """The least and the greatest entry of the part of the table that can be read."""
    data, first = model.tensors[operator.constants[0]], model.tensors[operator.inputs[0]]
    if operator.attributes.get("curve") != "each" or data.data is None:
        return None
    table = np.frombuffer(data.data, data.dtype).astype(np.int64)
    least = int(np.iinfo(first.dtype).min)
    values = known[operator.inputs[0]]
    parts = [table[low - least : high - least + 1] for low, high in zip(values.low, values.high, strict=True)]
    return ChannelRange(
        low=np.array([part.min() for part in parts]), high=np.array([part.max() for part in parts])
    )


def _reshaped(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    source = known[operator.inputs[0]]
    places = reshaped_channels(source.channels, channels_of(model.tensors[operator.output]))
    if places is None:
        return source.hull(channels_of(model.tensors[operator.output]))
    count, of_input, of_output = places
    ends = [source.at(np.flatnonzero(of_input == place)) for place in range(count)]
    joined = ChannelRange(
        low=np.array([part.low.min() for part in ends]), high=np.array([part.high.max() for part in ends])
    )
    return joined.at(of_output)


def _repeated(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    """The channels again and again, of an input or of a constant."""
    if operator.attributes.get(DEFINITION_NAME) != "repeated":
        return None
    source = known[(*operator.inputs, *operator.constants)[0]]
    return source.at(np.arange(channels_of(model.tensors[operator.output])) % source.channels)


def _transposed(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    source = known[operator.inputs[0]]
    if keeps_last_axis(operator):
        return source
    return source.hull(channels_of(model.tensors[operator.output]))


def _joined(operator: Operator, model: Model, known: Ranges) -> ChannelRange | None:
    parts: Sequence[ChannelRange] = [known[name] for name in operator.inputs]
    lows, highs = [part.low for part in parts], [part.high for part in parts]
    if concatenated_by_channel(operator, model):
        return ChannelRange(low=np.concatenate(lows), high=np.concatenate(highs))
    return ChannelRange(low=np.min(np.stack(lows), axis=0), high=np.max(np.stack(highs), axis=0))


_RULES: tuple[tuple[tuple[OperatorKind, ...], _Rule], ...] = (
    ((OperatorKind.CONV2D, OperatorKind.DEPTHWISE_CONV2D, OperatorKind.DENSE), _products),
    ((OperatorKind.ADD, OperatorKind.SUB), _sum),
    ((OperatorKind.MUL,), _product),
    ((OperatorKind.AVG_POOL2D, OperatorKind.MAX_POOL2D), _pool),
    ((OperatorKind.RELU, OperatorKind.REQUANTIZE), _scaled),
    ((OperatorKind.LOOKUP,), _lookup),
    ((OperatorKind.RESHAPE,), _reshaped),
    ((OperatorKind.TRANSPOSE,), _transposed),
    ((OperatorKind.TILE,), _repeated),
    ((OperatorKind.CONCAT,), _joined),
)


def _rule_of(operator: Operator) -> _Rule | None:
    """The rule of a kind; None for a kind whose results may have every value of their type."""
    return next((rule for kinds, rule in _RULES if operator.kind in kinds), None)
