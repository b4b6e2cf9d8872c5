"""Concatenations of many tensors become some of fewer: a kernel takes no more operands."""

from typing import Any

from onnx import helper

from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph, TensorKind, TensorKinds, replace

_MOST = 24
"""Operands of a concatenation. A kernel has 32, its result and scratch memory among them."""


def narrow_joins(graph: OnnxGraph) -> None:
    """Replace each wide concatenation by those of its parts, and one of what they give."""
    types, nodes = graph.types(), list[Any]()
    for node in graph.model.graph.node:
        if node.op_type == "Concat":
            nodes += _parts(graph, node, types)
        nodes.append(node)
    replace(graph.model.graph.node, nodes)


def _parts(graph: OnnxGraph, node: Any, types: TensorKinds) -> list[Any]:
    """The concatenations before one, whose operands become their results."""
    found: list[Any] = []
    while len(node.input) > _MOST:
        groups = [node.input[start : start + _MOST] for start in range(0, len(node.input), _MOST)]
        names = [each[0] if len(each) == 1 else _joined(graph, node, each, types, found) for each in groups]
        del node.input[:]
        node.input.extend(names)
    return found


def _joined(graph: OnnxGraph, node: Any, operands: Any, types: TensorKinds, found: list[Any]) -> str:
    name = f"{node.output[0]}/part{len(found)}"
    axis = int(node.attribute[0].i)
    part = helper.make_node("Concat", list(operands), [name], name=name, axis=axis)
    found.append(part)
    kinds = [types[each] for each in operands]
    shape = list(kinds[0].shape or ())
    shape[axis] = sum((kind.shape or ())[axis] for kind in kinds)
    types[name] = TensorKind(kinds[0].elements, tuple(shape))
    graph.model.graph.value_info.append(helper.make_tensor_value_info(name, kinds[0].elements, shape))
    return name
