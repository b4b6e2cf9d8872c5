"""The least or the greatest of all values of a float32 tensor as calls of `f32_extremes.h`."""

from math import prod

from target_arch.backends.plain_c.kernels.text import Made, function, parameter
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import RELAX_OP
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/f32_extremes.h"
_CALLS = {"min": "ta_f32_least", "max": "ta_f32_most"}


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    named = operator.attributes.get(RELAX_OP)
    if operator.kind is not OperatorKind.REDUCE or named not in _CALLS or len(operator.inputs) != 1:
        return f"no kernel for {operator.kind}"
    if model.tensors[operator.inputs[0]].dtype != "float32":
        return "values that are not float32"
    if prod(model.tensors[operator.output].shape) != 1:
        return "extremes of some dimensions"
    return None


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    named = str(operator.attributes[RELAX_OP])
    line = f"{_CALLS[named]}(x, {prod(x.shape)}, out);"
    parameters = (parameter("x", x), parameter("out", out, written=True))
    return Made(function=function(named, parameters, (line,), (_HEADER,)), packed=())
