"""Quantized operators: those of QOperator become dequantize, operate, quantize, as other models write them.

The patterns of integer composites then find them. Products of integers are computed as such.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import Array, NotConverted, counted


def _quantize(node: Node, value: Any, scale: Any, zero_point: Any, axis: int) -> Any:
    return node.emit(relax.op.quantize(value, scale, zero_point, axis, dtype_of(zero_point)))


def _dequantize(node: Node, value: Any, scale: Any, zero_point: Any, axis: int) -> Any:
    return node.emit(relax.op.dequantize(value, scale, zero_point, axis, "float32"))


def _parameter(node: Node, index: int) -> Any:
    """A scale or zero point: one number without dimensions, or one for each channel."""
    found = node.operand(index)
    if isinstance(found, GenericConst) and found.value.numpy().size == 1:
        return relax.const(found.value.numpy().reshape(()), dtype_of(found))
    if int(np.prod(shape_of(found), dtype=int)) == 1 and shape_of(found) != ():
        return node.reshaped(found, ())
    return found


def _parameters(node: Node, *indices: int) -> list[Any]:
    return [_parameter(node, each) for each in indices]


def _qlinear_conv(node: Node) -> Any:
    x_scale, x_zero, w_scale, w_zero, y_scale, y_zero = _parameters(node, 1, 2, 4, 5, 6, 7)
    scales = [_value(each) for each in (x_scale, w_scale)]
    x = _dequantize(node, node.operand(0), x_scale, x_zero, 1)
    w = _dequantize(node, node.operand(3), w_scale, w_zero, 0)
    made = node.emit(_convolution(node, x, w, "float32"))
    if node.given(8) is not None:
        bias_scale = relax.const((scales[0] * scales[1]).astype(np.float32), "float32")
        zero = relax.const(np.zeros(bias_scale.value.numpy().shape, np.int32), "int32")
        bias = _dequantize(node, node.operand(8), bias_scale, zero, 0)
        spatial = [1] * (len(node.shape(0)) - 2)
        made = node.emit(relax.op.add(made, node.reshaped(bias, (1, node.shape(3)[0], *spatial))))
    return _quantize(node, made, y_scale, y_zero, 1)


def _value(expression: Any) -> Array:
    if not isinstance(expression, GenericConst):
        raise NotConverted("its scales must be constants")
    value: Array = expression.value.numpy()
    return value


def _convolution(node: Node, x: Any, w: Any, dtype: str, axes: tuple[str, str] | None = None) -> Any:
    """A convolution in the order of dimensions that ONNX has, or in this of image and weights."""
    rank = len(shape_of(x)) - 2
    strides = [int(each) for each in node.attributes.get("strides", [1] * rank)]
    dilations = [int(each) for each in node.attributes.get("dilations", [1] * rank)]
    pads = [int(each) for each in node.attributes.get("pads", [0] * 2 * rank)]
    layouts = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}
    if rank not in layouts:
        raise NotConverted(f"a convolution along {rank} dimensions")
    function = {1: relax.op.nn.conv1d, 2: relax.op.nn.conv2d, 3: relax.op.nn.conv3d}[rank]
    data, weights = axes or layouts[rank]
    return function(
        x,
        w,
        strides=strides,
        padding=pads,
        dilation=dilations,
        groups=node.integer("group", 1),
        data_layout=data,
        kernel_layout=weights,
        out_dtype=dtype,
    )


def _qlinear_matmul(node: Node) -> Any:
    a_scale, a_zero, b_scale, b_zero, y_scale, y_zero = _parameters(node, 1, 2, 4, 5, 6, 7)
    a = _dequantize(node, node.operand(0), a_scale, a_zero, -1)
    b = _dequantize(node, node.operand(3), b_scale, b_zero, -1)
    return _quantize(node, node.emit(relax.op.matmul(a, b)), y_scale, y_zero, -1)


def _shifted(node: Node, value: Any, zero_index: int, axis: int) -> Any:
    """The integers less their zero point, as int32."""
    wide = node.cast(value, "int32")
    given = node.given(zero_index)
    if given is None:
        return wide
    zero = node.cast(_parameter(node, zero_index), "int32")
    if shape_of(zero):
        around = [1] * len(shape_of(value))
        around[counted(axis, len(around))] = shape_of(zero)[-1]
        zero = node.reshaped(zero, around) if len(shape_of(zero)) == 1 else zero
    return node.emit(relax.op.subtract(wide, zero))


def _conv_integer(node: Node) -> Any:
    """The padding is the zero point of the image: zero after it was subtracted. Images whose channels are one
    group come with the channels last, where one of our operators takes them.
    """
    stored, weights = node.operand(0), node.operand(1)
    if len(shape_of(stored)) == 4 and node.integer("group", 1) == 1 and isinstance(weights, GenericConst):
        last = node.emit(relax.op.permute_dims(stored, (0, 2, 3, 1)))
        hwio = relax.const(weights.value.numpy().transpose(2, 3, 1, 0).copy(), dtype_of(weights))
        x, w = _shifted(node, last, 2, 3), _shifted(node, hwio, 3, 3)
        product = node.emit(_convolution(node, x, w, "int32", ("NHWC", "HWIO")))
        return relax.op.permute_dims(product, (0, 3, 1, 2))
    x, w = _shifted(node, stored, 2, 1), _shifted(node, weights, 3, 0)
    return _convolution(node, x, w, "int32")


def _matmul_integer(node: Node) -> Any:
    a, b = _shifted(node, node.operand(0), 2, -2), _shifted(node, node.operand(1), 3, -1)
    return relax.op.matmul(a, b, out_dtype="int32")


_CONV = "dilations group kernel_shape pads strides"
CONVERTERS: Mapping[str, Converter] = {
    "ConvInteger": converter(_conv_integer, _CONV),
    "MatMulInteger": converter(_matmul_integer),
    "QLinearConv": converter(_qlinear_conv, _CONV),
    "QLinearMatMul": converter(_qlinear_matmul),
}
