"""Which channels of a model's tensors must be there, because a value in them can influence a result.

A channel can go if every operator that reads it either has no weight for it, or adds the same to its sums
whatever the input is, which its biases then hold. Channels that are the same channel in several tensors (of
an addition, a pool, a reshape) stay or go together, so that no operator has to pick elements.

Tests: `tests/stages/simplification/test_removal.py`.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import Booleans, channels_of
from target_arch.stages.simplification.links import concatenated_by_channel, links
from target_arch.stages.simplification.ranges import Ranges
from target_arch.stages.simplification.weights import Weights

Needed = Mapping[str, Booleans]


def needed_channels(model: Model, ranges: Ranges) -> Needed:
    """Return for every activation which of its channels must be there: none of a tensor that its readers can
    be without, else at least one.
    """
    activations = (*model.given, *(operator.output for operator in model.operators))
    needed = {name: np.zeros(channels_of(model.tensors[name]), np.bool_) for name in activations}
    for name in (*model.given, *model.kept):
        needed[name][:] = True
    demands = [_demand(operator, model, ranges) for operator in model.operators]
    while _grow(demands, needed) or _at_least_one(model, needed):
        pass
    return needed


def _grow(demands: "list[_Demand]", needed: dict[str, Booleans]) -> bool:
    """Go through the operators from the last to the first; whether a channel was added."""
    before = sum(int(np.count_nonzero(channels)) for channels in needed.values())
    for demand in reversed(demands):
        demand.add(needed)
    return before != sum(int(np.count_nonzero(channels)) for channels in needed.values())


def _at_least_one(model: Model, needed: dict[str, Booleans]) -> bool:
    """Give a channel to the last tensor that has none and that some reader cannot be without; whether there
    was one. A concat can be without all operands but one, and nobody reads for a result that goes.
    """
    read: set[str] = set()
    for operator in reversed(model.operators):
        if not needed[operator.output].any() and operator.output in read:
            needed[operator.output][0] = True
            return True
        if needed[operator.output].any() and not _joins_channels(operator, model):
            read |= {*operator.inputs}
    return False


def _joins_channels(operator: Operator, model: Model) -> bool:
    distinct = len(set(operator.inputs)) == len(operator.inputs)
    return operator.kind is OperatorKind.CONCAT and distinct and concatenated_by_channel(operator, model)


@frozen(kw_only=True, eq=False)
class _Demand:
    """The channels that one operator needs, given those that are needed of its output.

    `reads[o, c]`: output channel `o` is computed from the elements of input channel `c`; None where channels
    are linked instead. `linked`: the numbers of `links`; None where all channels are needed.
    """

    operator: Operator
    reads: Booleans | None
    linked: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]] | None

    def add(self, needed: dict[str, Booleans]) -> None:
        """Add the channels that this operator needs, to those of all its tensors."""
        if self.reads is not None:
            needed[self.operator.inputs[0]] |= self.reads[needed[self.operator.output]].any(axis=0)
        if self.linked is not None:
            there = np.zeros(max(len(own) for own in self.linked.values()), np.bool_)
            for name, own in self.linked.items():
                there[own[needed[name]]] = True
            for name, own in self.linked.items():
                needed[name] |= there[own]
        if self.reads is None and self.linked is None:
            for name in (*self.operator.inputs, self.operator.output):
                needed[name][:] = True


def _demand(operator: Operator, model: Model, ranges: Ranges) -> _Demand:
    if operator.facts.structure is not Structure.PRODUCTS:
        return _Demand(operator=operator, reads=None, linked=links(operator, model))
    weights = Weights.of(operator, model)
    if weights is None:
        return _Demand(operator=operator, reads=None, linked=None)
    depthwise = operator.kind is OperatorKind.DEPTHWISE_CONV2D
    source = ranges[operator.inputs[0]]
    folds = source.constant & ((source.low == weights.zero_point) | (not weights.padded))
    return _Demand(
        operator=operator,
        reads=None if depthwise else ~(weights.unread | folds),
        linked=links(operator, model) if depthwise else None,
    )
