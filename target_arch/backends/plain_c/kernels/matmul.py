"""Products of two activations of 8 bits as calls of `s8_matmul.h`."""

import numpy as np

from target_arch.backends.plain_c.kernels.matrices import sizes, unpaired
from target_arch.backends.plain_c.kernels.scale import single, within
from target_arch.backends.plain_c.kernels.text import Made, braced, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import as_int8
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.arithmetic import requantization
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import INTEGERS
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/s8_matmul.h"
_STORED = ("int8", "uint8")


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind is not OperatorKind.MATMUL or operator.arithmetic not in INTEGERS:
        return f"no kernel for {operator.kind}"
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    other = next((tensor for tensor in tensors if tensor.dtype not in _STORED), None)
    if other is not None:
        return f"`{other.name}` is {other.dtype}, not of 8 bits"
    return unpaired(operator, model) or _too_wide(operator, model)


def _products(operator: Operator, model: Model) -> int:
    """How many products of an activation and a weight a sum is worth: one of two activations is at most twice
    as great.
    """
    return 2 * sizes(operator, model)[2]


def _too_wide(operator: Operator, model: Model) -> str | None:
    fits = within(requantization(operator, model), np.zeros(1, np.int64), _products(operator, model))
    return None if fits else "its sums may take more than 31 bits"


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    batch, rows, depth, outputs = sizes(operator, model)
    return {
        WorkUnit.MATRIX_PRODUCT: batch * rows * outputs * depth,
        WorkUnit.OUTPUT: batch * rows * outputs,
        WorkUnit.CALL: 1,
    }


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    a, b, out = (model.tensors[name] for name in (*operator.inputs, operator.output))
    r = requantization(operator, model)
    scale = single(r, _products(operator, model), unsigned=out.dtype == "uint8")
    flips = [128 if tensor.dtype == "uint8" else 0 for tensor in (a, b)]
    offsets = (r.input_offset + flips[0], r.second_offset + flips[1])
    numbers = (*sizes(operator, model), braced(offsets), braced(flips))
    lines = (
        struct("ta_s8_matmul", "sizes", numbers),
        struct("ta_s8_scale", "scale", scale.numbers),
        f"static const int32_t multiplier[] = {braced(scale.multipliers)};",
        f"static const int8_t shift[] = {braced(scale.shifts)};",
        f"ta_s8_multiply(&sizes, {scale.constant}, &scale, multiplier, shift, {as_int8(a)}a, {as_int8(b)}b, "
        f"{as_int8(out, written=True)}out);",
    )
    parameters = (parameter("a", a), parameter("b", b), parameter("out", out, written=True))
    return Made(function=function(str(operator.kind), parameters, lines, (_HEADER,)), packed=())
