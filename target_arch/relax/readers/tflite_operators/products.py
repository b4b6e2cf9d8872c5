"""Sums of products. Those of stored values are stated as their kinds; those of floats with int8 weights, too,
and bring their activations to eight bits as they run; in those of floats the patterns find the same kinds.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from attrs import evolve
from tvm import relax

from target_arch.plan.arithmetic import Rounding, float32, quantize_multiplier, reduced
from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.operators.window import Window
from target_arch.plan.windows import Windows
from target_arch.relax.readers.tflite_operators import dynamic
from target_arch.relax.readers.tflite_operators.grids import ACTIVATIONS, activated, bounds, clamped, ending
from target_arch.relax.readers.tflite_operators.image_weights import StoredWeights, groups_of, image_weights
from target_arch.relax.readers.tflite_operators.site import (
    Converter,
    TFLiteOperand,
    TFLiteOperator,
    require_computed,
)
from target_arch.relax.site import NotConverted, constant, filled

Array = np.ndarray[Any, Any]


_WEIGHTS = ("int8", "uint8")


def _stated(
    site: TFLiteOperator,
    kind: OperatorKind,
    x: TFLiteOperand,
    weight: StoredWeights,
    bias: Array,
    activation: int,
    **attributes: Attribute,
) -> Any:
    """A sum of products of stored values; `weight` are the weights in the file, as the kind wants them, and
    the axis of their outputs there.
    """
    operand, values, axis = weight
    grid = operand.quantization
    if grid is None:
        raise NotConverted(f"weights `{operand.name}` have no scale")
    if operand.dtype not in _WEIGHTS or len(set(grid.zero_point)) > 1:
        raise NotConverted(f"weights `{operand.name}` of type {operand.dtype} with such zero points")
    own = evolve(grid, axis=axis if len(grid.scale) > 1 else None)
    scales = tuple(x.scale * scale for scale in grid.scale)
    sums = Quantization(scale=scales, zero_point=(0,) * len(scales), axis=0 if len(scales) > 1 else None)
    end = ending(site.out, *bounds(activation))
    return site.stated(
        kind,
        (x.expr, values, bias),
        (x.quantization, own, sums, site.out.quantization),
        **attributes,
        activation_min=end["low"],
        activation_max=end["high"],
    )


def _bias(site: TFLiteOperator, index: int, x: TFLiteOperand, channels: int) -> Array:
    given = site.optional_tensor(index)
    if given is not None:
        return given.constant.reshape(-1)
    dtype = (
        "float32" if not site.stored and x.dtype == "float32" else "int64" if x.dtype == "int16" else "int32"
    )
    return np.zeros(channels, dtype)


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


def _around(windows: Windows) -> tuple[int, int, int, int]:
    """Padding (top, left, bottom, right)."""
    rows, columns = windows
    return rows.before, columns.before, rows.after, columns.after


def convolution(table: str, site: TFLiteOperator) -> Any:
    """CONV_2D and DEPTHWISE_CONV_2D; of an image with one channel both are the same."""
    weight, options = site.tensor(1), site.options(table)
    strides = int(options.StrideH()), int(options.StrideW())
    dilation = int(options.DilationHFactor()), int(options.DilationWFactor())
    kernel, channels = weight.shape[1:3], site.out.shape[3]
    windows = _windows(options.Padding() == 0, site.x.shape[1:3], kernel, strides, dilation)
    activation = int(options.FusedActivationFunction())
    if dynamic.is_dynamic(site, weight):
        return dynamic.convolution(site, weight, windows, activation)
    if not site.stored:
        return _convolution_of_floats(site, weight, windows)
    kind, stored = image_weights(site, weight)
    attributes: dict[str, Attribute] = {
        "strides": strides,
        "dilation": dilation,
        "padding": _around(windows),
    }
    if kind is OperatorKind.DEPTHWISE_CONV2D:
        attributes["depth_multiplier"] = channels // site.x.shape[3]
    elif (groups := groups_of(site, weight)) > 1:
        attributes["groups"] = groups
    bias = _bias(site, 2, site.x, channels)
    return _stated(site, kind, site.x, stored, bias, activation, **attributes)


def _convolution_of_floats(site: TFLiteOperator, weight: TFLiteOperand, windows: Windows) -> Any:
    _require_floats(site, weight)
    require_computed(site.x)
    rows, columns = windows
    layout, deep = "HWIO", site.operator == "DEPTHWISE_CONV_2D"
    if deep:
        _, height, width, channels = weight.shape
        single = site.x.shape[3] == 1
        layout = "HWIO" if single else "HWOI"
        kernel = _arranged(weight, (height, width, *((1, channels) if single else (channels, 1))), ())
    else:
        kernel = _arranged(weight, (), (1, 2, 3, 0))
    product = relax.op.nn.conv2d(
        site.x.expr,
        kernel,
        strides=(rows.stride, columns.stride),
        padding=_around(windows),
        dilation=(rows.dilation, columns.dilation),
        groups=groups_of(site, weight),
        data_layout="NHWC",
        kernel_layout=layout,
    )
    bias = site.optional_tensor(2)
    return activated(site, product if bias is None else relax.op.add(product, bias.expr))


def _require_floats(site: TFLiteOperator, weight: TFLiteOperand) -> None:
    if (site.x.dtype, weight.dtype) != ("float32", "float32"):
        raise NotConverted(f"activations in {site.x.dtype} and weights in {weight.dtype}")


def _arranged(weight: TFLiteOperand, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """Return weights in another shape or order of dimensions; of a constant a constant."""
    if weight.value is not None:
        return constant(weight.value.reshape(shape) if shape else weight.value.transpose(order))
    return relax.op.reshape(weight.expr, shape) if shape else relax.op.permute_dims(weight.expr, order)


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
    bias = _bias(site, bias_input, x, site.out.shape[3])
    attributes: dict[str, Attribute] = {
        "strides": strides,
        "dilation": (1, 1),
        "padding": _around(_written_windows(site, x, weight, same, strides)),
    }
    kind = OperatorKind.CONV2D_TRANSPOSE
    if x.dtype != "float32":
        return _stated(site, kind, x, (weight, weight.constant, 0), bias, activation, **attributes)
    ends = bounds(activation)
    known = ACTIVATIONS.get(ends)
    operands = x.expr, weight.constant, bias.astype(np.float32)
    product = site.stated(kind, operands, (), **attributes, activation=known or "none")
    return product if known else clamped(site.emit(product), *ends)


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
    if not site.stored:
        return _dense_of_floats(site, weight)
    bias = _bias(site, 2, site.x, weight.shape[0])
    if bias.dtype == np.int64 and np.abs(bias).max(initial=0) >= _MOST_BIAS:
        raise NotConverted(f"a bias of {np.abs(bias).max()} steps")
    return _stated(
        site,
        OperatorKind.DENSE,
        site.x,
        (weight, weight.constant, 0),
        bias,
        int(options.FusedActivationFunction()),
        in_features=weight.shape[1],
    )


def _dense_of_floats(site: TFLiteOperator, weight: TFLiteOperand) -> Any:
    """Rows may span several dimensions."""
    _require_floats(site, weight)
    inputs, rows = weight.shape[1], site.x.expr
    if site.x.shape[-1] != inputs:
        rows = relax.op.reshape(rows, (math.prod(site.x.shape) // inputs, inputs))
    product = relax.op.matmul(rows, relax.op.permute_dims(weight.expr, [1, 0]))
    bias = site.optional_tensor(2)
    return activated(site, product if bias is None else relax.op.add(product, bias.expr))


def batch_matmul(site: TFLiteOperator) -> Any:
    """BATCH_MATMUL, whose operands may differ in rank."""
    x, y, options = site.tensor(0), site.tensor(1), site.options("BatchMatMulOptions")
    if dynamic.is_dynamic(site, y):
        return dynamic.batch_matmul(site, y, options)
    if not site.stored:
        return relax.op.matmul(_adjoint(x, options.AdjX()), _adjoint(y, options.AdjY()))
    if x.value is not None:
        raise NotConverted("its first operand is constant")
    if y.value is None and x.dtype == y.dtype == "int8":
        return _matrices(site, options)
    tables, attributes = _scaled(site, x, y)
    other = y.expr if y.value is None else y.constant
    return site.defined(
        "matrix_product",
        x.expr,
        other,
        *tables,
        adjoint0=int(options.AdjX()),
        adjoint1=int(options.AdjY()),
        **attributes,
    )


def _matrices(site: TFLiteOperator, options: Any) -> Any:
    """A product of two activations of int8."""
    x, y = site.tensor(0), site.tensor(1)
    operands = tuple(
        site.emit(_adjoint(operand, wanted)) if wanted else operand.expr
        for operand, wanted in ((x, options.AdjX()), (y, options.AdjY()))
    )
    end = ending(site.out)
    return site.stated(
        OperatorKind.MATMUL,
        operands,
        (x.quantization, y.quantization, site.out.quantization),
        macs_per_output=x.shape[-2 if options.AdjX() else -1],
        activation_min=end["low"],
        activation_max=end["high"],
    )


def _scaled(
    site: TFLiteOperator, x: TFLiteOperand, y: TFLiteOperand
) -> tuple[tuple[Array, ...], dict[str, Attribute]]:
    """Bias, multipliers and shifts of the product of two matrices of stored values, and the attributes that
    finish it.
    """
    if y.quantization is None:
        raise NotConverted(f"weights `{y.name}` have no scale")
    scales, wide = y.quantization.scale, x.dtype == "int16"
    if len(scales) == 1 and x.dtype == "uint8":
        reals = [float32(x.scale * scales[0]) / site.out.scale]
    else:
        reals = [x.scale * scale / site.out.scale for scale in scales]
    pairs = [quantize_multiplier(real) for real in reals]
    rights = [(15 if wide else 0) - shift for _, shift in pairs]
    attributes: dict[str, Attribute] = {
        "rounding": str(Rounding.TFLITE_SINGLE if wide else Rounding.TFLITE),
        "accumulator": "int64" if wide else "int32",
        "offset0": -x.zero_point,
        "offset1": -y.quantization.zero_point[0],
        "least_right": min(rights),
        **ending(site.out),
    }
    bias = np.zeros(filled(site.out.shape[-1]), "int64" if wide else "int32")
    multipliers = [reduced(multiplier) if wide else multiplier for multiplier, _ in pairs]
    return (bias, np.array(multipliers, np.int32), np.array(rights, np.int8)), attributes


def _adjoint(operand: TFLiteOperand, wanted: bool) -> Any:
    """The operand, with its last two axes exchanged where that is wanted."""
    return dynamic.exchanged(operand.expr, len(operand.shape)) if wanted else operand.expr


CONVERTERS: Mapping[str, Converter] = {
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": partial(convolution, "Conv2DOptions"),
    "DEPTHWISE_CONV_2D": partial(convolution, "DepthwiseConv2DOptions"),
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transposed_convolution,
}
