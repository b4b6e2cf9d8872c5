"""conv2d and dense with 8-bit values as calls of `s8_conv2d.h`."""

from math import prod
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels.layout import Layout
from target_arch.backends.plain_c.kernels.made import Made
from target_arch.backends.plain_c.kernels.scale import GROUP, OutOfRange, Scale, scale_of, sums_of
from target_arch.backends.plain_c.kernels.text import Parameter, function, parameter, struct
from target_arch.plan.arithmetic import requantization
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import INTEGERS
from target_arch.plan.operators.kinds import OperatorKind

_STORED = ("int8", "uint8")
_HEADER = "kernels/s8_conv2d.h"
_GROWTH = 1.1
"""The most that packing may add to weights, as a factor, beside `_SLACK` bytes."""
_SLACK = 16384


@frozen(kw_only=True)
class Sizes:
    """A convolution as `ta_s8_conv2d` has it; pairs are (rows, columns)."""

    image: tuple[int, int, int, int]
    out: tuple[int, int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]


def refusal(operator: Operator, model: Model, layout: Layout) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind not in (OperatorKind.CONV2D, OperatorKind.DENSE) or operator.arithmetic not in INTEGERS:
        return f"no kernel for {operator.kind} in {operator.arithmetic} arithmetic"
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    w, bias = (model.tensors[name] for name in operator.constants)
    if x.dtype not in _STORED or out.dtype not in _STORED or (w.dtype, bias.dtype) != ("int8", "int32"):
        return f"no kernel for {x.dtype} times {w.dtype} to {out.dtype}"
    if w.data is None or bias.data is None:
        return "weights or bias are computed at run time"
    if len(layout.packed(_weights(w))) > _GROWTH * w.bytes + _SLACK:
        return "packed weights would take more than 1.1 times the plain ones"
    return _range_refusal(operator, model)


def _range_refusal(operator: Operator, model: Model) -> str | None:
    try:
        _parameters(operator, model)
    except OutOfRange as error:
        return str(error)
    return None


def made(operator: Operator, model: Model, layout: Layout, apart: int = 0) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    w = model.tensors[operator.constants[0]]
    bias, scale = _parameters(operator, model)
    sizes = sizes_of(operator, model)
    numbers = _numbers(sizes, _outside(x), x.dtype == "uint8", apart or out.shape[-1], layout)
    parameters = (
        parameter("x", x),
        Parameter(name="w", dtype="int8"),
        Parameter(name="bias", dtype="int32"),
        Parameter(name="multiplier", dtype="int32"),
        Parameter(name="shift", dtype="int8"),
        parameter("out", out, written=True),
    )
    call = (
        f"ta_s8_conv2d_with({scale.constant}, &sizes, &scale, {_cast(x)}x, w, bias, multiplier, shift, "
        f"{'(int8_t *)' if out.dtype == 'uint8' else ''}out);"
    )
    lines = (struct("ta_s8_conv2d", "sizes", numbers), struct("ta_s8_scale", "scale", scale.numbers), call)
    headers = (layout.header, _HEADER)
    packed = (
        _constant(operator, "packed", np.frombuffer(layout.packed(_weights(w)), np.int8)),
        _constant(operator, "folded", np.pad(bias, (0, -len(bias) % GROUP)).astype("<i4")),
        _constant(operator, "multiplier", np.array(scale.multipliers, "<i4")),
        _constant(operator, "shift", np.array(scale.shifts, "<i1")),
    )
    return Made(
        function=function(operator.kind, parameters, lines, headers),
        packed=packed,
    )


def sizes_of(operator: Operator, model: Model) -> Sizes:
    """The sizes of a convolution; those of a dense layer, and of a kernel of 1x1 that steps over every pixel,
    are of an image with one column.
    """
    attributes: Any = operator.attributes
    x, w = model.tensors[operator.inputs[0]].shape, model.tensors[operator.constants[0]].shape
    kernel = w[1:3] if len(w) == 4 else (1, 1)
    stride = tuple(attributes.get("strides", (1, 1)))
    padding = tuple(attributes.get("padding", (0, 0, 0, 0)))
    rows = prod(x) // w[-1]
    if (*kernel, *stride) == (1, 1, 1, 1) and not any(padding):
        image, out = (1, rows, 1, w[-1]), (rows, 1, w[0])
        stride, padding, dilation = (1, 1), (0, 0), (1, 1)
    else:
        height, width, outputs = model.tensors[operator.output].shape[1:]
        image, out = (x[0], x[1], x[2], x[3]), (height, width, outputs)
        dilation = tuple(attributes.get("dilation", (1, 1)))
    return Sizes(
        image=image,
        out=out,
        kernel=(kernel[0], kernel[1]),
        stride=(stride[0], stride[1]),
        dilation=(dilation[0], dilation[1]) if kernel[1] > 1 else (dilation[0], 1),
        padding=(padding[0], padding[1]),
    )


def _numbers(sizes: Sizes, outside: int, unsigned: bool, apart: int, layout: Layout) -> tuple[int, ...]:
    """The members of `ta_s8_conv2d`, in order."""
    depth = layout.depth(prod(sizes.kernel) * sizes.image[3])
    windows = (*sizes.kernel, *sizes.stride, *sizes.dilation, *sizes.padding)
    return (*sizes.image, *sizes.out, *windows, outside, int(unsigned), apart, depth)


def _parameters(operator: Operator, model: Model) -> tuple[Any, Scale]:
    """The bias with the input's offset in it, and the scale. Raises OutOfRange."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    w, bias = (model.tensors[name] for name in operator.constants)
    r = requantization(operator, model)
    offset = r.input_offset + (128 if x.dtype == "uint8" else 0)
    folded, ranges = sums_of(_weights(w), np.frombuffer(bias.data or b"", "<i4"), offset)
    return folded, scale_of(r, w.shape[0], out.dtype == "uint8", ranges)


def _outside(x: Tensor) -> int:
    """The stored value of pixels outside the image, as int8."""
    assert x.quantization is not None
    return x.quantization.zero_point[0] - (128 if x.dtype == "uint8" else 0)


def _weights(w: Tensor) -> Any:
    """Weights as int8 [N, K]."""
    return np.frombuffer(w.data or b"", np.int8).reshape(w.shape[0], -1)


def _cast(x: Tensor) -> str:
    return "(const int8_t *)" if x.dtype == "uint8" else ""


def _constant(operator: Operator, suffix: str, values: Any) -> Tensor:
    dtype = {1: "int8", 4: "int32"}[values.dtype.itemsize]
    return Tensor(
        name=f"{operator.id}.{suffix}",
        shape=values.shape,
        dtype=dtype,
        data=np.ascontiguousarray(values).tobytes(),
    )
