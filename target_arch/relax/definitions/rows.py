"""Softmax over the last axis, in the arithmetic of each source."""

from math import prod
from typing import Any

from tvm import te, tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.softmax import exponentials_in_floats
from target_arch.relax.definitions.elementwise import per_tensor, rounded
from target_arch.relax.definitions.fixed_softmax import fixed_softmax
from target_arch.relax.definitions.lookup import on_line
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import (
    Definition,
    Packed,
    elements,
    placeholder,
    row_by_row,
    stage,
    tensor_of,
)
from target_arch.relax.te.fixed_point import Scale, wide
from target_arch.relax.te.scaling import clamped

EXPONENTIALS = "exponentials"
_STAGES = ("greatest", "total", "share")
_STAGES_OF_INT16 = ("greatest", "power", "total", "bits", "normal", "share")


def softmax_of_rows(operator: Operator, model: Model) -> Definition:
    """Softmax over the last axis. Exponentials are computed twice, or looked up for 8-bit values, so that no
    row is kept.
    """
    if operator.constants:
        return _softmax_of_int16(operator, model)
    if operator.arithmetic == Arithmetic.TFLITE:
        return fixed_softmax(operator, model)
    x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
    rows, length = elements(x) // x.shape[-1], x.shape[-1]
    data = placeholder(x, (rows, length), "x")
    index = te.reduce_axis((0, length), name="k")
    greatest = stage("greatest", (("row", rows),), lambda i: te.max(data[i, index], axis=[index]))
    packed: tuple[Packed, ...] = ()
    table = None
    if x.dtype in ("int8", "uint8"):
        packed = (
            Packed(suffix=EXPONENTIALS, dtype="float32", values=exponentials_in_floats(operator, model)),
        )
        table = packed[0].placeholder()

    def exponential(i: Any, k: Any) -> Any:
        if table is not None:
            return table[greatest[i].astype("int32") - data[i, k].astype("int32")]
        if operator.arithmetic == Arithmetic.FLOAT:
            beta = tirx.const(operator.real("beta", 1.0), "float32")
            return tirx.exp((data[i, k] - greatest[i]) * beta)
        distance = greatest[i].astype("int32") - data[i, k].astype("int32")
        scale, _ = per_tensor(x.quantization)
        return tirx.exp(distance.astype("float32") * tirx.const(-scale, "float32"))

    again = te.reduce_axis((0, length), name="k")
    total = stage("total", (("row", rows),), lambda i: te.sum(exponential(i, again), axis=[again]))
    share = _share(operator, model, total, rows)

    def element(i: Any, k: Any) -> Any:
        if operator.arithmetic == Arithmetic.FLOAT:
            return exponential(i, k) * share[i]
        _, zero_point = per_tensor(out.quantization)
        value = rounded(operator.arithmetic, exponential(i, k) * share[i])
        value = value + tirx.const(float(zero_point), "float32")
        return clamped(value, *DTYPE_RANGE[out.dtype]).astype(out.dtype)

    result = stage("out", (("row", rows), ("k", length)), element)
    arguments = (data, *([] if table is None else [table]), result)
    return Definition(arguments=arguments, schedule=row_by_row(_STAGES), packed=packed)


def _share(operator: Operator, model: Model, total: Any, rows: int) -> Any:
    """The factor of an exponential: 1 / sum, in units of the output's scale."""
    one = tirx.const(1.0, "float32")
    scale = 1.0
    if operator.arithmetic != Arithmetic.FLOAT:
        scale, _ = per_tensor(model.tensors[operator.output].quantization)
    return stage("share", (("row", rows),), lambda i: one / (total[i] * tirx.const(scale, "float32")))


def _softmax_of_int16(operator: Operator, model: Model) -> Definition:
    """LiteRT's softmax of int16 values: the first table has 513 exponentials of distances from 0 to -10,
    the second as many reciprocals from 1 to 1/2; a distance is scaled by `multiplier` and `shift`.
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
    power = stage("power", axes, lambda i, k: on_line(exponentials, place[i, k]))
    total = stage("total", row, lambda i: te.sum(power[i, again], axis=[again]))
    bits = stage("bits", row, lambda i: sum((total[i] >= 1 << bit).astype("int32") for bit in range(31)))

    def normal(i: Any) -> Any:
        left = tirx.shift_left(wide(1), (31 - bits[i]).astype("int64"))
        value = (total[i].astype("int64") * left + wide(1 << 13)) >> wide(14)
        return clamped(value - wide((1 << 15) + (1 << 16)), -(2**15), 2**15 - 1).astype("int32")

    part = stage("normal", row, normal)
    share = stage("share", row, lambda i: on_line(reciprocals, part[i]))

    def element(i: Any, k: Any) -> Any:
        right = (bits[i] - 1).astype("int64")
        half = tirx.shift_left(wide(1), right - wide(1))
        value = power[i, k].astype("int64") * share[i].astype("int64")
        return clamped((value + half) >> right, 0, 2**15 - 1).astype("int16")

    out = stage("out", axes, element)
    return Definition(arguments=(x, exponentials, reciprocals, out), schedule=_row_by_row_of_int16)


def _row_by_row_of_int16(sch: Any) -> None:
    row = sch.get_loops(sch.get_sblock("out"))[0]
    for name in reversed(_STAGES_OF_INT16):
        block = sch.get_sblock(name)
        sch.compute_at(block, row, preserve_unit_loops=True)
        if name in ("greatest", "total"):
            sch.decompose_reduction(block, sch.get_loops(block)[1])
        if name == "power":
            sch.compute_at(sch.get_sblock("place"), sch.get_loops(block)[-1])
