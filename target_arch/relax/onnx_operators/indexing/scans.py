"""Sums and products that run along a dimension."""

from collections.abc import Callable, Mapping
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.onnx_operators.node import Converter, Node, NotConverted, converter, counted


def _running(start: int, combine: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    def convert(node: Node) -> Any:
        shape = node.shape(0)
        given = node.constant(1, "axis")
        if given is None:
            raise NotConverted("operand 1 is missing")
        axis = counted(int(given.reshape(-1)[0]), len(shape))
        exclusive, reverse = node.integer("exclusive", 0), node.integer("reverse", 0)
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

        return node.written(shape, node.dtype(0), body, node.operand(0))

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "CumProd": converter(_running(1, lambda a, b: a * b), "exclusive reverse"),
    "CumSum": converter(_running(0, lambda a, b: a + b), "exclusive reverse"),
}
