"""Sums and products that run along a dimension."""

from collections.abc import Callable, Mapping
from typing import Any

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, counted
from target_arch.relax.te.loops import running


def _running(start: int, combine: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    def convert(node: Node) -> Any:
        shape = node.shape(0)
        given = node.constant(1, "axis")
        if given is None:
            raise NotConverted("operand 1 is missing")
        axis = counted(int(given.reshape(-1)[0]), len(shape))
        exclusive, reverse = node.integer("exclusive", 0), node.integer("reverse", 0)
        body = running(shape, axis, start, combine, exclusive=bool(exclusive), reverse=bool(reverse))
        return node.written(shape, node.dtype(0), body, node.operand(0))

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "CumProd": converter(_running(1, lambda a, b: a * b), "exclusive reverse"),
    "CumSum": converter(_running(0, lambda a, b: a + b), "exclusive reverse"),
}
