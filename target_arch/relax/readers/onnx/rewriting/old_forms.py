"""Meanings that `onnx.version_converter` loses: where an old `Resize` samples, and that an old `Hardmax`
takes all dimensions from its axis on as one.
"""

from collections.abc import Iterator
from typing import Any

from onnx import helper

from target_arch.relax.onnx_operators.images.resize import OLD_SAMPLING
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, replace, subgraphs

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
    made: list[Any] = []
    for node in graph.node:
        for inside in subgraphs(node):
            flatten_hardmax(inside, opset)
        made += _flattened(node) if node.op_type == "Hardmax" and node.domain in ONNX_DOMAINS else [node]
    replace(graph.node, made)


def _flattened(node: Any) -> list[Any]:
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
    for node in graph.node:
        if node.domain in ONNX_DOMAINS:
            yield node
        for inside in subgraphs(node):
            yield from _nodes(inside)
