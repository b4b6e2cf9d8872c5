"""Functions of stored values, looked up in a table."""

from collections.abc import Callable, Mapping
from typing import Any

from tvm import tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    elements,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)
from target_arch.relax.te.sigmoid import on_curve, signed


def lookup(operator: Operator, model: Model) -> Definition:
    """The result of every stored value, read in `table` as its attribute `curve` says."""
    x, table = (tensor_of(model, operator, index) for index in (0, 1))
    data, results = placeholder(x, (elements(x),), "x"), placeholder(table, table.shape, "table")
    axes: Axes = (("i", elements(x)),)
    curve = str(operator.attributes["curve"])
    if curve not in _CURVES:
        raise ValueError(f"`{operator.id}`: there is no curve `{curve}`")
    element, before = _CURVES[curve](operator, data, results, axes)
    dtype = model.tensors[operator.output].dtype
    out = stage("out", axes, lambda i: element(i).astype(dtype))
    return Definition(arguments=(data, results, out), schedule=one_by_one(before, ()))


_Element = Callable[[Any], Any]
_Curve = tuple[_Element, tuple[str, ...]]
"""A result by its index, and the stages that it reads."""


def _each(operator: Operator, x: Any, table: Any, axes: Axes) -> _Curve:
    """The table has the result of every value."""
    del operator, axes
    least = tirx.const(DTYPE_RANGE[str(x.dtype)][0], "int32")
    return lambda i: table[x[i].astype("int32") - least], ()


def _lines(operator: Operator, x: Any, table: Any, axes: Axes) -> _Curve:
    """The table has the results of 513 evenly spaced int16 values; between two of them the result is on a
    line, rounded half up (LiteRT `LUTLookup`).
    """
    del operator, axes
    return lambda i: on_line(table, x[i].astype("int32")), ()


def _sigmoid(operator: Operator, x: Any, table: Any, axes: Axes) -> _Curve:
    """LiteRT's sigmoid of int16 values, or its hyperbolic tangent (`te.sigmoid`). The value times
    `multiplier`, shifted to the right by `shift`, has its unit.
    """
    attributes: Any = operator.attributes
    tanh, right = attributes["curve"] == "tanh", int(attributes["shift"])

    def unit(i: Any) -> Any:
        value = x[i].astype("int32") * int(attributes["multiplier"])
        return (value + (1 << (right - 1))) >> right if right else value

    value = stage("value", axes, unit)
    size = stage("size", axes, lambda i: tirx.max(value(i), -value(i)))
    line = stage("line", axes, lambda i: on_curve(table, size(i), tanh=tanh))
    return lambda i: signed(value(i), line(i), tanh=tanh), ("value", "size", "line")


_CURVES: Mapping[str, Callable[[Operator, Any, Any, Axes], _Curve]] = {
    "each": _each,
    "lines": _lines,
    "sigmoid": _sigmoid,
    "tanh": _sigmoid,
}


def on_line(table: Any, value: Any) -> Any:
    """The result of an int16 value (as int32), on the line between two entries of a table of 513. What one
    exceeds the other by wraps in 16 bits, as in LiteRT: that shows beside the logarithm of zero.
    """
    place = (value >> 7) + 256
    base = table[place].astype("int32")
    slope = (table[place + 1].astype("int32") - base).astype("int16")
    return base + ((slope.astype("int32") * tirx.bitwise_and(value, tirx.const(127, "int32")) + 64) >> 7)
