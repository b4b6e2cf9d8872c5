"""quantize and dequantize of 8-bit values as calls of `s8_convert.h`."""

from math import prod

from target_arch.backends.plain_c.kernels.text import Made, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import STORED
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/s8_convert.h"
_KINDS = (OperatorKind.QUANTIZE, OperatorKind.DEQUANTIZE)


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind not in _KINDS:
        return f"no kernel for {operator.kind}"
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    real, stored = (x, out) if operator.kind is OperatorKind.QUANTIZE else (out, x)
    if real.dtype != "float32" or stored.dtype not in STORED:
        return f"no kernel from {x.dtype} to {out.dtype}"
    if stored.quantization is None or len(stored.quantization.scale) != 1:
        return "values on several grids"
    return None


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    stored = out if operator.kind is OperatorKind.QUANTIZE else x
    grid = stored.quantization
    assert grid is not None
    away = int(operator.arithmetic == Arithmetic.TFLITE)
    called = f"ta_{'s8' if stored.dtype == 'int8' else 'u8'}_{operator.kind}"
    lines = (
        struct("ta_s8_steps", "steps", (f"{grid.scale[0].hex()}f", grid.zero_point[0], away)),
        f"{called}(&steps, x, {prod(out.shape)}, out);",
    )
    parameters = (parameter("x", x), parameter("out", out, written=True))
    return Made(function=function(str(operator.kind), parameters, lines, (_HEADER,)), packed=())
