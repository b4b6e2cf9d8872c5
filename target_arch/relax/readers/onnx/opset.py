"""One version of ONNX's operators, so that a converter knows one form of each.

`onnx.version_converter` raises a model to `OPSET`. A model keeps its version where that cannot be: it is
newer, it has operators of other domains, or the library lacks the conversion of one of its operators.
Converters then go by the version that the model has.
"""

import onnx
import onnx.version_converter

from target_arch.relax.readers.onnx.graph import ONNX_DOMAINS, OnnxGraph, opset_of

OPSET = 21
"""The newest that the lowest supported version of `onnx` knows."""


def raise_opset(graph: OnnxGraph) -> None:
    """Bring a model to `OPSET`, where the library can."""
    if opset_of(graph.model) >= OPSET or any(
        node.domain not in ONNX_DOMAINS for node in graph.model.graph.node
    ):
        return
    try:
        graph.model = onnx.version_converter.convert_version(graph.model, OPSET)
    except (RuntimeError, ValueError, IndexError, onnx.checker.ValidationError):
        return
