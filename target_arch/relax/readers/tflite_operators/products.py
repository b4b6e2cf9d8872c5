"""Sums of products. The ones that have kinds of their own (int8 weights without zero point, 8-bit
activations; floats) are left to TVM's frontend and to the patterns; those of floats with int8 weights bring
their activations to eight bits as they run; all others are definitions.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm import relax

from target_arch.plan.arithmetic import Rounding, float32, quantize_multiplier
from target_arch.plan.model import Attribute
from target_arch.plan.operators.window import Window
from target_arch.plan.windows import Windows
from target_arch.relax.readers.tflite_operators import dynamic
from target_arch.relax.readers.tflite_operators.grids import bounds, ending, reals, steps
from target_arch.relax.readers.tflite_operators.site import Converter, TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted

Array = np.ndarray[Any, Any]


@frozen(kw_only=True, eq=False)
class _Requantizer:
    """Constants and attributes that finish a sum."""

    constants: tuple[Array, ...]
    attributes: Mapping[str, Attribute]


def _has_kind(site: TFLiteOperator, weight: TFLiteOperand) -> bool:
    """True for operands that the kinds `conv2d`, `depthwise_conv2d` and `dense` take."""
    if not site.stored:
        return not dynamic.is_dynamic(site, weight)
    grid = weight.quantization
    return (
        site.x.dtype == "int8"
        and weight.dtype == "int8"
        and weight.value is not None
        and grid is not None
        and not any(grid.zero_point)
    )


def _finish(
    site: TFLiteOperator, x: TFLiteOperand, weight: TFLiteOperand, bias: Array, activation: int, *, once: bool
) -> _Requantizer:
    """The requantizer of an operator on stored values; `once` where LiteRT rounds 32-bit sums once."""
    if weight.quantization is None:
        raise NotConverted(f"weights `{weight.name}` have no scale")
    scales, wide = weight.quantization.scale, bias.dtype == np.int64
    if len(scales) == 1 and (x.dtype == "uint8" or once):
        reals = [float32(x.scale * scales[0]) / site.out.scale]
    else:
        reals = [x.scale * scale / site.out.scale for scale in scales]
    pairs = [quantize_multiplier(real) for real in reals]
    rounding = Rounding.TFLITE_SINGLE if once or wide else Rounding.TFLITE
    multipliers = [multiplier if once or not wide else reduced(multiplier) for multiplier, _ in pairs]
    base = 31 if once else 15 if wide else 0
    rights = [base - shift for _, shift in pairs]
    attributes: dict[str, Attribute] = {
        "rounding": str(rounding),
        "accumulator": "int64" if wide else "int32",
        "offset0": -x.zero_point,
        "offset1": -weight.quantization.zero_point[0],
        "least_right": min(rights),
        **ending(site.out, *bounds(activation)),
    }
    tables = (bias, np.array(multipliers, np.int32), np.array(rights, np.int8))
    return _Requantizer(constants=tables, attributes=attributes)


def reduced(multiplier: int) -> int:
    """The 16 bits of a multiplier that LiteRT scales 64-bit sums with."""
    return (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF


def _bias(site: TFLiteOperator, index: int, x: TFLiteOperand, channels: int) -> Array:
    given = site.optional_tensor(index)
    if given is not None:
        return given.constant.reshape(-1)
    dtype = (
        "float32" if not site.stored and x.dtype == "float32" else "int64" if x.dtype == "int16" else "int32"
    )
    return np.zeros(channels, dtype)


def _weight(operand: TFLiteOperand) -> Any:
    return operand.constant


def _windows(
    same: bool,
    extents: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, int],
    dilation: tuple[int, int],
) -> Windows:
    """Along rows and columns, with the padding SAME or VALID."""
    place = Window.same if same else Window.padded
    axes = zip(extents, kernel, strides, dilation, strict=True)
    rows, columns = (place(*axis) for axis in axes)
    return rows, columns


def _before(windows: Windows) -> tuple[int, int]:
    rows, columns = windows
    return rows.before, columns.before


def convolution(table: str, name: str, site: TFLiteOperator) -> Any:
    """CONV_2D and DEPTHWISE_CONV_2D."""
    weight, options = site.tensor(1), site.options(table)
    if _has_kind(site, weight):
        return None
    strides = int(options.StrideH()), int(options.StrideW())
    dilation = int(options.DilationHFactor()), int(options.DilationWFactor())
    kernel, channels = weight.shape[1:3], site.out.shape[3]
    windows = _windows(options.Padding() == 0, site.x.shape[1:3], kernel, strides, dilation)
    if dynamic.is_dynamic(site, weight):
        return dynamic.convolution(site, weight, windows, int(options.FusedActivationFunction()))
    bias = _bias(site, 2, site.x, channels)
    finish = _finish(site, site.x, weight, bias, int(options.FusedActivationFunction()), once=False)
    return site.defined(
        name,
        site.x.expr,
        _weight(weight),
        *finish.constants,
        strides=strides,
        dilation=dilation,
        padding=_before(windows),
        **finish.attributes,
    )


def transposed_convolution(site: TFLiteOperator) -> Any:
    """TRANSPOSE_CONV, of stored values and of floats."""
    weight, x = site.tensor(1), site.tensor(2)
    brought = dynamic.brings(x, weight)
    if x.dtype == "float32" and weight.dtype != "float32" and not brought:
        raise NotConverted(f"activations in floats and weights in {weight.dtype}")
    options = site.options("TransposeConvOptions")
    strides = int(options.StrideH()), int(options.StrideW())
    same, activation = options.Padding() == 0, int(options.FusedActivationFunction())
    if brought:
        windows = _written_windows(site, x, weight, same, strides)
        return dynamic.transposed_convolution(site, weight, x, windows, activation)
    return transposed(site, x, weight, 3, same, strides, activation)


def transposed(
    site: TFLiteOperator,
    x: TFLiteOperand,
    weight: TFLiteOperand,
    bias_input: int,
    same: bool,
    strides: tuple[int, int],
    activation: int = 0,
) -> Any:
    """A transposed convolution with the padding SAME or VALID; its bias may be left out."""
    padding = _before(_written_windows(site, x, weight, same, strides))
    bias = _bias(site, bias_input, x, site.out.shape[3])
    place: dict[str, Attribute] = {"strides": strides, "padding": padding}
    if x.dtype == "float32":
        ends = {
            key: value
            for key, value in zip(("low", "high"), bounds(activation), strict=True)
            if value is not None
        }
        return site.defined(
            "transposed_conv2d",
            x.expr,
            _weight(weight),
            bias.astype(np.float32),
            rounding="float",
            **place,
            **ends,
        )
    finish = _finish(site, x, weight, bias, activation, once=False)
    return site.defined(
        "transposed_conv2d", x.expr, _weight(weight), *finish.constants, **place, **finish.attributes
    )


def _written_windows(
    site: TFLiteOperator, x: TFLiteOperand, weight: TFLiteOperand, same: bool, strides: tuple[int, int]
) -> Windows:
    """The windows in the result of a transposed convolution that the elements of `x` are added to."""
    rows, columns = _windows(same, site.out.shape[1:3], weight.shape[1:3], strides, (1, 1))
    return evolve(rows, out=x.shape[1]), evolve(columns, out=x.shape[2])


_MOST_BIAS = 1 << 31
"""From here on a sum times its multiplier may be beyond 64 bits."""


def fully_connected(site: TFLiteOperator) -> Any:
    """FULLY_CONNECTED on tensors of any rank."""
    weight, options = site.tensor(1), site.options("FullyConnectedOptions")
    if dynamic.is_dynamic(site, weight):
        return dynamic.fully_connected(site, weight, options)
    if _has_kind(site, weight):
        return None if site.x.shape[-1:] == weight.shape[1:] else _as_rows(site, weight)
    bias = _bias(site, 2, site.x, weight.shape[0])
    if bias.dtype == np.int64 and np.abs(bias).max(initial=0) >= _MOST_BIAS:
        raise NotConverted(f"a bias of {np.abs(bias).max()} steps")
    finish = _finish(site, site.x, weight, bias, int(options.FusedActivationFunction()), once=True)
    return site.defined("dense", site.x.expr, _weight(weight), *finish.constants, **finish.attributes)


def _as_rows(site: TFLiteOperator, weight: TFLiteOperand) -> Any:
    """A layer whose rows span several dimensions, in the form that the patterns of `dense` look for."""
    inputs = weight.shape[1]
    low, high = bounds(int(site.options("FullyConnectedOptions").FusedActivationFunction()))
    rows = relax.op.reshape(site.x.expr, (math.prod(site.x.shape) // inputs, inputs))
    columns = relax.op.permute_dims(reals(weight, weight.expr), [1, 0])
    value = relax.op.matmul(reals(site.x, rows), columns)
    bias = site.optional_tensor(2)
    if bias is not None:
        value = relax.op.add(value, reals(bias, bias.expr))
    if low is not None or high is not None:
        least, most = -math.inf if low is None else low, math.inf if high is None else high
        value = relax.op.nn.relu(value) if (low, high) == (0.0, None) else relax.op.clip(value, least, most)
    return relax.op.reshape(steps(site.out, value) if site.stored else value, site.out.shape)


def batch_matmul(site: TFLiteOperator) -> Any:
    """BATCH_MATMUL, whose operands may differ in rank."""
    x, y, options = site.tensor(0), site.tensor(1), site.options("BatchMatMulOptions")
    if dynamic.is_dynamic(site, y):
        return dynamic.batch_matmul(site, y, options)
    if not site.stored:
        return relax.op.matmul(_adjoint(x, options.AdjX()), _adjoint(y, options.AdjY()))
    bias = np.zeros(site.out.shape[-1], "int64" if x.dtype == "int16" else "int32")
    finish = _finish(site, x, y, bias, 0, once=False)
    if x.value is not None:
        raise NotConverted("its first operand is constant")
    other = y.expr if y.value is None else y.constant
    return site.defined(
        "matrix_product",
        x.expr,
        other,
        *finish.constants,
        adjoint0=int(options.AdjX()),
        adjoint1=int(options.AdjY()),
        **finish.attributes,
    )


def _adjoint(operand: TFLiteOperand, wanted: bool) -> Any:
    """Floats, with their last two axes exchanged where that is wanted."""
    return dynamic.exchanged(operand.expr, len(operand.shape)) if wanted else operand.expr


CONVERTERS: Mapping[str, Converter] = {
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": partial(convolution, "Conv2DOptions", "conv2d"),
    "DEPTHWISE_CONV_2D": partial(convolution, "DepthwiseConv2DOptions", "depthwise_conv2d"),
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transposed_convolution,
}
