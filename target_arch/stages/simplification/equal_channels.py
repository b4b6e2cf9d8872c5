"""Channels that have the same values in every run, since the same is computed for them.

The channels of all tensors are numbered, in the order of the operators. The number of a channel stands for
its operator's kind, attributes and grids, for its own part of the constants, and for the numbers of the
channels that it is computed from.

Tests: `tests/stages/simplification/test_equal_channels.py`.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from attrs import define, field

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import Integers, channels_of
from target_arch.stages.simplification.links import (
    concatenated_by_channel,
    keeps_last_axis,
    reshaped_channels,
)
from target_arch.stages.simplification.ranges import Ranges
from target_arch.stages.simplification.weights import Weights, reads_integers, stored_values, taps_of


def equal_channels(model: Model, ranges: Ranges) -> dict[str, Integers]:
    """Return the number of each channel of every activation. Channels of two tensors have one number only
    where they are equal in every run, and where the other extents of the tensors are.
    """
    numbering = _Numbering(model, ranges)
    for name in model.given:
        numbering.note(name, None)
    for operator in model.operators:
        rule = _rule_of(operator)
        numbering.note(operator.output, None if rule is None else rule(operator, numbering))
    return numbering.numbers


@define
class _Numbering:
    """The numbers of the channels so far, and what each number stands for."""

    model: Model
    ranges: Ranges
    numbers: dict[str, Integers] = field(factory=dict)
    _met: dict[Hashable, int] = field(factory=dict)
    _next: int = 0

    def note(self, name: str, keys: Sequence[Hashable] | None) -> None:
        """Number the channels of a tensor by these keys; without keys, none of them equals another one. The
        key of a channel with one value is the value.
        """
        tensor = self.model.tensors[name]
        count = channels_of(tensor)
        if keys is None and name not in self.ranges:
            self.numbers[name] = self._others(count)
            return
        own: list[Hashable] = [(name, channel) for channel in range(count)]
        if keys is not None and len(keys) == count:
            own = list(keys)
        if name in self.ranges:
            values = self.ranges[name]
            for channel in np.flatnonzero(values.constant).tolist():
                own[channel] = ("=", int(values.low[channel]))
        outer = tensor.shape[:-1]
        self.numbers[name] = np.array([self.number(outer, key) for key in own], np.int64)

    def number(self, *key: Hashable) -> int:
        """Return the number of this key, a new one where it was not met."""
        if key not in self._met:
            self._met[key], self._next = self._next, self._next + 1
        return self._met[key]

    def _others(self, count: int) -> Integers:
        """Return as many numbers that no key has."""
        first, self._next = self._next, self._next + count
        return np.arange(first, self._next)

    def of(self, operator: Operator, place: int = 0) -> list[int]:
        """Return the numbers of an input's channels."""
        found: list[int] = self.numbers[operator.inputs[place]].tolist()
        return found

    def common(self, operator: Operator, *more: Hashable) -> int:
        """Return a number for what all channels of an operator have in common."""
        grids = (self.grid(name) for name in (*operator.inputs, operator.output))
        attributes = sorted((name, value) for name, value in operator.attributes.items())
        return self.number(
            str(operator.kind), str(operator.arithmetic), tuple(attributes), tuple(grids), more
        )

    def grid(self, name: str) -> Hashable:
        """Return what its values mean: the type and the grid of a tensor."""
        tensor = self.model.tensors[name]
        grid = tensor.quantization
        return tensor.dtype, None if grid is None else (grid.scale, grid.zero_point)


_Rule = Callable[[Operator, _Numbering], Sequence[Hashable] | None]


def _products(operator: Operator, numbering: _Numbering) -> list[Hashable] | None:
    model = numbering.model
    if Weights.of(operator, model) is None:
        return None
    weights = model.tensors[operator.constants[0]]
    bias = stored_values(model.tensors[operator.constants[1]])
    assert weights.quantization is not None
    scales = np.broadcast_to(np.array(weights.quantization.scale), bias.shape).tolist()
    rows = _depthwise_rows if operator.kind is OperatorKind.DEPTHWISE_CONV2D else _rows
    found = rows(operator, numbering)
    return None if found is None else list(zip(found, bias.tolist(), scales, strict=True))


