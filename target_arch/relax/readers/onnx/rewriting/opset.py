"""One version of ONNX's operators, so that a converter knows one form of each.

`onnx.version_converter` raises a model to `OPSET`. A model keeps its version where that cannot be: it is
newer, it has operators of other domains or a `Scan` of the first form, or the library lacks the conversion of
one of its operators. Converters then go by the version that the model has.
"""

import onnx
from onnx.version_converter import ConvertError, convert_version

from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, OnnxGraph, opset_of
from target_arch.relax.readers.onnx.rewriting.old_forms import flatten_hardmax, old_resizes, state_sampling

OPSET = 21
"""The newest that the lowest supported version of `onnx` knows."""

BATCHED_SCAN = 8
"""The last version in which a `Scan` had a batch and lengths of sequences, which the library forgets."""


def raise_opset(graph: OnnxGraph) -> None:
    """Bring a model to `OPSET`, where the library can."""
    nodes, opset = graph.model.graph.node, opset_of(graph.model)
    if opset >= OPSET or any(node.domain not in ONNX_DOMAINS for node in nodes):
        return
    if opset <= BATCHED_SCAN and any(node.op_type == "Scan" for node in nodes):
        return
    resizes = old_resizes(graph.model.graph, opset)
    flatten_hardmax(graph.model.graph, opset)
    try:
        graph.model = convert_version(graph.model, OPSET)
    except (RuntimeError, ValueError, IndexError, onnx.checker.ValidationError, ConvertError):
        return
    state_sampling(graph.model.graph, resizes)
