"""Weights for channels that are equal: one of them has the weights of both, and the other one has none.

Their sum has to be a weight of the type, for every output and every operator that reads the tensor. The
values are integers, so no sum of products changes. A channel that nobody reads goes as any other one does.

Tests: `tests/stages/simplification/test_equal_channels.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import Integers
from target_arch.stages.simplification.weights import Weights, taps_of

GREATEST = 127
"""Of the magnitudes of weights: quantizers leave out -128, which products of two vectors of bytes rely on."""
Taps = np.ndarray[Any, np.dtype[np.int16]]


def with_merged_weights(model: Model, numbers: Mapping[str, Integers]) -> Model:
    """Return the model with such weights; the same object where no two channels have one number, or no sum
    fits.
    """
    taps: dict[str, Taps] = {}
    for name in (operator.output for operator in model.operators):
        equal = _equal(numbers[name])
        if equal:
            taps |= _merged(_readers(name, model), equal, model)
    return _with_weights(model, taps) if taps else model


def with_equal_tensors_once(model: Model, numbers: Mapping[str, Integers]) -> Model:
    """Return the model in which nobody reads a tensor with the channels of an earlier one, but the earlier
    one; the same object where there is none.
    """
    first: dict[Any, str] = {}
    instead: dict[str, str] = {}
    for name in (operator.output for operator in model.operators):
        tensor = model.tensors[name]
        key = (tensor.shape, tensor.dtype, tensor.quantization, numbers[name].tobytes())
        if first.setdefault(key, name) != name and name not in model.kept:
            instead[name] = first[key]
    operators = tuple(_reading(operator, instead) for operator in model.operators)
    return evolve(model, operators=operators) if operators != model.operators else model


def _reading(operator: Operator, instead: Mapping[str, str]) -> Operator:
    """The operator with the earlier tensors; itself where it joins one already, whose channels would be tied
    to places twice.
    """
    inputs = tuple(instead.get(name, name) for name in operator.inputs)
    joined = operator.kind is OperatorKind.CONCAT and len(set(inputs)) < len(inputs)
    if inputs == operator.inputs or joined:
        return operator
    return evolve(operator, inputs=inputs)


def _equal(numbers: Integers) -> list[list[int]]:
    """The channels with one number each, where there are several."""
    places: dict[int, list[int]] = {}
    if len(np.unique(numbers)) < len(numbers):
        for place, number in enumerate(numbers.tolist()):
            places.setdefault(number, []).append(place)
    return [each for each in places.values() if len(each) > 1]


def _readers(name: str, model: Model) -> list[Operator]:
    """The operators with weights for each channel of a tensor."""
    return [
        operator
        for operator in model.operators
        if operator.inputs[:1] == (name,)
        and operator.facts.structure is Structure.PRODUCTS
        and operator.kind is not OperatorKind.DEPTHWISE_CONV2D
        and Weights.of(operator, model) is not None
    ]


def _merged(readers: Sequence[Operator], equal: Sequence[Sequence[int]], model: Model) -> dict[str, Taps]:
    """By operator, weights that are others: [output channel, tap, input channel]."""
    found = [taps_of(operator, model) for operator in readers]
    taps = [each.astype(np.int16) for each in found if each is not None]
    changed = False
    for places in equal:
        kept: list[int] = []
        for place in places:
            into = next((first for first in kept if _fits(taps, first, place)), None)
            if into is None:
                kept.append(place)
                continue
            changed |= any(each[..., place].any() for each in taps)
            for each in taps:
                each[..., into] += each[..., place]
                each[..., place] = 0
    return {operator.id: each for operator, each in zip(readers, taps, strict=True)} if changed else {}


def _fits(taps: Sequence[Taps], first: int, second: int) -> bool:
    return all(np.abs(each[..., first] + each[..., second]).max() <= GREATEST for each in taps)


def _with_weights(model: Model, taps: Mapping[str, Taps]) -> Model:
    tensors = dict(model.tensors)
    changed: dict[str, Operator] = {}
    for id, values in taps.items():
        operator = model.operator(id)
        weights = model.tensors[operator.constants[0]]
        name = f"{weights.name}.merged_{id}"
        tensors[name] = evolve(weights, name=name, data=values.astype(weights.dtype).tobytes())
        changed[id] = evolve(operator, constants=(name, *operator.constants[1:]))
    operators = tuple(changed.get(operator.id, operator) for operator in model.operators)
    return evolve(model, tensors=tensors, operators=operators)