def _rows(operator: Operator, numbering: _Numbering) -> list[Hashable] | None:
    """The weights of each output for each input that is not equal to another one."""
    taps = taps_of(operator, numbering.model)
    if taps is None:
        return None
    inputs, place = np.unique(numbering.numbers[operator.inputs[0]], return_inverse=True)
    if len(inputs) < taps.shape[-1]:
        sums = np.zeros((len(inputs), *taps.shape[:-1]), np.int32)
        for channel, own in enumerate(place.reshape(-1).tolist()):
            sums[own] += taps[..., channel]
        taps = np.moveaxis(sums, 0, -1)
    else:
        taps = taps[..., np.argsort(place.reshape(-1))]
    common = numbering.common(operator, tuple(inputs.tolist()))
    return [(common, row.tobytes()) for row in taps]


def _depthwise_rows(operator: Operator, numbering: _Numbering) -> list[Hashable] | None:
    taps = stored_values(numbering.model.tensors[operator.constants[0]])
    taps = taps.reshape(-1, taps.shape[-1]).T
    inputs = np.repeat(numbering.numbers[operator.inputs[0]], len(taps) // len(numbering.of(operator)))
    common = numbering.common(operator)
    return [(common, number, row.tobytes()) for number, row in zip(inputs.tolist(), taps, strict=True)]


def _each(operator: Operator, numbering: _Numbering) -> list[Hashable]:
    """One value from one value, or from those of a window."""
    tables = tuple(numbering.model.tensors[name].data for name in operator.constants)
    common = numbering.common(operator, tables)
    return [(common, number) for number in numbering.of(operator)]


def _pairs(operator: Operator, numbering: _Numbering) -> list[Hashable] | None:
    model = numbering.model
    channels = channels_of(model.tensors[operator.output])
    if not reads_integers(operator, model):
        return None
    operands: list[list[Hashable]] = [
        list(numbering.of(operator, place)) for place in range(len(operator.inputs))
    ]
    for name in operator.constants:
        tensor = model.tensors[name]
        values = stored_values(tensor).reshape(-1, channels_of(tensor))
        operands.append([column.tobytes() for column in values.T])
    common = numbering.common(operator, *(numbering.grid(name) for name in operator.constants))
    spread = [operand * channels if len(operand) == 1 else operand for operand in operands]
    if any(len(operand) != channels for operand in spread):
        return None
    return [(common, *each) for each in zip(*spread, strict=True)]


def _reshaped(operator: Operator, numbering: _Numbering) -> list[Hashable] | None:
    inputs = numbering.of(operator)
    outputs = channels_of(numbering.model.tensors[operator.output])
    if reshaped_channels(len(inputs), outputs) is None:
        return None
    if len(inputs) <= outputs:
        return [
            (operator.kind, place, number) for place in range(outputs // len(inputs)) for number in inputs
        ]
    return [(operator.kind, *inputs[channel::outputs]) for channel in range(outputs)]


def _transposed(operator: Operator, numbering: _Numbering) -> list[Hashable] | None:
    return _each(operator, numbering) if keeps_last_axis(operator) else None


def _joined(operator: Operator, numbering: _Numbering) -> list[Hashable]:
    numbers = [numbering.of(operator, place) for place in range(len(operator.inputs))]
    if concatenated_by_channel(operator, numbering.model):
        return [(operator.kind, number) for each in numbers for number in each]
    return [(numbering.common(operator), *each) for each in zip(*numbers, strict=True)]


_RULES: tuple[tuple[tuple[OperatorKind, ...], _Rule], ...] = (
    ((OperatorKind.CONV2D, OperatorKind.DEPTHWISE_CONV2D, OperatorKind.DENSE), _products),
    ((OperatorKind.ADD, OperatorKind.SUB, OperatorKind.MUL), _pairs),
    ((OperatorKind.AVG_POOL2D, OperatorKind.MAX_POOL2D), _each),
    ((OperatorKind.RELU, OperatorKind.REQUANTIZE, OperatorKind.LOOKUP), _each),
    ((OperatorKind.RESHAPE,), _reshaped),
    ((OperatorKind.TRANSPOSE,), _transposed),
    ((OperatorKind.CONCAT,), _joined),
)


def _rule_of(operator: Operator) -> _Rule | None:
    """The rule of a kind; None for a kind whose channels never equal another one."""
    if operator.arithmetic is Arithmetic.FLOAT:
        return None
    return next((rule for kinds, rule in _RULES if operator.kind in kinds), None)
