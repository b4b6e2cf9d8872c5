"""The model without the channels that no result depends on, and without those that equal another one; what
constant channels add is in the biases.

Tests: `tests/stages/simplification/test_removal.py`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import evolve

from target_arch.plan.arithmetic import INT32_MAX
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.simplification import Simplification
from target_arch.stages.simplification.channel_range import Booleans, Integers, channels_of
from target_arch.stages.simplification.equal_channels import equal_channels
from target_arch.stages.simplification.known_tensors import reachable, with_known_tensors
from target_arch.stages.simplification.links import repeats_channels
from target_arch.stages.simplification.merging import with_equal_tensors_once, with_merged_weights
from target_arch.stages.simplification.needed import Needed, needed_channels
from target_arch.stages.simplification.ranges import Ranges, channel_ranges
from target_arch.stages.simplification.weights import Weights, stored_values


def without_dead_channels(model: Model) -> Model:
    """Return the model with the channels that can influence an output or a state, each computed once, with
    the same results bit for bit; `Model.simplification` says how much is left out.
    """
    smaller, before = model, None
    while smaller is not before:
        smaller, before = _once(smaller), smaller
    (channels, macs, constant_bytes), (every, all_macs, all_bytes) = _work(smaller), _work(model)
    return evolve(
        smaller,
        simplification=Simplification(
            channels=channels,
            all_channels=every,
            macs=macs,
            all_macs=all_macs,
            constant_bytes=constant_bytes,
            all_constant_bytes=all_bytes,
        ),
    )


def _work(model: Model) -> tuple[int, int, int]:
    """The channels that are computed, the multiply-accumulates, the bytes of constants."""
    constants = {name for operator in model.operators for name in operator.constants}
    computed = (operator for operator in model.operators if not repeats_channels(operator))
    return (
        sum(channels_of(model.tensors[operator.output]) for operator in computed),
        sum(model.macs(operator) for operator in model.operators),
        sum(model.tensors[name].bytes for name in constants),
    )


def _once(model: Model) -> Model:
    """The model after the first of the ways to make it smaller that does; itself where none does."""
    ranges = channel_ranges(model)
    known = with_known_tensors(model, ranges)
    if known is not model:
        return known
    smaller = _without_channels(model, ranges)
    if smaller is not model:
        return smaller
    numbers = equal_channels(model, ranges)
    once = reachable(with_equal_tensors_once(model, numbers))
    if len(once.operators) < len(model.operators):
        return once
    merged = with_merged_weights(model, numbers)
    if merged is model:
        return model
    smaller = _without_channels(merged, ranges)
    return model if smaller is merged else smaller


def _without_channels(model: Model, ranges: Ranges) -> Model:
    needed = needed_channels(model, ranges)
    if all(channels.all() for channels in needed.values()):
        return model
    folded = {op.id: _bias(op, model, ranges, needed) for op in model.operators if _loses_inputs(op, needed)}
    if any(bias is None or abs(bias).max() > INT32_MAX for bias in folded.values()):
        return model
    return _Removal(model, needed, folded).model()


def _loses_inputs(operator: Operator, needed: Needed) -> bool:
    weighted = operator.facts.structure is Structure.PRODUCTS
    depthwise = operator.kind is OperatorKind.DEPTHWISE_CONV2D
    return weighted and not depthwise and not needed[operator.inputs[0]].all()


def _bias(operator: Operator, model: Model, ranges: Ranges, needed: Needed) -> Integers | None:
    """The biases with what the channels that go would have added."""
    weights = Weights.of(operator, model)
    if weights is None:
        return None
    source = ranges[operator.inputs[0]]
    gone = ~needed[operator.inputs[0]] & source.constant
    return weights.bias + weights.folded(np.where(gone, source.low - weights.zero_point, 0))


class _Removal:
    """Tensors and operators of the smaller model. A constant that several operators read becomes one for each
    that reads another part of it.
    """

    def __init__(self, model: Model, needed: Needed, folded: Mapping[str, Integers | None]) -> None:
        self._model, self._needed, self._folded = model, needed, folded
        self._readers: dict[str, int] = {}
        for operator in model.operators:
            for name in operator.constants:
                self._readers[name] = self._readers.get(name, 0) + 1
        self._tensors: dict[str, Tensor] = {}

    def model(self) -> Model:
        """Return the smaller model."""
        model = self._model
        constants = {name for operator in model.operators for name in operator.constants}
        for name, tensor in model.tensors.items():
            if name not in constants:
                self._tensors[name] = self._activation(tensor)
        there = (operator for operator in model.operators if self._needed[operator.output].any())
        operators = tuple(map(self._operator, there))
        return reachable(evolve(model, tensors=self._tensors, operators=operators))

    def _activation(self, tensor: Tensor) -> Tensor:
        needed = self._needed.get(tensor.name)
        if needed is None or needed.all():
            return tensor
        places = tuple(np.flatnonzero(needed).tolist())
        origin = None if tensor.origin is None else evolve(tensor.origin, channels=places)
        return evolve(tensor.with_extent(len(tensor.shape) - 1, len(places)), origin=origin)

    def _operator(self, operator: Operator) -> Operator:
        if operator.kind is OperatorKind.CONCAT:
            return self._joined(operator)
        names = (*operator.inputs, operator.output)
        if all(self._needed[name].all() for name in names) or not operator.constants:
            for name in operator.constants:
                self._tensors[name] = self._model.tensors[name]
            return operator
        if operator.facts.structure is not Structure.PRODUCTS:
            constants = tuple(self._along_channels(operator, name) for name in operator.constants)
            return evolve(operator, constants=constants)
        weight = self._weight(operator)
        bias = self._bias(operator)
        attributes = dict(operator.attributes)
        if operator.kind is OperatorKind.DENSE:
            attributes["in_features"] = self._tensors[weight].shape[1]
        return evolve(operator, constants=(weight, bias), attributes=attributes)

    def _joined(self, operator: Operator) -> Operator:
        """A concat of the operands that have channels; of one alone, its copy."""
        inputs = tuple(name for name in operator.inputs if self._needed[name].any())
        if len(inputs) > 1 or len(operator.inputs) == 1:
            return evolve(operator, inputs=inputs)
        return evolve(operator, kind=OperatorKind.RESHAPE, inputs=inputs, attributes={}, relax_ops=())

    def _weight(self, operator: Operator) -> str:
        """The weights of the channels that are left, on both sides."""
        tensor = self._model.tensors[operator.constants[0]]
        inputs, outputs = self._needed[operator.inputs[0]], self._needed[operator.output]
        if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
            return self._add(operator, tensor, stored_values(tensor)[..., outputs], outputs)
        kept = stored_values(tensor)[outputs]
        columns = np.tile(inputs, kept.shape[-1] // len(inputs))
        return self._add(operator, tensor, kept[..., columns], outputs)

    def _bias(self, operator: Operator) -> str:
        tensor = self._model.tensors[operator.constants[1]]
        values, outputs = stored_values(tensor), self._needed[operator.output]
        folded = self._folded.get(operator.id)
        if folded is not None:
            values = folded.astype(tensor.dtype)
        return self._add(operator, tensor, values[outputs], outputs)

    def _along_channels(self, operator: Operator, name: str) -> str:
        """A constant operand: its channels are those of the output, or it has one value for all."""
        tensor, outputs = self._model.tensors[name], self._needed[operator.output]
        if operator.kind is OperatorKind.LOOKUP or channels_of(tensor) != len(outputs):
            self._tensors[name] = tensor
            return name
        return self._add(operator, tensor, stored_values(tensor)[..., outputs], outputs)

    def _add(
        self, operator: Operator, tensor: Tensor, values: np.ndarray[Any, Any], outputs: Booleans
    ) -> str:
        """A constant of the smaller model; its name, which is its own where others read all of it."""
        name = tensor.name if self._readers[tensor.name] == 1 else f"{tensor.name}_{operator.id}"
        self._tensors[name] = evolve(
            tensor,
            name=name,
            shape=values.shape,
            data=np.ascontiguousarray(values).tobytes(),
            quantization=_of_channels(tensor.quantization, outputs),
        )
        return name


def _of_channels(quantization: Quantization | None, outputs: Booleans) -> Quantization | None:
    """The grids of the channels that are left, where each channel has its own."""
    if quantization is None or len(quantization.scale) == 1:
        return quantization
    places = np.flatnonzero(outputs)
    points = quantization.zero_point
    return evolve(
        quantization,
        scale=tuple(quantization.scale[place] for place in places),
        zero_point=tuple(points[place] for place in places) if len(points) > 1 else points,
    )
