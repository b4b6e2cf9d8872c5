"""Functions become the operators of their bodies: functions of the file, and those that define operators."""

from collections.abc import Callable
from typing import Any

import onnx
import onnx.inliner

from target_arch.relax.readers.onnx.graph import OnnxGraph

ONNX_DOMAINS = ("", "ai.onnx")


def inlined(model: Any) -> Any:
    """The model without functions of its own."""
    if not model.functions:
        return model
    return onnx.inliner.inline_local_functions(model, convert_version=True)


def expand_operators(graph: OnnxGraph, is_known: Callable[[str, str], bool]) -> bool:
    """Replace each operator that `is_known` denies by the body that ONNX defines it with, if it has one.

    True where something was replaced.
    """
    wanted = [
        name
        for name in dict.fromkeys(
            node.op_type for node in graph.model.graph.node if node.domain in ONNX_DOMAINS
        )
        if not is_known("", name) and _has_body(name)
    ]
    if not wanted:
        return False
    before = len(graph.model.graph.node)
    graph.model = onnx.inliner.inline_selected_functions(
        graph.model, [("", name) for name in wanted], inline_schema_functions=True
    )
    return len(graph.model.graph.node) != before


def _has_body(name: str) -> bool:
    if not onnx.defs.has(name):
        return False
    schema = onnx.defs.get_schema(name)
    return bool(schema.has_function or schema.has_context_dependent_function)
