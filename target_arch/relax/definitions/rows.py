"""Operators on the rows of a tensor, along its last dimension."""

from math import prod
from typing import Any

from tvm import te, tirx

from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import Definition, stage
from target_arch.relax.te.fixed_point import Scale, wide
from target_arch.relax.te.scaling import clamped

_STAGES = ("greatest", "power", "total", "bits", "normal", "share")


def softmax(operator: Operator, model: Model) -> Definition:
    """LiteRT's softmax of int16 values: `constant0` has 513 exponentials of distances from 0 to -10,
    `constant1` as many reciprocals from 1 to 1/2; a distance is scaled by `multiplier` and `shift`.
    """
    given = operands_of(operator, model)
    length = given.out.shape[-1]
    rows = prod(given.out.shape) // length
    x = te.placeholder((rows, length), "int16", name="x0")
    _, exponentials, reciprocals = given.data
    scale = Scale(multiplier=given.number("multiplier"), shift=given.number("shift"))
    index, again = (te.reduce_axis((0, length), name="k") for _ in range(2))
    row, axes = (("row", rows),), (("row", rows), ("k", length))
    greatest = stage("greatest", row, lambda i: te.max(x[i, index], axis=[index]))

    def distance(i: Any, k: Any) -> Any:
        apart = scale.of(x[i, k].astype("int64") - greatest[i].astype("int64"))
        return clamped(apart + wide(32767), -(2**15), 2**15 - 1).astype("int32")

    place = stage("place", axes, distance)
    power = stage("power", axes, lambda i, k: _between(exponentials, place[i, k]))
    total = stage("total", row, lambda i: te.sum(power[i, again], axis=[again]))
    bits = stage("bits", row, lambda i: sum((total[i] >= 1 << bit).astype("int32") for bit in range(31)))

    def normal(i: Any) -> Any:
        left = tirx.shift_left(wide(1), (31 - bits[i]).astype("int64"))
        value = (total[i].astype("int64") * left + wide(1 << 13)) >> wide(14)
        return clamped(value - wide((1 << 15) + (1 << 16)), -(2**15), 2**15 - 1).astype("int32")

    part = stage("normal", row, normal)
    share = stage("share", row, lambda i: _between(reciprocals, part[i]))

    def element(i: Any, k: Any) -> Any:
        right = (bits[i] - 1).astype("int64")
        half = tirx.shift_left(wide(1), right - wide(1))
        value = power[i, k].astype("int64") * share[i].astype("int64")
        return clamped((value + half) >> right, 0, 2**15 - 1).astype("int16")

    out = stage("out", axes, element)
    return Definition(arguments=(x, exponentials, reciprocals, out), schedule=_row_by_row)


def _between(table: Any, value: Any) -> Any:
    """The result of an int16 value (as int32), on the line between two entries of a table of 513."""
    place = (value >> 7) + 256
    base = table[place].astype("int32")
    slope = table[place + 1].astype("int32") - base
    return base + ((slope * tirx.bitwise_and(value, tirx.const(127, "int32")) + 64) >> 7)


def _row_by_row(sch: Any) -> None:
    row = sch.get_loops(sch.get_sblock("out"))[0]
    for name in reversed(_STAGES):
        block = sch.get_sblock(name)
        sch.compute_at(block, row, preserve_unit_loops=True)
        if name in ("greatest", "total"):
            sch.decompose_reduction(block, sch.get_loops(block)[1])
        if name == "power":
            sch.compute_at(sch.get_sblock("place"), sch.get_loops(block)[-1])


DEFINITIONS = {"softmax": softmax}
