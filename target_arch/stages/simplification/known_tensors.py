"""Tensors that have one value in each channel whatever the inputs are: constants in place of what computes
them.

An operand of a sum or a product of two tensors becomes a constant operand. For other readers, and as a result
of the model, an operator without inputs repeats the values of the channels. What computed them has no reader
then.

Tests: `tests/stages/simplification/test_known_tensors.py`.
"""

import numpy as np
from attrs import evolve

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import DEFINITION_NAME, Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import Integers
from target_arch.stages.simplification.links import repeats_channels
from target_arch.stages.simplification.ranges import Ranges


def with_known_tensors(model: Model, ranges: Ranges) -> Model:
    """Return the model with such tensors as constants; the same object where it has none."""
    values = {
        operator.output: ranges[operator.output].low
        for operator in model.operators
        if operator.output in ranges and ranges[operator.output].constant.all()
    }
    changed = {operator.id: _changed(operator, model, values) for operator in model.operators}
    if not any(changed.values()):
        return model
    tensors = dict(model.tensors)
    operators = []
    for operator in model.operators:
        found = changed[operator.id]
        operators.append(found[0] if found else operator)
        if found:
            tensors[found[1].name] = found[1]
    return reachable(evolve(model, tensors=tensors, operators=tuple(operators)))


def reachable(model: Model) -> Model:
    """Return the model with the operators and tensors that a result or a state is computed from."""
    wanted = {*model.given, *model.kept, *(state.initial for state in model.states if state.initial)}
    operators: list[Operator] = []
    for operator in reversed(model.operators):
        if operator.output in wanted:
            operators.append(operator)
            wanted |= {*operator.inputs, *operator.constants}
    if len(operators) == len(model.operators) and len(wanted) == len(model.tensors):
        return model
    tensors = {name: tensor for name, tensor in model.tensors.items() if name in wanted}
    return evolve(model, tensors=tensors, operators=tuple(reversed(operators)))


def _changed(operator: Operator, model: Model, values: dict[str, Integers]) -> tuple[Operator, Tensor] | None:
    """The operator with a constant in place of what is known, and the constant; None where nothing is."""
    if operator.output in values:
        if repeats_channels(operator) or operator.kind is OperatorKind.STORE:
            return None
        out = model.tensors[operator.output]
        constant = _constant(operator, out, values[out.name])
        return _repeated(operator, constant), constant
    known = [name for name in operator.inputs if name in values]
    if operator.facts.structure is not Structure.BROADCAST or len(known) != 1 or len(operator.inputs) != 2:
        return None
    other = next(name for name in operator.inputs if name not in values)
    first_of_difference = operator.kind is OperatorKind.SUB and operator.inputs[0] in values
    shapes = (model.tensors[other].shape, model.tensors[operator.output].shape)
    if first_of_difference or shapes[0] != shapes[1]:
        return None
    spread = np.broadcast_to(values[known[0]], shapes[1][-1:])
    constant = _constant(operator, model.tensors[known[0]], spread)
    return evolve(operator, inputs=(other,), constants=(constant.name,)), constant


def _repeated(operator: Operator, constant: Tensor) -> Operator:
    return evolve(
        operator,
        kind=OperatorKind.TILE,
        inputs=(),
        constants=(constant.name,),
        attributes={DEFINITION_NAME: "repeated"},
        relax_ops=(),
    )


def _constant(operator: Operator, tensor: Tensor, values: Integers) -> Tensor:
    """One value for each channel, of the tensor's type and on its grid."""
    data = np.ascontiguousarray(values.astype(tensor.dtype)).tobytes()
    return Tensor(
        name=f"{tensor.name}.known_{operator.id}",
        shape=(len(values),),
        dtype=tensor.dtype,
        quantization=tensor.quantization,
        data=data,
    )
