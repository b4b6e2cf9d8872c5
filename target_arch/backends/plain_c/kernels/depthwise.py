"""depthwise_conv2d with 8-bit values as calls of `s8_depthwise.h`."""

from math import ceil, prod
from typing import Any

import numpy as np

from target_arch.backends.plain_c.kernels import weighted
from target_arch.backends.plain_c.kernels.scale import GROUP
from target_arch.backends.plain_c.kernels.sums import Sum
from target_arch.backends.plain_c.kernels.text import Made
from target_arch.backends.plain_c.work.forms import Strips, Work, WorkUnit
from target_arch.plan.arithmetic import DTYPE_RANGE, Rounding
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/s8_depthwise.h"
_MOST_TAPS = 25
"""TA_DW_TAPS of the header, less the one that fills a pair."""


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one if `made` can prove the range of its sums."""
    if operator.kind is not OperatorKind.DEPTHWISE_CONV2D:
        return f"no kernel for {operator.kind}"
    return weighted.refusal(operator, model) or refused_kernel(operator, model)


def refused_kernel(operator: Operator, model: Model) -> str | None:
    """Why its elements are not those of the driver, None where they are."""
    w = model.tensors[operator.constants[0]]
    if w.shape[2] != model.tensors[operator.inputs[0]].shape[3]:
        return "several outputs for each channel"
    if prod(w.shape[:2]) > _MOST_TAPS:
        return f"a kernel of more than {_MOST_TAPS} elements"
    return None


def proven(operator: Operator, model: Model) -> bool:
    """Whether `made` can prove the range of the sums of an operator that `refusal` accepts."""
    return weighted.proven(operator, model, rows_of, _low(operator, model))


def work(operator: Operator, model: Model, strips: Strips | None) -> Work:
    """The work of an operator that `refusal` accepts; `strips` as in `Form`, None for an operator with a sum
    after it.
    """
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    if strips is not None and in_strips(operator, model, strips):
        return {
            WorkUnit.STRIP: prod(out.shape),
            WorkUnit.LINE: prod(x.shape),
            WorkUnit.GROUP: ceil(x.shape[3] / strips.lanes),
            WorkUnit.CALL: 1,
        }
    taps = prod(model.tensors[operator.constants[0]].shape[:2])
    groups = ceil(x.shape[3] / GROUP)
    width = taps * ceil(x.shape[3] / 8) * 8
    pixels, inner = prod(out.shape[:3]), out.shape[0] * _inner(operator, model)
    return {
        WorkUnit.TAP: inner * width,
        WorkUnit.EDGE: (pixels - inner) * width,
        WorkUnit.OUTPUT: prod(out.shape),
        WorkUnit.GROUP: groups,
        WorkUnit.CALL: 1,
    }


def in_strips(operator: Operator, model: Model, strips: Strips) -> bool:
    """Whether a form of `s8_depthwise_arm_m.h` takes an operator whose sums are `proven`, as
    `ta_s8_dw_3x3_takes` says there.
    """
    attributes: Any = operator.attributes
    x, w = (model.tensors[name] for name in (operator.inputs[0], operator.constants[0]))
    dilation, strides = attributes.get("dilation", (1, 1)), attributes.get("strides", (1, 1))
    if w.shape[:2] != (3, 3) or tuple(dilation) != (1, 1) or max(strides) > strips.stride:
        return False
    if x.dtype != "int8" or x.shape[3] < strips.lanes:
        return False
    values = weighted.prepare(operator, model, rows_of(w), _low(operator, model))
    scale = values.scale
    if scale.rounding is Rounding.ONNX:
        return False
    least = 1 if scale.rounding is Rounding.TFLITE else strips.single
    fits = scale.least >= least and scale.most < strips.shift + least
    return fits and (not strips.narrow or is_narrow(values.rows))


def _inner(operator: Operator, model: Model) -> int:
    """Outputs of an image that are summed with their neighbours: along lines, which follow the longer side,
    those whose windows are between the borders.
    """
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    kernel = model.tensors[operator.constants[0]].shape[:2]
    strides, dilation = attributes.get("strides", (1, 1)), attributes.get("dilation", (1, 1))
    padding = attributes.get("padding", (0, 0, 0, 0))
    along = 0 if out[1] > out[2] else 1
    room = x[along + 1] - 1 - (kernel[along] - 1) * dilation[along] + padding[along]
    last = min(room // strides[along] + 1, out[along + 1])
    inner = max(last - max(ceil(padding[along] / strides[along]), 0), 0)
    return int(inner * out[2 - along])


def made(operator: Operator, model: Model, apart: int = 0, after: Sum | None = None) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart. Raises
    OutOfRange.
    """
    return weighted.made(weighed(operator, model, apart), model, after)


