"""Operators written in place of one, which ONNX's say as well."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field
from onnx import TensorProto, helper

from target_arch.relax.readers.attempts import UNCLEAR
from target_arch.relax.readers.frontend import FAILURES
from target_arch.relax.readers.onnx.rewriting.graph import (
    OnnxGraph,
    TensorKind,
    attributes_of,
    opset_of,
    reads,
    replace,
    tensor_of,
)
from target_arch.relax.site import NotConverted

OWN_DOMAIN = "target_arch.classical"
"""Of operators of ours, for what ONNX's do not say."""


@define
class Body:
    """The operators in place of one, whose first operand is of that `kind`. Names in `read` are read."""

    node: Any
    kind: TensorKind
    types: Mapping[str, TensorKind]
    opset: int
    read: frozenset[str]
    nodes: list[Any] = field(factory=list)
    constants: list[Any] = field(factory=list)
    declared: list[Any] = field(factory=list)

    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes by name."""
        return attributes_of(self.node)

    def given(self, index: int) -> str:
        """The name of an operand, empty where it is left out."""
        return str(self.node.input[index]) if index < len(self.node.input) else ""

    def result(self, index: int) -> str:
        """The name of a result, empty where nothing reads it."""
        name = str(self.node.output[index]) if index < len(self.node.output) else ""
        return name if name in self.read else ""

    def add(self, operator: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """The name of what an operator gives."""
        name = out or f"{self.node.output[0]}/{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def add_several(self, operator: str, inputs: Sequence[str], count: int) -> list[str]:
        """The names of the results of an operator."""
        names = [f"{self.node.output[0]}/{len(self.nodes)}.{index}" for index in range(count)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=names[0]))
        return names

    def add_own(self, operator: str, inputs: Sequence[str], shape: tuple[int, ...], **attributes: Any) -> str:
        """The name of what an operator of ours gives, floats of a shape."""
        name = self.add(operator, *inputs, **attributes)
        self.nodes[-1].domain = OWN_DOMAIN
        self.declared.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def number(self, value: float) -> str:
        """The name of a constant of the operand's type, without dimensions."""
        return self.constant(np.array(value, helper.tensor_dtype_to_np_dtype(self.kind.elements)))

    def constant(self, values: Any) -> str:
        """The name of a constant."""
        name = f"{self.node.output[0]}/constant{len(self.constants)}"
        self.constants.append(tensor_of(values, name))
        return name

    def plus(self, x: str, index: int) -> str:
        """A value plus an operand, where that is there."""
        return self.add("Add", x, self.given(index)) if self.given(index) else x

    def finish(self, x: str) -> bool:
        """Let a value be the first result."""
        self.add("Identity", x, out=str(self.node.output[0]))
        return True


def replaced_by_bodies(graph: OnnxGraph, domain: str, bodies: Mapping[str, Callable[[Body], bool]]) -> bool:
    """Replace operators of a domain whose first operand has a known type by what `bodies` write; these say
    whether they can, or raise NotConverted with the reason, which the graph then has. True where there were
    any.
    """
    if all(node.domain != domain for node in graph.model.graph.node):
        return False
    types, opset, read = graph.types(), opset_of(graph.model), _read(graph)
    nodes: list[Any] = []
    changed = False
    for node in graph.model.graph.node:
        try:
            body = _written(node, types, opset, read, bodies) if node.domain == domain else None
        except NotConverted as reason:
            graph.reasons[node.output[0]] = str(reason)
            body = None
        except FAILURES:  # attributes that are missing, or do not fit together
            graph.reasons[node.output[0]] = UNCLEAR
            body = None
        if body is None:
            nodes.append(node)
            continue
        changed = True
        nodes += body.nodes
        graph.model.graph.value_info.extend(body.declared)
        for tensor in body.constants:
            graph.add(tensor)
    if changed:
        replace(graph.model.graph.node, nodes)
    return changed


def _read(graph: OnnxGraph) -> frozenset[str]:
    """The names that operators read, and those of the model's outputs."""
    content = graph.model.graph
    names = (name for node in content.node for name in reads(node))
    return frozenset((*names, *(value.name for value in content.output)))


def _written(
    node: Any,
    types: Mapping[str, TensorKind],
    opset: int,
    read: frozenset[str],
    bodies: Mapping[str, Callable[[Body], bool]],
) -> Body | None:
    kind = types.get(node.input[0]) if node.input else None
    if kind is None or kind.shape is None or node.op_type not in bodies:
        return None
    body = Body(node=node, kind=kind, types=types, opset=opset, read=read)
    return body if bodies[node.op_type](body) else None
