"""The form of an operator in a region."""

from target_arch.backends.plain_c.stripes.convolution import convolution
from target_arch.backends.plain_c.stripes.defined import defined
from target_arch.backends.plain_c.stripes.real_convolution import real_convolution
from target_arch.backends.plain_c.stripes.rowwise import Rowwise
from target_arch.plan.model import Model, Operator
from target_arch.soc.words import InstructionSet


def rowwise(operator: Operator, after: Operator | None, model: Model, isa: InstructionSet) -> Rowwise | None:
    """One operator, or it and the addition `after` it; None where nothing computes some rows of it."""
    found: Rowwise | None = convolution(operator, after, model, isa)
    found = found or real_convolution(operator, after, model, isa)
    return found or (defined(operator, model, isa) if after is None else None)
