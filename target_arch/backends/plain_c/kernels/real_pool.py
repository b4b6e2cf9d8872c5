"""max_pool2d in float32 as calls of `f32_pool.h`."""

from target_arch.backends.plain_c.kernels import reals
from target_arch.backends.plain_c.kernels.text import Made, function, parameter, struct
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.windows import required_windows

_HEADER = "kernels/f32_pool.h"


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind is not OperatorKind.MAX_POOL2D or operator.arithmetic is not Arithmetic.FLOAT:
        return f"no kernel for {operator.kind} in {operator.arithmetic} arithmetic"
    return None


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    rows, columns = required_windows(operator, model)
    numbers: tuple[int | str, ...] = (
        *x.shape,
        *out.shape[1:3],
        *(rows.kernel, columns.kernel),
        *(rows.stride, columns.stride),
        *(rows.before, columns.before),
        *reals.range_in_c(operator),
    )
    lines = (struct("ta_f32_pool", "pool", numbers), "ta_f32_max_pool(&pool, x, out);")
    parameters = (parameter("x", x), parameter("out", out, written=True))
    return Made(function=function(str(operator.kind), parameters, lines, (_HEADER,)), packed=())
