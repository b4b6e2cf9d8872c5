"""One value for all elements along some dimensions: sums, means, the greatest, and its place.

The output may keep the reduced dimensions with extent 1 or lack them; `axes` are those of the input.
"""

from typing import Any

from tvm import te, tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.definitions.elementwise import rounded
from target_arch.relax.definitions.operands import Operands, axes_of, operands_of
from target_arch.relax.te.definition import Axes, Definition, one_by_one, stage
from target_arch.relax.te.fixed_point import Scale, wide
from target_arch.relax.te.scaling import clamped


def scaled_total(operator: Operator, model: Model) -> Definition:
    """The mean of stored values: their sum plus `offset0` (for all of them), scaled in fixed point; the scale
    divides, too.
    """
    given = operands_of(operator, model)
    axes, source, reduced = _places(given)
    x = given.data[0]
    acc = stage("acc", axes, lambda *i: te.sum(x(*source(i)).astype("int64"), axis=reduced))

    def element(*i: Any) -> Any:
        scale = Scale(multiplier=given.number("multiplier"), shift=given.number("shift"))
        value = scale.of(acc(*i) + wide(given.number("offset0"))) + wide(given.number("offset"))
        return clamped(value, *DTYPE_RANGE[given.out.dtype]).astype(given.out.dtype)

    return _reduced(given, axes, element, ("acc",))


def float_total(operator: Operator, model: Model) -> Definition:
    """The sum of stored values plus `offset0` (for all of them), scaled in float32 by `scale`, and rounded
    half away from zero.
    """
    given = operands_of(operator, model)
    axes, source, reduced = _places(given)
    acc = stage("acc", axes, lambda *i: te.sum(given.data[0](*source(i)).astype("int64"), axis=reduced))

    def element(*i: Any) -> Any:
        total = (acc(*i) + wide(given.number("offset0"))).astype("float32")
        value = rounded(Arithmetic.TFLITE, total * tirx.const(given.real("scale"), "float32"))
        value = value.astype("int64") + wide(given.number("offset"))
        return clamped(value, *DTYPE_RANGE[given.out.dtype]).astype(given.out.dtype)

    return _reduced(given, axes, element, ("acc",))


def greatest(operator: Operator, model: Model) -> Definition:
    """The greatest stored value, or with `least` the least."""
    given = operands_of(operator, model)
    axes, source, reduced = _places(given)
    choose = te.min if given.number("least") else te.max
    acc = stage("acc", axes, lambda *i: choose(given.data[0](*source(i)), axis=reduced))
    return _reduced(given, axes, acc, ("acc",))


def place_of_greatest(operator: Operator, model: Model) -> Definition:
    """The place of the greatest value along one axis, or with `least` of the least; the first of equals."""
    given = operands_of(operator, model)
    axes, source, (index,) = _places(given)
    x, least = given.data[0], given.number("least")
    choose = te.min if least else te.max
    best = stage("best", axes, lambda *i: choose(x(*source(i)), axis=[index]))
    _, _, (again,) = places = _places(given)
    none = tirx.const(given.tensors[0].shape[given.numbers("axes")[0]], "int32")

    def place(*i: Any) -> Any:
        found = tirx.Select(tirx.EQ(x(*places[1](i)), best(*i)), again.var.astype("int32"), none)
        return te.min(found, axis=[again])

    first = stage("first", axes, place)
    return _reduced(given, axes, lambda *i: first(*i).astype(given.out.dtype), ("best", "first"))


def _places(given: Operands) -> tuple[Axes, Any, list[Any]]:
    """The axes that remain (one of extent 1 if none does), the input index of theirs, and those reduced."""
    shape, gone = given.tensors[0].shape, given.numbers("axes")
    over = {axis: te.reduce_axis((0, shape[axis]), name=f"r{axis}") for axis in gone}
    kept = [axis for axis in range(len(shape)) if axis not in over]

    def source(i: tuple[Any, ...]) -> list[Any]:
        return [over[axis] if axis in over else i[kept.index(axis)] for axis in range(len(shape))]

    return axes_of(tuple(shape[axis] for axis in kept)), source, list(over.values())


def _reduced(given: Operands, axes: Axes, element: Any, stages: tuple[str, ...]) -> Definition:
    out = stage("out", axes, element)
    return Definition(arguments=(*given.data, out), schedule=one_by_one(stages, stages))


DEFINITIONS = {
    "scaled_total": scaled_total,
    "float_total": float_total,
    "greatest": greatest,
    "place_of_greatest": place_of_greatest,
}
