"""Tensors that loops write in an order, each element from those before it."""

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as ib


def written(shape: Sequence[int], dtype: str, body: Callable[..., None]) -> Callable[..., Any]:
    """The definition, a function of tensors, of one that loops write: `body(output, *operands)` is called
    inside a builder of TIR.
    """

    def definition(*tensors: Any) -> Any:
        def loops(ins: Any, outs: Any) -> Any:
            with IRBuilder() as builder:
                with ib.seq_scope():
                    body(outs[0], *ins)
                return builder.get()

        return te.extern(
            [tuple(shape)],
            list(tensors),
            loops,
            dtype=dtype,
            in_buffers=[tirx.decl_buffer(each.shape, each.dtype, each.op.name) for each in tensors],
            out_buffers=[tirx.decl_buffer(tuple(shape), dtype, "out")],
            name="loops",
        )

    return definition


def running(
    shape: Sequence[int],
    axis: int,
    start: int,
    combine: Callable[[Any, Any], Any],
    *,
    exclusive: bool,
    reverse: bool,
) -> Callable[[Any, Any], None]:
    """The body of loops that combine all elements up to each one along an axis, itself or (`exclusive`) only
    those before it, where `start` is the first; with `reverse` from the end.
    """
    outer = [extent for number, extent in enumerate(shape) if number != axis]

    def body(out: Any, x: Any) -> None:
        def place(others: Any, step: Any) -> list[Any]:
            around = list(others)[: len(outer)]
            along = shape[axis] - 1 - step if reverse else step
            return [*around[:axis], along, *around[axis:]]

        with ib.grid(*outer, 1, 1) as others:
            first = place(others, 0)
            ib.buffer_store(out, tirx.const(start, str(x.dtype)) if exclusive else x[first], first)
            with ib.serial(1, shape[axis]) as step:
                here, before = place(others, step), place(others, step - 1)
                ib.buffer_store(out, combine(out[before], x[before if exclusive else here]), here)

    return body
