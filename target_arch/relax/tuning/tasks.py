"""From operators to the tasks that tuning knows them by."""

from typing import Any

from tvm import te

from target_arch.plan.model import Model, Operator
from target_arch.relax.lower.operators import definition_of, signature_of
from target_arch.relax.lower.recorded_schedule import task_name
from target_arch.relax.tuning.space import is_tunable

__all__ = ["function_of", "task_of", "tunable"]

tunable = is_tunable


def function_of(operator: Operator, model: Model) -> Any:
    """The S-TIR of an operator whose kind has a definition, before any schedule."""
    return te.create_prim_func(list(definition_of(signature_of(operator, model)).arguments))


def task_of(operator: Operator, model: Model) -> str:
    """The task of an operator whose kind has a definition."""
    return task_name(function_of(operator, model), operator.kind)
