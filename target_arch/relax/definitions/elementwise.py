"""TE definitions of add, sub, mul, relu, requantize, quantize and dequantize.

Tensors are flat. An operand smaller than the output is repeated: one value for all, or one for each index
of the last axis.
"""

import operator as operators
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.plan.arithmetic import (
    DTYPE_RANGE,
    Addition,
    Requantization,
    Rounding,
    addition,
    requantization,
)
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    activated,
    activation_of,
    elements,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)
from target_arch.relax.te.scaling import clamped, requantized, rounded_shift, scaled_product, widened

Element = Callable[..., Any]

_COMBINE: Mapping[str, Element] = {
    OperatorKind.ADD: operators.add,
    OperatorKind.SUB: operators.sub,
    OperatorKind.MUL: operators.mul,
}


@frozen(kw_only=True, eq=False)
class _Pair:
    """The two operands of a binary operator at an output index, and what it yields."""

    axes: Axes
    data: tuple[Any, ...]
    first: Element
    second: Element
    dtype: str


def binary(operator: Operator, model: Model) -> Definition:
    """add, sub or mul of two tensors."""
    out = model.tensors[operator.output]
    operands = [tensor_of(model, operator, index) for index in (0, 1)]
    axes = _axes(operands, out)
    data = tuple(
        placeholder(tensor, _shape(tensor, axes), name)
        for tensor, name in zip(operands, ("a", "b"), strict=True)
    )
    first, second = (_reader(item, axes) for item in data)
    return _combined(
        operator, model, _Pair(axes=axes, data=data, first=first, second=second, dtype=out.dtype)
    )


def binary_after(operator: Operator, model: Model, side: int, value: Any, axes: Axes) -> Definition:
    """add, sub or mul whose operand `side` is a stage; the other one, of the same shape, is the argument."""
    extents = tuple(extent for _, extent in axes)
    data = placeholder(tensor_of(model, operator, 1 - side), extents, "residual")
    first, second = (value, data) if side == 0 else (data, value)
    dtype = model.tensors[operator.output].dtype
    return _combined(operator, model, _Pair(axes=axes, data=(data,), first=first, second=second, dtype=dtype))


def _combined(operator: Operator, model: Model, pair: _Pair) -> Definition:
    if operator.arithmetic == Arithmetic.FLOAT:
        return _float_binary(operator, pair)
    if operator.kind is OperatorKind.MUL:
        return _product(requantization(operator, model), pair)
    rule = _tflite_sum if operator.arithmetic == Arithmetic.TFLITE else _onnx_sum
    return rule(addition(operator, model), pair)


def relu(operator: Operator, model: Model) -> Definition:
    """Relu of floats, or a requantization whose activation range is the relu."""
    if operator.arithmetic != Arithmetic.FLOAT:
        return requantize(operator, model)
    x = tensor_of(model, operator, 0)
    axes: Axes = (("i", elements(x)),)
    data = placeholder(x, (elements(x),), "x")
    activation = activation_of(operator)
    activation = "relu" if activation == "none" else activation
    out = stage("out", axes, lambda i: activated(data[i], activation))
    return Definition(arguments=(data, out), schedule=one_by_one((), ()))


def requantize(operator: Operator, model: Model) -> Definition:
    """Stored integers of one scale as stored integers of another."""
    x = tensor_of(model, operator, 0)
    r = requantization(operator, model)
    data = placeholder(x, (elements(x),), "x")
    scaled = requantized(
        r,
        lambda i: widened(data[i], r.input_offset),
        (("i", elements(x)),),
        model.tensors[operator.output].dtype,
    )
    return Definition(arguments=(data, scaled.out), schedule=one_by_one(("product",), ()))


def quantize(operator: Operator, model: Model) -> Definition:
    """float32 to integers: x / scale, rounded (`tflite`: half away from zero, else half to even), plus
    zero point.
    """
    x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
    low, high = DTYPE_RANGE[out.dtype]
    scale, zero_point = per_tensor(out.quantization)
    data = placeholder(x, (elements(x),), "x")

    def stored(i: Any) -> Any:
        value = rounded(operator.arithmetic, data[i] / tirx.const(scale, "float32"))
        value = value + tirx.const(float(zero_point), "float32")
        return clamped(value, low, high).astype(out.dtype)

    return Definition(
        arguments=(data, stage("out", (("i", elements(x)),), stored)), schedule=one_by_one((), ())
    )


def dequantize(operator: Operator, model: Model) -> Definition:
    """Integers to float32: (x - zero point) * scale."""
    x = tensor_of(model, operator, 0)
    scale, zero_point = per_tensor(x.quantization)
    data = placeholder(x, (elements(x),), "x")

    def real(i: Any) -> Any:
        return (data[i].astype("int32") - zero_point).astype("float32") * tirx.const(scale, "float32")

    return Definition(
        arguments=(data, stage("out", (("i", elements(x)),), real)), schedule=one_by_one((), ())
    )


