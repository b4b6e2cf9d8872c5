"""transpose of float32 and of 8-bit values as calls of `transposes.h`, where it turns rows into columns."""

from collections.abc import Sequence
from math import prod

from target_arch.backends.plain_c.kernels.text import Made, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import STORED, as_int8
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/transposes.h"
_BLOCK = 8
"""Rows and columns of a block that is turned in registers."""


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind is not OperatorKind.TRANSPOSE:
        return f"no kernel for {operator.kind}"
    x = model.tensors[operator.inputs[0]]
    if x.dtype != "float32" and x.dtype not in STORED:
        return f"`{x.name}` is {x.dtype}"
    sides = _matrices(x.shape, _axes(operator))
    if sides is None:
        return "no rows that become columns"
    return None if min(sides[1:]) >= _BLOCK else f"rows or columns of fewer than {_BLOCK} elements"


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    sides = _matrices(x.shape, _axes(operator)) or ()
    if x.dtype == "float32":
        call = "ta_f32_transpose(&all, x, out);"
    else:
        call = f"ta_s8_transpose(&all, {as_int8(x)}x, {as_int8(out, written=True)}out);"
    lines = (struct("ta_matrices", "all", sides), call)
    parameters = (parameter("x", x), parameter("out", out, written=True))
    return Made(function=function(str(operator.kind), parameters, lines, (_HEADER,)), packed=())


def _axes(operator: Operator) -> tuple[int, ...]:
    axes = operator.attributes["axes"]
    assert isinstance(axes, tuple)
    return tuple(int(axis) for axis in axes)


def _matrices(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, int, int] | None:
    """How many matrices there are, their rows and their columns; None for any other order of dimensions.

    Dimensions of extent 1 are nowhere, and those that follow each other before and after are one.
    """
    runs: list[list[int]] = []
    there = [axis for axis, extent in enumerate(shape) if extent > 1]
    for axis in (axis for axis in axes if axis in there):
        if runs and there.index(axis) == there.index(runs[-1][-1]) + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    extents = [prod(shape[axis] for axis in run) for run in runs]
    order = [sorted(runs).index(run) for run in runs]
    if order == [1, 0]:
        return 1, extents[1], extents[0]
    return (extents[0], extents[2], extents[1]) if order == [0, 2, 1] else None
