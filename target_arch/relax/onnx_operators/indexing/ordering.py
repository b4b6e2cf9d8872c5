"""The largest or smallest elements along a dimension."""

from collections.abc import Mapping
from typing import Any

from tvm import te
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.loops.selection import BestElements
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted


def _top_k(node: Node) -> Any:
    """Equal elements in the order of their places. The indices are found first, the values read by them."""
    shape, axis = node.shape(0), node.axis(-1, rank=len(node.shape(0)))
    wanted = node.integers(1, "k")
    if wanted is None:
        raise NotConverted("operand 1 is missing")
    k, largest = wanted[0], bool(node.integer("largest", 1))
    if not 0 < k <= shape[axis]:
        raise NotConverted(f"it wants {k} of {shape[axis]} elements")
    outer = [extent for number, extent in enumerate(shape) if number != axis]
    found = [*shape[:axis], k, *shape[axis + 1 :]]

    def body(out: Any, x: Any) -> None:
        with ib.grid(*outer, 1, 1) as others:
            around = list(others)[: len(outer)]

            def place(along: Any) -> list[Any]:
                return [*around[:axis], along, *around[axis:]]

            BestElements(
                value=lambda i: x[place(i)],
                get=lambda rank: out[place(rank)].astype("int32"),
                put=lambda rank, i: ib.buffer_store(out, i.astype("int64"), place(rank)),
                largest=largest,
            ).write(shape[axis], k, node.dtype(0))

    indices = node.written(found, "int64", body, node.operand(0))
    return _picked(node, indices, axis, found), indices


def _picked(node: Node, indices: Any, axis: int, shape: list[int]) -> Any:
    def definition(x: Any, i: Any) -> Any:
        return te.compute(tuple(shape), lambda *at: x(*at[:axis], i(*at), *at[axis + 1 :]))

    return node.computed(definition, node.operand(0), indices)


CONVERTERS: Mapping[str, Converter] = {
    "TopK": converter(_top_k, "axis k largest sorted"),
}
