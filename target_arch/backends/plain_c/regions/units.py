"""The form of an operator in a region that computes rows or columns."""

from target_arch.backends.plain_c.regions.convolution import convolution
from target_arch.backends.plain_c.regions.defined import defined
from target_arch.backends.plain_c.regions.linewise import Rowwise
from target_arch.backends.plain_c.regions.real_convolution import real_convolution
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.cut import Axis
from target_arch.soc.words import InstructionSet


def rowwise(
    operator: Operator, after: Operator | None, model: Model, axis: Axis, isa: InstructionSet
) -> Rowwise | None:
    """One operator, or it and the addition `after` it; None where nothing computes some lines of it."""
    unit: Rowwise | None = convolution(operator, after, model, axis, isa)
    unit = unit or real_convolution(operator, after, model, axis, isa)
    return unit or (defined(operator, model, axis, isa) if after is None else None)
