"""Meanings that `onnx.version_converter` loses: where an old `Resize` samples, and that an old `Hardmax`
takes all dimensions from its axis on as one.
"""

from collections.abc import Iterator
from typing import Any

from onnx import helper

from target_arch.relax.onnx_operators.images.resize import OLD_SAMPLING
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, graphs_of, replace

_LAST_ASYMMETRIC, _LAST_FLAT = 10, 12


def old_resizes(graph: Any, opset: int) -> frozenset[str]:
    """The outputs of resizes without a choice of where they sample, in a graph and those inside of it."""
    if opset > _LAST_ASYMMETRIC:
        return frozenset()
    return frozenset(node.output[0] for node in _nodes(graph) if node.op_type in ("Resize", "Upsample"))


def state_sampling(graph: Any, outputs: frozenset[str]) -> None:
    """Let the resizes with those outputs sample as they did."""
    for node in _nodes(graph):
        if node.op_type == "Resize" and node.output[0] in outputs:
            node.attribute.extend(helper.make_attribute(*each) for each in OLD_SAMPLING.items())


def flatten_hardmax(graph: Any, opset: int) -> None:
    """Let `Hardmax` of old versions choose along one dimension, that of a matrix, as newer ones do."""
    if opset > _LAST_FLAT:
        return
    for each in graphs_of(graph):
        if any(map(_is_hardmax, each.node)):
            replace(each.node, [new for node in each.node for new in _flattened(node)])


def _is_hardmax(node: Any) -> bool:
    return node.op_type == "Hardmax" and node.domain in ONNX_DOMAINS


def _flattened(node: Any) -> list[Any]:
    """A `Hardmax` along the rows of a matrix, and any other operator as it is."""
    if not _is_hardmax(node):
        return [node]
    axis = next((helper.get_attribute_value(each) for each in node.attribute if each.name == "axis"), 1)
    (x,), (y,) = node.input, node.output
    shape, rows, chosen = (f"{y}:{part}" for part in ("shape", "rows", "chosen"))
    return [
        helper.make_node("Shape", [x], [shape]),
        helper.make_node("Flatten", [x], [rows], axis=axis),
        helper.make_node("Hardmax", [rows], [chosen], axis=1, name=node.name),
        helper.make_node("Reshape", [chosen, shape], [y]),
    ]


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of ONNX's own operators, also inside of others."""
    return (node for each in graphs_of(graph) for node in each.node if node.domain in ONNX_DOMAINS)
