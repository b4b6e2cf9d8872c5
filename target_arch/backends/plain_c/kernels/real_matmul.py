"""Products of two activations in float32 as calls of `f32_matmul.h`."""

from math import prod

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
    a, b = (tensor.shape for tensor in tensors[:2])
    if len(a) < 2 or len(b) < 2 or (len(b) > 2 and a[:-2] != b[:-2]):
        return "a matrix that is repeated, or a vector"
    return None


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    batch, rows, depth, outputs = _sizes(operator, model)
    return {
        WorkUnit.REAL_PRODUCT: batch * rows * outputs * depth,
        WorkUnit.REAL_OUTPUT: batch * rows * outputs,
        WorkUnit.CALL: 1,
    }


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    a, b, out = (model.tensors[name] for name in (*operator.inputs, operator.output))
    sizes = ", ".join(map(str, _sizes(operator, model)))
    parameters = (parameter("a", a), parameter("b", b), parameter("out", out, written=True))
    line = f"ta_f32_matmul({sizes}, a, b, out);"
    return Made(function=function(str(operator.kind), parameters, (line,), (_HEADER,)), packed=())


def _sizes(operator: Operator, model: Model) -> tuple[int, int, int, int]:
    """Pairs of matrices; rows of the first, its columns, columns of the second. Rows of all are one matrix's
    where the second is the same for them.
    """
    a, b = (model.tensors[name].shape for name in operator.inputs)
    batch = prod(b[:-2])
    return batch, prod(a[:-1]) // batch, a[-1], b[-1]
