"""depthwise_conv2d of float32 values with int8 weights as calls of `s8_hybrid_depthwise.h`."""

from math import prod

from target_arch.backends.plain_c.kernels import depthwise, hybrid
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.text import Made, struct
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.model import Model, Operator

_HEADER = "kernels/s8_hybrid_depthwise.h"


def refusal(operator: Operator, model: Model) -> str | None:
    """Why floats times int8 weights are no such call; None where they are one."""
    return hybrid.refused_constants(operator, model) or depthwise.refused_kernel(operator, model)


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    elements = prod(model.tensors[operator.inputs[0]].shape)
    return {**depthwise.work(operator, model, None), WorkUnit.REAL_ELEMENT: 4 * elements}


def made(operator: Operator, model: Model, layout: WeightLayout, apart: int = 0) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart. The
    header is written in the operations of a layout, though the weights are not in it.
    """
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    rows = depthwise.rows_of(model.tensors[operator.constants[0]])
    numbers = (*depthwise.numbers(operator, model, apart or out[3]), int(depthwise.is_narrow(rows)))
    call = hybrid.HybridCall(
        driver="ta_s8_hybrid_depthwise",
        sizes=struct("ta_s8_depthwise", "sizes", numbers),
        headers=(layout.header, _HEADER),
        stored=prod(x[1:]),
        over=x[0] == 1 and not apart,
    )
    return hybrid.called(operator, model, call, rows, depthwise.packed(rows))
