"""Operators that pass their input on, and whatever nothing reads or adds nothing, leave the graph."""

from typing import Any

import numpy as np

from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph, array_of, reads, rename, replace


def clean(graph: OnnxGraph) -> bool:
    """Remove `Identity`, `Dropout` of inference, operands of concatenations that have no elements, unread
    operators and unread constants. True if an operator was.
    """
    before = len(graph.model.graph.node)
    _drop_empty(graph)
    _drop_passing(graph)
    _drop_unread(graph)
    return len(graph.model.graph.node) != before


def _drop_empty(graph: OnnxGraph) -> None:
    """A concatenation reads no tensor without elements; of one tensor it is that."""
    types = graph.types()
    for node in graph.model.graph.node:
        if node.op_type != "Concat":
            continue
        read = [name for name in node.input if name not in types or 0 not in (types[name].shape or ())]
        if not read or len(read) == len(node.input):
            continue
        del node.input[:]
        node.input.extend(read)
        if len(read) == 1:
            node.op_type = "Identity"
            del node.attribute[:]


def _drop_passing(graph: OnnxGraph) -> None:
    """An operator that passes on its input goes; the input has the name of an output where there was one."""
    outputs = {value.name for value in graph.model.graph.output}
    made = {name for node in graph.model.graph.node for name in node.output}
    constants = graph.constants()
    names: dict[str, str] = {}
    kept = []
    for node in graph.model.graph.node:
        if names:
            rename(node, names)
        if not _passes(node, constants):
            kept.append(node)
        elif node.output[0] not in outputs:
            names[node.output[0]] = node.input[0]
        elif node.input[0] in made and node.input[0] not in outputs:
            given = {node.input[0]: node.output[0]}
            for each in kept:
                rename(each, given)
            names |= {old: node.output[0] for old, new in names.items() if new == node.input[0]} | given
        else:
            kept.append(node)
    _keep(graph, kept)


def _passes(node: Any, constants: dict[str, Any]) -> bool:
    if node.op_type == "Identity":
        return True
    if node.op_type != "Dropout" or any(node.output[1:]):
        return False
    training = node.input[2] if len(node.input) > 2 else ""
    return not training or (training in constants and not np.any(array_of(constants[training])))


def _drop_unread(graph: OnnxGraph) -> None:
    read = {value.name for value in graph.model.graph.output}
    kept = []
    for node in reversed(graph.model.graph.node):
        if any(name in read for name in node.output):
            read.update(reads(node))
            kept.append(node)
    _keep(graph, kept[::-1])
    graph.drop_constants(name for name in graph.constants() if name not in read)


def _keep(graph: OnnxGraph, nodes: list[Any]) -> None:
    if len(nodes) < len(graph.model.graph.node):
        replace(graph.model.graph.node, nodes)
