"""Functions of one number: computed on floats, of stored values looked up in a table."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator, Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    Packed,
    elements,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)
from target_arch.relax.te.sigmoid import on_curve, signed

Stored = Callable[[int, Quantization, Quantization], int]
"""The stored result of a stored value, from the quantization of both; the table clamps it to its type."""


@frozen(kw_only=True)
class Function:
    """A function of one number: `real` in TE on float32, `stored` for each arithmetic of integers."""

    real: Callable[[Any], Any]
    stored: Mapping[Arithmetic, Stored]

    def definition(self, operator: Operator, model: Model) -> Definition:
        """The function of every element. ValueError where a quantization has no exact form."""
        x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
        axes: Axes = (("i", elements(x)),)
        data = placeholder(x, (elements(x),), "x")
        if operator.arithmetic is Arithmetic.FLOAT:
            result = stage("out", axes, lambda i: self.real(data[i]))
            return Definition(arguments=(data, result), schedule=one_by_one((), ()))
        least = DTYPE_RANGE[x.dtype][0]
        packed = Packed(suffix="results", dtype=out.dtype, values=self.table(operator, model))
        results = packed.placeholder()
        result = stage("out", axes, lambda i: results[data[i].astype("int32") - tirx.const(least, "int32")])
        return Definition(arguments=(data, results, result), schedule=one_by_one((), ()), packed=(packed,))

    def table(self, operator: Operator, model: Model) -> tuple[int, ...]:
        """The stored result of every stored value, from the least one on."""
        x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
        if x.quantization is None or out.quantization is None:
            raise ValueError(f"`{operator.id}`: a tensor has no quantization")
        stored, (least, most) = self.stored[operator.arithmetic], DTYPE_RANGE[out.dtype]
        first, last = DTYPE_RANGE[x.dtype]
        values = (stored(value, x.quantization, out.quantization) for value in range(first, last + 1))
        return tuple(min(max(value, least), most) for value in values)


def by_floats(function: Callable[[np.float32], np.float32]) -> Stored:
    """ONNX's rule: dequantize, the function in float32, quantize (half to even)."""

    def stored(value: int, x: Quantization, out: Quantization) -> int:
        real = np.float32(value - x.zero_point[0]) * np.float32(x.scale[0])
        return int(np.rint(function(real) / np.float32(out.scale[0]))) + out.zero_point[0]

    return stored


def lookup(operator: Operator, model: Model) -> Definition:
    """`constant0` has the result of every 8-bit value, from the least one on."""
    given = operands_of(operator, model)
    x, table = given.data
    least = DTYPE_RANGE[given.tensors[0].dtype][0]
    return given.finished(lambda *i: table[x(*i).astype("int32") - tirx.const(least, "int32")])


def interpolated(operator: Operator, model: Model) -> Definition:
    """`constant0` has the results of 513 evenly spaced int16 values; between two of them the result is on
    a line, rounded half up (LiteRT `LUTLookup`).
    """
    given = operands_of(operator, model)
    x, table = given.data

    def element(*i: Any) -> Any:
        return on_line(table, x(*i).astype("int32")).astype(given.out.dtype)

    return given.finished(element)


def on_line(table: Any, value: Any) -> Any:
    """The result of an int16 value (as int32), on the line between two entries of a table of 513. What one
    exceeds the other by wraps in 16 bits, as in LiteRT: that shows beside the logarithm of zero.
    """
    place = (value >> 7) + 256
    base = table[place].astype("int32")
    slope = (table[place + 1].astype("int32") - base).astype("int16")
    return base + ((slope.astype("int32") * tirx.bitwise_and(value, tirx.const(127, "int32")) + 64) >> 7)


def sigmoid(operator: Operator, model: Model) -> Definition:
    """LiteRT's sigmoid of int16 values, or with `tanh` its hyperbolic tangent (`te.sigmoid`).

    The value times `multiplier`, shifted to the right by `shift`, has its unit; `constant0` is its table.
    """
    given = operands_of(operator, model)
    x, table = given.data
    tanh, right = bool(given.number("tanh")), given.number("shift")

    def unit(*i: Any) -> Any:
        value = x(*i).astype("int32") * given.number("multiplier")
        return (value + (1 << (right - 1))) >> right if right else value

    value = stage("value", given.axes, unit)
    size = stage("size", given.axes, lambda *i: tirx.max(value(*i), -value(*i)))

    y = stage("line", given.axes, lambda *i: on_curve(table, size(*i), tanh=tanh))

    def element(*i: Any) -> Any:
        return signed(value(*i), y(*i), tanh=tanh).astype(given.out.dtype)

    return given.finished(element, ("value", "size", "line"))


DEFINITIONS = {"lookup": lookup, "interpolated": interpolated, "sigmoid": sigmoid}
