"""`STFT` spelled out, since ONNX infers a wrong shape of its result otherwise: real signals have the
dimension of their parts, which ONNX asks for and onnxruntime does not, and one-sided spectra are said to be.
"""

from typing import Any

import numpy as np
from onnx import helper

from target_arch.relax.readers.onnx.rewriting.graph import (
    ONNX_DOMAINS,
    OnnxGraph,
    attributes_of,
    replace,
    subgraphs,
    tensor_of,
)

_SIDES = "onesided"
_PARTS = "target_arch.parts"
"""The name of the shape of real signals."""


def state_parts(graph: OnnxGraph) -> None:
    """Give signals with a one-sided spectrum, as by default and of real ones alone, a last dimension of 1."""
    if _reshaped(graph.model.graph):
        graph.add(tensor_of(np.array([0, -1, 1]), _PARTS))


def _reshaped(graph: Any) -> bool:
    """Whether a signal of a graph, or of one inside of it, is reshaped."""
    made: list[Any] = []
    found = False
    for node in graph.node:
        for inside in subgraphs(node):
            found = _reshaped(inside) or found
        if node.domain in ONNX_DOMAINS and node.op_type == "STFT" and attributes_of(node).get(_SIDES, 1):
            signal = f"{node.output[0]}:signal"
            made.append(helper.make_node("Reshape", [node.input[0], _PARTS], [signal]))
            node.input[0] = signal
            _state_sides(node)
            found = True
        made.append(node)
    replace(graph.node, made)
    return found


def _state_sides(node: Any) -> None:
    if _SIDES not in attributes_of(node):
        node.attribute.append(helper.make_attribute(_SIDES, 1))
