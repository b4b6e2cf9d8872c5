"""Which operators become one function."""

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure


def joinable(one: Operator, other: Operator, model: Model) -> bool:
    """True where the second alone reads the first's output, once, and another activation of that shape and
    type.
    """
    if not one.facts.weighted or other.facts.structure is not Structure.BROADCAST:
        return False
    if one.arithmetic != other.arithmetic or model.uses[one.output] != 1:
        return False
    if other.constants or len(other.inputs) != 2 or other.inputs.count(one.output) != 1:
        return False
    shapes = {model.tensors[name].shape for name in (*other.inputs, other.output)}
    return len(shapes) == 1
