"""TE definitions of softmax over the last axis, and of the operators that only move bytes."""

from typing import Any

from tvm import te, tirx

from target_arch.plan.arithmetic import DTYPE_RANGE, softmax
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    Packed,
    elements,
    one_by_one,
    placeholder,
    stage,
    sums_nothing,
    tensor_of,
)
from target_arch.relax.te.elementwise import per_tensor, rounded
from target_arch.relax.te.scaling import clamped

EXPONENTIALS = "exponentials"


def softmax_of_rows(operator: Operator, model: Model) -> Definition:
    """Softmax over the last axis. Exponentials are computed twice (or looked up), so that no row is kept."""
    x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
    rows, length = elements(x) // x.shape[-1], x.shape[-1]
    data = placeholder(x, (rows, length), "x")
    index = te.reduce_axis((0, length), name="k")
    greatest = stage("greatest", (("row", rows),), lambda i: te.max(data[i, index], axis=[index]))
    packed: tuple[Packed, ...] = ()
    table = None
    if operator.arithmetic == Arithmetic.TFLITE:
        packed = (Packed(suffix=EXPONENTIALS, dtype="float32", values=softmax(operator, model).table),)
        table = packed[0].placeholder()

    def exponential(i: Any, k: Any) -> Any:
        if operator.arithmetic == Arithmetic.FLOAT:
            beta = tirx.const(float(operator.attributes.get("beta", 1.0)), "float32")  # type: ignore[arg-type]
            return tirx.exp((data[i, k] - greatest[i]) * beta)
        distance = greatest[i].astype("int32") - data[i, k].astype("int32")
        if table is not None:
            return table[distance]
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
    return Definition(arguments=arguments, schedule=_row_by_row, packed=packed)


def _share(operator: Operator, model: Model, total: Any, rows: int) -> Any:
    """The factor of an exponential: 1 / sum, in units of the output's scale."""
    one = tirx.const(1.0, "float32")
    scale = 1.0
    if operator.arithmetic != Arithmetic.FLOAT:
        scale, _ = per_tensor(model.tensors[operator.output].quantization)
    return stage("share", (("row", rows),), lambda i: one / (total[i] * tirx.const(scale, "float32")))


def _row_by_row(sch: Any) -> None:
    row = sch.get_loops(sch.get_sblock("out"))[0]
    for name in ("share", "total", "greatest"):
        block = sch.get_sblock(name)
        sch.compute_at(block, row, preserve_unit_loops=sums_nothing(sch, block))
        if name != "share":
            sch.decompose_reduction(block, sch.get_loops(block)[1])


def reshape(operator: Operator, model: Model) -> Definition:
    """The same bytes."""
    x = tensor_of(model, operator, 0)
    data = placeholder(x, (elements(x),), "x")
    out = stage("out", (("i", elements(x)),), lambda i: data[i])
    return Definition(arguments=(data, out), schedule=one_by_one((), ()))


def rows(operator: Operator, model: Model, run: int) -> Definition:
    """The same bytes, in rows of `run` elements."""
    x = tensor_of(model, operator, 0)
    axes: Axes = (("row", elements(x) // run), ("k", run))
    data = placeholder(x, (elements(x) // run, run), "x")
    return Definition(
        arguments=(data, stage("out", axes, lambda i, k: data[i, k])), schedule=one_by_one((), ())
    )


def transpose(operator: Operator, model: Model) -> Definition:
    """Dimension `axes[d]` of the input becomes dimension d."""
    x = tensor_of(model, operator, 0)
    order: Any = operator.attributes["axes"]
    data = placeholder(x, x.shape, "x")
    axes: Axes = tuple((f"i{d}", x.shape[axis]) for d, axis in enumerate(order))

    def element(*index: Any) -> Any:
        return data(*(index[order.index(axis)] for axis in range(len(order))))

    return Definition(arguments=(data, stage("out", axes, element)), schedule=one_by_one((), ()))
