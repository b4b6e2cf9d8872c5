"""Functions of one stored number, looked up in a table that the reader computed."""

from typing import Any

from tvm import tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import Definition
from target_arch.relax.te.fixed_point import bound


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
        return bound(x(*i).astype("int32"), between)

    def between(value: Any) -> Any:
        index = (value >> 7) + 256
        rest = tirx.bitwise_and(value, tirx.const(127, "int32"))
        base = table[index].astype("int32")
        slope = table[index + 1].astype("int32") - base
        return (base + ((slope * rest + 64) >> 7)).astype(given.out.dtype)

    return given.finished(element)


DEFINITIONS = {"lookup": lookup, "interpolated": interpolated}
