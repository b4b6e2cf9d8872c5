"""The end of the way: results with a count are zero behind it, and the count is a result, too."""

from pathlib import Path
from typing import Any

from attrs import frozen
from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting.bodies import OWN_DOMAIN
from target_arch.relax.readers.onnx.rewriting.bounded_marks import BOUNDED, FILLED, Mark, Walk
from target_arch.relax.readers.onnx.rewriting.bounded_sources import BOUNDED_RESULTS
from target_arch.relax.readers.onnx.rewriting.bounded_walk import walked
from target_arch.relax.readers.onnx.rewriting.cleaning import clean
from target_arch.relax.readers.onnx.rewriting.graph import (
    ONNX_DOMAINS,
    OnnxGraph,
    TensorKind,
    rename,
    replace,
)
from target_arch.relax.readers.source import BoundedOutput
from target_arch.relax.readers.unsupported import Unsupported, unsupported


@frozen(kw_only=True)
class Bounds:
    """The outputs with a count, and the names of the tensors that have one, whose size in the file depends on
    values.
    """

    outputs: tuple[BoundedOutput, ...]
    tensors: frozenset[str]


def with_counts(path: Path, graph: OnnxGraph) -> Bounds:
    """Let the counts of outputs be outputs behind the others. DiagnosticError that names the operators that
    cannot read a tensor with a count.
    """
    walk, refused = walked(graph)
    for node in graph.model.graph.node:
        if node.domain in ONNX_DOMAINS and node.op_type in BOUNDED_RESULTS:
            refused.setdefault(node.output[0], "the shape of its result depends on values")
    if refused:
        nodes = [node for node in graph.model.graph.node if node.output[0] in refused]
        raise unsupported(path, (_refusal(node, refused[node.output[0]]) for node in nodes))
    outputs = tuple(_outputs(graph, walk))
    for node in graph.model.graph.node:
        if node.domain == OWN_DOMAIN and node.op_type == BOUNDED:
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
            del node.input[1:]
    clean(graph)
    return Bounds(outputs=outputs, tensors=frozenset(walk.marks))


def _refusal(node: Any, reason: str) -> Unsupported:
    return Unsupported(operator=node.op_type, place=node.name or node.output[0], reason=reason)


def _outputs(graph: OnnxGraph, walk: Walk) -> list[BoundedOutput]:
    content, counts = graph.model.graph, dict[str, int]()
    found = []
    for number, value in enumerate(list(content.output)):
        mark = walk.marks.get(value.name)
        if mark is None:
            continue
        if mark.count not in counts:
            counts[mark.count] = len(content.output)
            name = f"{value.name}_count"
            content.node.append(helper.make_node("Identity", [mark.count], [name], name=name))
            content.output.append(helper.make_tensor_value_info(name, TensorProto.INT64, (1,)))
        _filled_output(graph, value.name, mark, walk.types[value.name])
        found.append(BoundedOutput(output=number, axis=mark.axis, count=counts[mark.count]))
    return found


def _filled_output(graph: OnnxGraph, name: str, mark: Mark, kind: TensorKind) -> None:
    """Zeros behind the count, under the name of the output."""
    content, rows = graph.model.graph, f"{name}/rows"
    for node in content.node:
        rename(node, {name: rows})
    kept = [value for value in content.value_info if value.name != rows]
    replace(content.value_info, [*kept, helper.make_tensor_value_info(rows, kind.elements, kind.shape)])
    filled = helper.make_node(
        FILLED, [rows, mark.count], [name], name=name, domain=OWN_DOMAIN, axis=mark.axis, value="zero"
    )
    content.node.append(filled)
