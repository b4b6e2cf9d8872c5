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
    graphs_of,
    replace,
    tensor_of,
)

_SIDES = "onesided"
_PARTS = "target_arch.parts"
"""The name of the shape of real signals."""


def state_parts(graph: OnnxGraph) -> None:
    """Give signals with a one-sided spectrum, as by default and of real ones alone, a last dimension of 1."""
    found = False
    for each in graphs_of(graph.model.graph):
        if any(map(_is_one_sided, each.node)):
            replace(each.node, [new for node in each.node for new in _spelled_out(node)])
            found = True
    if found:
        graph.add(tensor_of(np.array([0, -1, 1]), _PARTS))


def _is_one_sided(node: Any) -> bool:
    return node.op_type == "STFT" and node.domain in ONNX_DOMAINS and bool(attributes_of(node).get(_SIDES, 1))


def _spelled_out(node: Any) -> list[Any]:
    """A one-sided `STFT` behind a reshape of its signal, and any other operator as it is."""
    if not _is_one_sided(node):
        return [node]
    signal = f"{node.output[0]}:signal"
    reshape = helper.make_node("Reshape", [node.input[0], _PARTS], [signal])
    node.input[0] = signal
    if _SIDES not in attributes_of(node):
        node.attribute.append(helper.make_attribute(_SIDES, 1))
    return [reshape, node]