def weighed(operator: Operator, model: Model, apart: int = 0, *, turned: bool = False) -> weighted.Weighed:
    """The operator as a call of its driver, for an image whose rows are the columns of the model's where it
    is `turned`. Raises OutOfRange.
    """
    out = model.tensors[operator.output]
    rows = rows_of(model.tensors[operator.constants[0]])
    values = weighted.prepare(operator, model, rows, _low(operator, model))
    call = weighted.DriverCall(
        driver="ta_s8_convolve_depthwise",
        sizes="ta_s8_depthwise",
        headers=(_HEADER,),
        numbers=(
            *numbers(operator, model, apart or out.shape[-1], turned=turned),
            int(is_narrow(values.rows)),
        ),
        weights=packed(values.rows),
        room=GROUP,
    )
    return weighted.Weighed(operator=operator, values=values, call=call)


def packed(rows: Any) -> bytes:
    """Weights int8 [C, T] as int8 [C / 16][T / 2][16][2], both rounded up, and 16 bytes more."""
    channels, taps = rows.shape
    whole = np.pad(rows, ((0, -channels % GROUP), (0, taps % 2)))
    blocks = whole.reshape(-1, GROUP, whole.shape[1] // 2, 2).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(blocks, dtype=np.int8).tobytes() + bytes(GROUP)


def numbers(operator: Operator, model: Model, apart: int, *, turned: bool = False) -> tuple[int, ...]:
    """The members of `ta_s8_depthwise`, in order, up to `narrow`, for an image whose rows are the columns of
    the model's where it is `turned`. An image of floats is brought to a grid of its own as it is read.
    """
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output].shape
    kernel = model.tensors[operator.constants[0]].shape[:2]
    strides, dilation = attributes.get("strides", (1, 1)), attributes.get("dilation", (1, 1))
    padding = attributes.get("padding", (0, 0, 0, 0))[:2]
    pairs = (x.shape[1:3], out[1:3], kernel, strides, dilation, padding)
    image, *windows = (pair[::-1] if turned else pair for pair in pairs)
    stated = (number for pair in windows for number in pair)
    zero = 0 if x.quantization is None else weighted.zero_point(x)
    images, channels = x.shape[0], x.shape[3]
    return (images, *image, channels, *stated, zero, int(x.dtype == "uint8"), apart)


def is_narrow(rows: Any) -> bool:
    """Whether no two weights that are packed as a pair, of rows int8 [C, T], are both -128."""
    whole = np.pad(rows, ((0, 0), (0, rows.shape[1] % 2))).reshape(-1, 2)
    return not (whole == -128).all(axis=1).any()


def rows_of(w: Tensor) -> Any:
    """Weights [KH, KW, C] as int8 [C, T]."""
    return np.frombuffer(w.data or b"", np.int8).reshape(-1, w.shape[2]).T


def _low(operator: Operator, model: Model) -> int:
    """The driver takes both types as they are."""
    return DTYPE_RANGE[model.tensors[operator.inputs[0]].dtype][0]
