"""Functions of one stored number, looked up in a table that the reader computed."""

from typing import Any

from tvm import tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import Definition, stage


def lookup(operator: Operator, model: Model) -> Definition:
    """`constant0` has the result of every 8-bit value, from the least one on."""
    given = operands_of(operator, model)
    x, table = given.data
    least = DTYPE_RANGE[given.tensors[0].dtype][0]
    return given.finished(lambda *i: table[x(*i).astype("int32") - tirx.const(least, "int32")])


def interpolated(operator: Operator, model: Model) -> Definition:
    """`constant0` has the results of 513 evenly spaced int16 values; between two of them the result lies on
    a line, rounded half up (LiteRT `LUTLookup`).
    """
    given = operands_of(operator, model)
    x, table = given.data

    def element(*i: Any) -> Any:
        value = x(*i).astype("int32")
        index = (value >> 7) + 256
        rest = tirx.bitwise_and(value, tirx.const(127, "int32"))
        base = table[index].astype("int32")
        slope = table[index + 1].astype("int32") - base
        return (base + ((slope * rest + 64) >> 7)).astype(given.out.dtype)

    return given.finished(element)


def sigmoid(operator: Operator, model: Model) -> Definition:
    """LiteRT's sigmoid of int16 values, or with `tanh` its hyperbolic tangent.

    The value times `multiplier`, shifted to the right by `shift`, has unit 1 / (3 * 4096); `constant0` has
    256 values of the sigmoid for steps of 1 / 24, between which it is a line.
    """
    given = operands_of(operator, model)
    x, table = given.data
    tanh, right = given.number("tanh"), given.number("shift")
    bits = 8 if tanh else 9

    def unit(*i: Any) -> Any:
        value = x(*i).astype("int32") * given.number("multiplier")
        return (value + (1 << (right - 1))) >> right if right else value

    value = stage("value", given.axes, unit)
    size = stage("size", given.axes, lambda *i: tirx.max(value(*i), -value(*i)))

    def line(*i: Any) -> Any:
        place, last = size(*i) >> bits, tirx.const(255, "int32")
        first = table[tirx.min(place, last)].astype("int32")
        second = table[tirx.min(place + 1, last)].astype("int32")
        rest = tirx.bitwise_and(size(*i), tirx.const((1 << bits) - 1, "int32"))
        most = tirx.const(0xFFFF << 8 if tanh else 0x7FFF << 10, "int32")
        return tirx.Select(place >= 255, most, first * (1 << bits) + rest * (second - first))

    y = stage("line", given.axes, line)

    def element(*i: Any) -> Any:
        if tanh:
            ends = y(*i) - (1 << 23) + (1 << 7), (1 << 23) + (1 << 7) - 1 - y(*i)
        else:
            ends = y(*i) + (1 << 9), (1 << 25) + (1 << 9) - 1 - y(*i)
        return (tirx.Select(value(*i) >= 0, *ends) >> (8 if tanh else 10)).astype(given.out.dtype)

    return given.finished(element, ("value", "size", "line"))


DEFINITIONS = {"lookup": lookup, "interpolated": interpolated, "sigmoid": sigmoid}
