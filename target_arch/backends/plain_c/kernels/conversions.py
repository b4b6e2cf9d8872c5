"""quantize and dequantize of 8-bit values as calls of `s8_convert.h`."""

from math import prod

from target_arch.backends.plain_c.kernels.text import Made, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import STORED
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import RELAX_OP, Arithmetic
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/s8_convert.h"
_KINDS = (OperatorKind.QUANTIZE, OperatorKind.DEQUANTIZE)
_PREFIXES = {"int8": "s8", "uint8": "u8"}


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if _is_computed(operator):
        return _computed_refusal(operator, model)
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
    if _is_computed(operator):
        return _computed(operator, model)
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    stored = out if operator.kind is OperatorKind.QUANTIZE else x
    grid = stored.quantization
    assert grid is not None
    away = int(operator.arithmetic == Arithmetic.TFLITE)
    called = f"ta_{_PREFIXES[stored.dtype]}_{operator.kind}"
    lines = (
        struct("ta_s8_steps", "steps", (f"{grid.scale[0].hex()}f", grid.zero_point[0], away)),
        f"{called}(&steps, x, {prod(out.shape)}, out);",
    )
    parameters = (parameter("x", x), parameter("out", out, written=True))
    return Made(function=function(str(operator.kind), parameters, lines, (_HEADER,)), packed=())


def _is_computed(operator: Operator) -> bool:
    """Whether values are brought to a grid that is computed at run time."""
    return (
        operator.kind is OperatorKind.ELEMENTWISE
        and operator.attributes.get(RELAX_OP) == OperatorKind.QUANTIZE
    )


def _computed_refusal(operator: Operator, model: Model) -> str | None:
    if len(operator.inputs) != 3:
        return "a grid of which some is a constant"
    x, scale, zero = (model.tensors[name] for name in operator.inputs)
    out = model.tensors[operator.output]
    if (x.dtype, scale.dtype) != ("float32", "float32") or out.dtype not in STORED:
        return f"no kernel from {x.dtype} to {out.dtype}"
    if zero.dtype not in STORED or x.shape != out.shape:
        return f"a zero point of type {zero.dtype}, or values that are repeated"
    if prod(scale.shape) != 1 or prod(zero.shape) != 1:
        return "values on several grids"
    return None


def _computed(operator: Operator, model: Model) -> Made:
    x, scale, zero = (model.tensors[name] for name in operator.inputs)
    out = model.tensors[operator.output]
    lines = (
        "const ta_s8_steps steps = {scale[0], zero[0], 0};",
        f"ta_{_PREFIXES[out.dtype]}_quantize(&steps, x, {prod(out.shape)}, out);",
    )
    read = (parameter("x", x), parameter("scale", scale), parameter("zero", zero))
    parameters = (*read, parameter("out", out, written=True))
    return Made(function=function(str(OperatorKind.QUANTIZE), parameters, lines, (_HEADER,)), packed=())
