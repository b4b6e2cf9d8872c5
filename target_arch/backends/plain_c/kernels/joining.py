"""Which operators become one function."""

from collections.abc import Sequence, Set

from target_arch.backends.plain_c.kernels.text import Inlined
from target_arch.plan.kernels import MOST_OPERANDS
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure
from target_arch.plan.products import is_hybrid

_OUTPUT_AND_SCRATCH = 2
"""Operands of a region beside those that it reads."""


def joinable(one: Operator, other: Operator, model: Model) -> bool:
    """True where the second alone reads the first's output, once, and another activation of that shape and
    type.
    """
    if not one.facts.weighted or is_hybrid(one, model) or other.facts.structure is not Structure.BROADCAST:
        return False
    if one.arithmetic != other.arithmetic or model.uses[one.output] != 1:
        return False
    if other.constants or len(other.inputs) != 2 or other.inputs.count(one.output) != 1:
        return False
    shapes = {model.tensors[name].shape for name in (*other.inputs, other.output)}
    return len(shapes) == 1


def few_operands(given: Set[str], units: Sequence[Inlined]) -> bool:
    """True where the function of a region is passed no more operands than any may be: the `given` tensors and
    the constants of its units, the output and scratch memory.
    """
    constants = sum(len(unit.inside) for unit in units)
    return len(given) + constants + _OUTPUT_AND_SCRATCH <= MOST_OPERANDS