def rounded(arithmetic: Arithmetic, value: Any) -> Any:
    """A float32 rounded to a whole number, by the rule of the format."""
    name = "roundf" if arithmetic == Arithmetic.TFLITE else "nearbyintf"
    return tirx.call_pure_extern("float32", name, value)


def per_tensor(quantization: Quantization | None) -> tuple[float, int]:
    """Scale and zero point of a tensor that has one of each. ValueError for any other tensor."""
    if quantization is None or len(quantization.scale) != 1:
        raise ValueError("one scale for the whole tensor is needed")
    return quantization.scale[0], quantization.zero_point[0]


def _axes(operands: list[Tensor], out: Tensor) -> Axes:
    """One axis, or two where an operand repeats along all but the last."""
    count = elements(out)
    if all(elements(tensor) in (count, 1) for tensor in operands):
        return (("i", count),)
    return (("row", count // out.shape[-1]), ("k", out.shape[-1]))


def _shape(tensor: Tensor, axes: Axes) -> tuple[int, ...]:
    extents = tuple(extent for _, extent in axes)
    if elements(tensor) == 1:
        return (1,)
    return extents if len(extents) == 1 or elements(tensor) != extents[-1] else extents[-1:]


def _reader(data: Any, axes: Axes) -> Element:
    """The element of an operand at an output index."""
    shape = tuple(int(extent) for extent in data.shape)

    def element(*index: Any) -> Any:
        if shape == tuple(extent for _, extent in axes):
            return data(*index)
        return data[0 if shape == (1,) else index[-1]]

    return element


def _float_binary(operator: Operator, pair: _Pair) -> Definition:
    combine = _COMBINE[operator.kind]
    activation = activation_of(operator)

    def element(*i: Any) -> Any:
        return activated(combine(pair.first(*i), pair.second(*i)), activation)

    return _made(pair, stage("out", pair.axes, element), ())


def _made(pair: _Pair, out: Any, stages: tuple[str, ...]) -> Definition:
    return Definition(arguments=(*pair.data, out), schedule=one_by_one(stages, ()), stages=stages)


def _product(r: Requantization, pair: _Pair) -> Definition:
    def accumulator(*i: Any) -> Any:
        return widened(pair.first(*i), r.input_offset) * widened(pair.second(*i), r.second_offset)

    scaled = requantized(r, accumulator, pair.axes, pair.dtype)
    return _made(pair, scaled.out, ("product",))


def _tflite_sum(p: Addition, pair: _Pair) -> Definition:
    """Each operand scaled by itself, then the sum: three requantizers."""

    def scaled(value: Any, multiplier: int, shift: int) -> Any:
        right = tirx.const(-shift, "int64")
        return scaled_product(Rounding.TFLITE, value, tirx.const(multiplier, "int64"), right, -shift)

    def shifted(value: Any, shift: int) -> Any:
        return rounded_shift(Rounding.TFLITE, value, tirx.const(-shift, "int64"), -shift)

    def operand(side: int, element: Element) -> Element:
        def value(*i: Any) -> Any:
            wide = widened(element(*i), p.input_offsets[side]).astype("int64")
            wide = wide * tirx.const(1 << p.left_shift, "int64")
            return scaled(wide, p.input_multipliers[side], p.input_shifts[side])

        return value

    a = stage("a_product", pair.axes, operand(0, pair.first))
    b = stage("b_product", pair.axes, operand(1, pair.second))

    def total(*i: Any) -> Any:
        left, right = shifted(a(*i), p.input_shifts[0]), shifted(b(*i), p.input_shifts[1])
        return scaled(left + right if p.sign > 0 else left - right, p.output_multiplier, p.output_shift)

    product = stage("product", pair.axes, total)

    def finish(*i: Any) -> Any:
        value = shifted(product(*i), p.output_shift) + tirx.const(p.output_offset, "int64")
        return clamped(value, p.activation_min, p.activation_max).astype(pair.dtype)

    return _made(pair, stage("out", pair.axes, finish), ("a_product", "b_product", "product"))


def _onnx_sum(p: Addition, pair: _Pair) -> Definition:
    """The exact sum of both products, rounded once."""

    def scaled(side: int, element: Element, *i: Any) -> Any:
        value = widened(element(*i), p.input_offsets[side]).astype("int64")
        return value * tirx.const(p.input_multipliers[side], "int64")

    def total(*i: Any) -> Any:
        left, right = scaled(0, pair.first, *i), scaled(1, pair.second, *i)
        return left + right if p.sign > 0 else left - right

    product = stage("product", pair.axes, total)

    def finish(*i: Any) -> Any:
        value = rounded_shift(p.rounding, product(*i), tirx.const(p.output_shift, "int64"), p.output_shift)
        value = value + tirx.const(p.output_offset, "int64")
        return clamped(value, p.activation_min, p.activation_max).astype(pair.dtype)

    return _made(pair, stage("out", pair.axes, finish), ("product",))
