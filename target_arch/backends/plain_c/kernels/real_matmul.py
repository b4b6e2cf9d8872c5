"""Products of two activations in float32 as calls of `f32_matmul.h`."""

from target_arch.backends.plain_c.kernels.matrices import sizes, unpaired
from target_arch.backends.plain_c.kernels.text import Made, function, parameter
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/f32_matmul.h"


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind is not OperatorKind.MATMUL:
        return f"no kernel for {operator.kind}"
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    if any(tensor.dtype != "float32" for tensor in tensors):
        return "operands that are not float32"
    return unpaired(operator, model)


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    batch, rows, depth, outputs = sizes(operator, model)
    return {
        WorkUnit.REAL_PRODUCT: batch * rows * outputs * depth,
        WorkUnit.REAL_OUTPUT: batch * rows * outputs,
        WorkUnit.CALL: 1,
    }


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    a, b, out = (model.tensors[name] for name in (*operator.inputs, operator.output))
    numbers = ", ".join(map(str, sizes(operator, model)))
    parameters = (parameter("a", a), parameter("b", b), parameter("out", out, written=True))
    line = f"ta_f32_matmul({numbers}, a, b, out);"
    return Made(function=function(str(operator.kind), parameters, (line,), (_HEADER,)), packed=())
