"""Functions become the operators of their bodies: functions of the file, and those that define operators."""

from collections.abc import Callable, Mapping
from typing import Any

import onnx
import onnx.inliner

from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph, opset_of, schema_of


def inlined(model: Any) -> Any:
    """The model without functions of its own."""
    if not model.functions:
        return model
    return onnx.inliner.inline_local_functions(model, convert_version=True)


def state_defaults(graph: OnnxGraph, is_known: Callable[[str, str], bool]) -> None:
    """Give each operator that `is_known` denies the attributes that it leaves to their defaults: bodies refer
    to them, those too by which the library infers shapes.
    """
    opset = opset_of(graph.model)
    for node in graph.model.graph.node:
        schema = None if is_known(node.domain, node.op_type) else schema_of(node, opset)
        if schema is not None:
            _add_defaults(node, schema)


def expand_operators(graph: OnnxGraph, is_known: Callable[[str, str], bool]) -> bool:
    """Replace each operator that `is_known` denies by the body that ONNX defines it with, if it has one.

    True where something was replaced.
    """
    declared = (*graph.model.graph.input, *graph.model.graph.value_info, *graph.model.graph.output)
    types = {value.name: value.type for value in declared}
    types |= {
        value.name: onnx.helper.make_tensor_type_proto(value.data_type, list(value.dims))
        for value in graph.model.graph.initializer
    }
    opset = opset_of(graph.model)
    for node in graph.model.graph.node:
        body = None if is_known(node.domain, node.op_type) else _body(node, types, opset)
        if body is not None:
            body.domain, body.name = _DOMAIN, f"{node.op_type}_{len(graph.model.functions)}"
            graph.model.functions.append(body)
            node.domain, node.op_type = body.domain, body.name
    if not graph.model.functions:
        return False
    graph.model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    graph.model = onnx.inliner.inline_local_functions(graph.model)
    return True


_DOMAIN = "target_arch.bodies"
"""Of the functions that live only until they are inlined."""


def _body(node: Any, types: Mapping[str, Any], opset: int) -> Any | None:
    """The function that defines an operator, for operands of these types; None where ONNX has none."""
    schema = schema_of(node, opset)
    content = None if schema is None else _content(node, schema, types, opset)
    if not content:
        return None
    body = onnx.FunctionProto()
    body.ParseFromString(content)
    del body.opset_import[:]
    body.opset_import.append(onnx.helper.make_opsetid("", opset))
    return body


def _content(node: Any, schema: Any, types: Mapping[str, Any], opset: int) -> bytes:
    """The body for the newest version up to `opset`, serialized; empty where there is none."""
    plain = [version for version in schema.function_opset_versions if version <= opset]
    if plain:
        return bytes(schema.get_function_with_opset_version(max(plain)))
    by_context = [version for version in schema.context_dependent_function_opset_versions if version <= opset]
    if not by_context or any(name and name not in types for name in node.input):
        return b""
    operands = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
    try:
        found = schema.get_context_dependent_function_with_opset_version(
            max(by_context), node.SerializeToString(), operands
        )
    except RuntimeError:
        return b""
    return bytes(found)


def _add_defaults(node: Any, schema: Any) -> None:
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
