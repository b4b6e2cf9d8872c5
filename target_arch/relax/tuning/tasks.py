"""From operators to functions that can be tuned."""

from collections.abc import Iterator
from math import prod
from typing import Any

from tvm import te

from target_arch.plan.model import Model, Operator
from target_arch.relax.lower.operators import definition_of, signature_of
from target_arch.relax.te.definition import Definition
from target_arch.relax.tuning.space import is_tunable

__all__ = ["arguments_of", "function_of", "tunable"]

tunable = is_tunable


def function_of(operator: Operator, model: Model) -> tuple[Definition, Any]:
    """The definition of an operator whose kind has one, and its S-TIR before any schedule."""
    definition = definition_of(signature_of(operator, model))
    return definition, te.create_prim_func(list(definition.arguments))


def arguments_of(definition: Definition) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Element type, count and (for packed constants, which steer shifts) values of every argument."""
    packed = {each.suffix: each.values for each in definition.packed}
    for argument in definition.arguments:
        values = tuple(int(value) for value in packed.get(str(argument.op.name), ()))
        yield str(argument.dtype), prod(int(extent) for extent in argument.shape), values
