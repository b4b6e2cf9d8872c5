"""Operators that only copy a tensor, for outputs and next values of states that need bytes of their own."""

from collections.abc import Mapping

from attrs import evolve

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind


def moved(
    kind: OperatorKind,
    value: str,
    name: str,
    place: str,
    tensors: dict[str, Tensor],
    operators: list[Operator],
) -> str:
    """The output, called `name` if that is free, of a new operator of this kind that copies a tensor."""
    name = unused(name, tensors)
    tensors[name] = evolve(tensors[value], name=name, data=None)
    operators.append(
        Operator(
            id=f"{kind}_{name}",
            kind=kind,
            arithmetic=Arithmetic.FLOAT,
            inputs=(value,),
            constants=(),
            output=name,
            location=place,
        )
    )
    return name


def with_own_outputs(model: Model) -> Model:
    """The model with an operator for each of its outputs: an input or a constant that is returned, and a
    tensor that is returned twice, is copied, so that its caller can have each output in bytes of its own.
    """
    tensors, operators = dict(model.tensors), list(model.operators)
    free = {operator.output for operator in operators} - {state.next for state in model.states}
    outputs: list[str] = []
    for value in model.outputs:
        if value in free:
            free.discard(value)
            outputs.append(value)
            continue
        place = f"output {value}"
        outputs.append(moved(OperatorKind.RESHAPE, value, f"{value}_out", place, tensors, operators))
    last = sorted(operators, key=lambda operator: operator.kind is OperatorKind.STORE)
    return evolve(model, outputs=tuple(outputs), tensors=tensors, operators=tuple(last))


def unused(name: str, tensors: Mapping[str, Tensor]) -> str:
    """The name, or one like it that no tensor has."""
    number = 1
    found = name
    while found in tensors:
        number += 1
        found = f"{name}_{number}"
    return found
