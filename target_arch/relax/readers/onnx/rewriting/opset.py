"""One version of ONNX's operators, so that a converter knows one form of each.

`onnx.version_converter` raises a model to `OPSET`, or only its number where all of its operators are the same
there. A model keeps its version where that cannot be: it is newer, it has operators of other domains or a
`Scan` of the first form, or the library lacks the conversion of one of its operators. Converters then go by
the version that the model has.
"""

from typing import Any

import onnx
from onnx.version_converter import ConvertError, convert_version

from target_arch.relax.readers.onnx.rewriting.graph import (
    ONNX_DOMAINS,
    OnnxGraph,
    graphs_of,
    opset_of,
    schema_of,
)
from target_arch.relax.readers.onnx.rewriting.old_forms import flatten_hardmax, old_resizes, state_sampling

OPSET = 21
"""The newest that the lowest supported version of `onnx` knows."""

BATCHED_SCAN = 8
"""The last version in which a `Scan` had a batch and lengths of sequences, which the library forgets."""


def raise_opset(graph: OnnxGraph) -> bool:
    """Bring a model to `OPSET`, where the library can. True where operators may have changed."""
    nodes, opset = graph.model.graph.node, opset_of(graph.model)
    if opset >= OPSET or any(node.domain not in ONNX_DOMAINS for node in nodes):
        return False
    if _is_the_same(graph.model.graph, opset):
        for entry in graph.model.opset_import:
            entry.version = OPSET if entry.domain in ONNX_DOMAINS else entry.version
        return False
    if opset <= BATCHED_SCAN and any(node.op_type == "Scan" for node in nodes):
        return False
    resizes = old_resizes(graph.model.graph, opset)
    flatten_hardmax(graph.model.graph, opset)
    try:
        graph.model = convert_version(graph.model, OPSET)
    except (RuntimeError, ValueError, IndexError, onnx.checker.ValidationError, ConvertError):
        return True
    state_sampling(graph.model.graph, resizes)
    return True


def _is_the_same(graph: Any, opset: int) -> bool:
    """Whether no operator of a graph, nor of those inside, was changed between that version and `OPSET`."""
    kinds = {(node.domain, node.op_type): node for each in graphs_of(graph) for node in each.node}
    for node in kinds.values():
        old, new = schema_of(node, opset), schema_of(node, OPSET)
        if old is None or new is None or old.since_version != new.since_version:
            return False
    return True
