"""softmax and functions of one number in float32 as calls of `f32_functions.h`."""

from math import prod

from target_arch.backends.plain_c.kernels.text import Made, function, parameter
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/f32_functions.h"
FUNCTIONS = ("erf", "exp", "log", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh")
"""The functions that `ta_f32_function` has."""


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    softmax = operator.kind is OperatorKind.SOFTMAX and operator.arithmetic is Arithmetic.FLOAT
    if not softmax and not _is_function(operator):
        return f"no kernel for {operator.kind}"
    names = (*operator.inputs, operator.output)
    other = next((name for name in names if model.tensors[name].dtype != "float32"), None)
    return f"float arithmetic on {model.tensors[other].dtype} `{other}`" if other else None


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    return {WorkUnit.REAL_FUNCTION: prod(model.tensors[operator.output].shape), WorkUnit.CALL: 1}


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    count = prod(out.shape)
    if _is_function(operator):
        kind = _named(operator)
        line = f"ta_f32_map(TA_F32_{kind.upper()}, x, {count}, out);"
    else:
        length, beta = out.shape[-1], operator.real("beta", 1.0)
        kind = str(operator.kind)
        line = f"ta_f32_softmax(x, {count // length}, {length}, {beta.hex()}f, out);"
    parameters = (parameter("x", x), parameter("out", out, written=True))
    return Made(function=function(kind, parameters, (line,), (_HEADER,), ((1, 0),)), packed=())


def _is_function(operator: Operator) -> bool:
    return operator.kind is OperatorKind.FUNCTION and _named(operator) in FUNCTIONS


def _named(operator: Operator) -> str:
    return str(operator.attributes["function"])
