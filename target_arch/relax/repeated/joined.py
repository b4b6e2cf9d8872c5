"""A concatenation as a function: outside of loops it is a copy for each operand, which is no function."""

from math import prod
from typing import Any

from tvm import te
from tvm.script.ir_builder import tirx as ib

from target_arch.plan.model import Model, Operator
from target_arch.relax.te.loops import written


def joined(operator: Operator, model: Model) -> Any:
    """The PrimFunc of a concatenation, of its operands in order and its output."""
    shapes = [model.tensors[name].shape for name in operator.inputs]
    out = model.tensors[operator.output]
    axis = operator.attributes["axis"]
    assert isinstance(axis, int)
    rows, length = prod(out.shape[:axis]), prod(out.shape[axis:])

    def copies(target: Any, *operands: Any) -> None:
        first = 0
        for shape, operand in zip(shapes, operands, strict=True):
            run = prod(shape[axis:])
            with ib.grid(rows, run) as (row, i):
                ib.buffer_store(target, operand[row * run + i], [row * length + first + i])
            first += run

    given = [te.placeholder((prod(shape),), out.dtype, f"x{number}") for number, shape in enumerate(shapes)]
    return te.create_prim_func([*given, written((prod(out.shape),), out.dtype, copies)(*given)])
