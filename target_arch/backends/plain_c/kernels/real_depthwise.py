"""depthwise_conv2d in float32 as calls of `f32_depthwise.h`."""

from math import ceil, prod
from typing import Any

import numpy as np

from target_arch.backends.plain_c.kernels import reals
from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter, struct
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/f32_depthwise.h"
_LANES = 8
"""Channels of a vector; TA_F32_DW_CHANNELS of the header is a multiple."""


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind is not OperatorKind.DEPTHWISE_CONV2D:
        return f"no kernel for {operator.kind}"
    reason = reals.unfit(operator, model)
    if reason is not None:
        return reason
    w = model.tensors[operator.constants[0]]
    if w.shape[2] != model.tensors[operator.inputs[0]].shape[3]:
        return "several outputs for each channel"
    return None


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts; a window at the border counts as a whole one."""
    out = model.tensors[operator.output].shape
    taps = prod(model.tensors[operator.constants[0]].shape[:2])
    return {
        WorkUnit.REAL_TAP: prod(out[:3]) * ceil(out[3] / _LANES) * _LANES * taps,
        WorkUnit.CALL: 1,
    }


def made(operator: Operator, model: Model, apart: int = 0, after: reals.RealSum | None = None) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    other = (parameter("other", after.other),) if after else ()
    inside = (Parameter(name=name, dtype="float32") for name in reals.INSIDE)
    last = parameter("out", after.out if after else out, written=True)
    lines = (
        struct("ta_f32_depthwise", "sizes", (*_numbers(operator, model, apart), *reals.range_in_c(operator))),
        reals.end_in_c("other" if after else "0", after),
        "ta_f32_convolve_depthwise(&sizes, &end, x, w, bias, out);",
    )
    kind = f"{operator.kind}_add" if after else str(operator.kind)
    parameters = (parameter("x", x), *inside, *other, last)
    w, bias = (model.tensors[name] for name in operator.constants)
    return Made(
        function=function(kind, parameters, lines, (_HEADER,), ((4, 3),) if after else ()),
        packed=(
            reals.constant(operator, "taps", np.frombuffer(w.data or b"", "<f4")),
            reals.constant(operator, "biases", np.frombuffer(bias.data or b"", "<f4")),
        ),
    )


def _numbers(operator: Operator, model: Model, apart: int) -> tuple[int, ...]:
    """The members of `ta_f32_depthwise` before the activation, in order."""
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    kernel = model.tensors[operator.constants[0]].shape[:2]
    strides, dilation = attributes.get("strides", (1, 1)), attributes.get("dilation", (1, 1))
    padding = attributes.get("padding", (0, 0, 0, 0))[:2]
    windows = (*kernel, *strides, *dilation, *padding)
    return (*x, *out[1:3], *windows, apart or out[3])
