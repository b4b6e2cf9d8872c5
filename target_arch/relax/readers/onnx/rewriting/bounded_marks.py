"""The value: an axis of a tensor of which a count says how much there is."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from attrs import define, field, frozen
from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting.bodies import OWN_DOMAIN
from target_arch.relax.readers.onnx.rewriting.graph import (
    Array,
    OnnxGraph,
    TensorKind,
    TensorKinds,
    array_of,
    opset_of,
    tensor_of,
)
from target_arch.relax.site import NotConverted

ALONG = "it works along a dimension whose size depends on values"
TWO = "two of its dimensions depend on values"
"""Reasons of refusals."""

WHOLE = TensorProto.INT64

BOUNDED = "Bounded"
"""Of a tensor and a count: the tensor, of which the first elements along an `axis` are there."""
FILLED = "Filled"
"""Of the same: the tensor with elements of one `value` behind the count."""


class UnknownShape(NotConverted):
    """Not yet: the shape of an operand is not known, or never will be."""


@frozen(kw_only=True)
class Mark:
    """Along `axis`, a tensor has as many elements as the tensor `count`, int64 of shape [1], says. What is
    behind them is there, and means nothing.
    """

    axis: int
    count: str


@frozen(kw_only=True)
class Size:
    """A number of which the largest is known, in a tensor of shapes. `count` names the count that it is, and
    is empty where it is computed from some; None where it is always the largest.
    """

    largest: int
    count: str | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether it depends on no value."""
        return self.count is None


@define
class Walk:
    """The operators of a graph in their order, with what is known of the tensors that were written so far.

    `nodes` are those of the graph to come, `after` those to follow the current one, `written` the names of
    what those write, and of constants. `unclear` are the names of tensors of
    which it is not known which size depends on values.
    """

    graph: OnnxGraph
    types: TensorKinds
    constants: dict[str, Any]
    marks: dict[str, Mark] = field(factory=dict)
    sizes: dict[str, Array] = field(factory=dict)
    nodes: list[Any] = field(factory=list)
    after: list[Any] = field(factory=list)
    written: set[str] = field(factory=set)
    unclear: set[str] = field(factory=set)
    changed: bool = False

    @classmethod
    def over(cls, graph: OnnxGraph) -> "Walk":
        """A walk that begins."""
        constants = graph.constants()
        return cls(graph=graph, types=graph.types(), constants=constants, written={*constants})

    @property
    def opset(self) -> int:
        """The version of ONNX's operators."""
        return opset_of(self.graph.model)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, of the largest size. Raises UnknownShape."""
        kind = self.types.get(name)
        if kind is None or kind.shape is None:
            raise UnknownShape("the shape of an operand is not known")
        return kind.shape

    def constant(self, name: str) -> Array | None:
        """The value of a constant; None for any other tensor."""
        return array_of(self.constants[name]) if name in self.constants else None

    def numbers(self, name: str, what: str) -> tuple[int, ...]:
        """The whole numbers of a constant. Raises NotConverted where it is computed."""
        values = self.constant(name)
        if values is None:
            raise NotConverted(f"its operand `{what}` must be a constant")
        return tuple(int(value) for value in values.reshape(-1))

    def add(
        self, operator: str, inputs: Sequence[str], name: str, kind: TensorKind, **attributes: Any
    ) -> str:
        """The name of what an operator before the current one gives; one of that name is there only once."""
        if name not in self.written:
            self.written.add(name)
            self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
            self.declare(name, kind)
            self.changed = True
        return name

    def add_own(
        self, operator: str, inputs: Sequence[str], name: str, kind: TensorKind, **attributes: Any
    ) -> str:
        """As `add`, of an operator of ours."""
        return self.add(operator, inputs, name, kind, domain=OWN_DOMAIN, **attributes)

    def number(self, name: str, values: Any) -> str:
        """The name of a constant of whole numbers."""
        if name not in self.written:
            self.written.add(name)
            tensor = tensor_of(np.asarray(values, np.int64), name)
            self.graph.add(tensor)
            self.constants[name] = tensor
            self.types[name] = TensorKind(TensorProto.INT64, tuple(np.shape(values)))
            self.changed = True
        return name

    def drop(self, place: int) -> None:
        """Take back what was added behind a place."""
        for node in self.nodes[place:]:
            self.written.difference_update(node.output)
        del self.nodes[place:]
        self.after.clear()

    def put(self, node: Any) -> None:
        """The current operator, and what follows it."""
        for each in (node, *self.after):
            self.nodes.append(each)
            self.written.update(filter(None, each.output))
        self.after.clear()

    def declare(self, name: str, kind: TensorKind) -> None:
        """State the type of a tensor, in place of what the file says."""
        content = self.graph.model.graph
        stated = [value for value in (*content.value_info, *content.output) if value.name == name]
        value = helper.make_tensor_value_info(name, kind.elements, kind.shape)
        for each in stated:
            each.CopyFrom(value)
        if not stated:
            content.value_info.add().CopyFrom(value)
        self.types[name] = kind

    def mark(self, node: Any, axis: int, count: str) -> None:
        """Note that all that an operator writes has the count along an axis."""
        for name in filter(None, node.output):
            self.marks[name] = Mark(axis=axis, count=count)

    def filled(self, name: str, value: str) -> str:
        """The name of a tensor with a mark, with one value behind the count: `zero`, `one`, `lowest`,
        `highest`.
        """
        mark = self.marks[name]
        return self.add_own(
            FILLED, [name, mark.count], f"{name}/{value}", self.types[name], axis=mark.axis, value=value
        )

    def bound(self, node: Any, output: int, axis: int, count: str) -> None:
        """Give a mark to what the current operator writes."""
        name = node.output[output]
        whole, kind = f"{name}/all", self.types[name]
        node.output[output] = whole
        self.declare(whole, kind)
        self.after.append(
            helper.make_node(BOUNDED, [whole, count], [name], name=name, domain=OWN_DOMAIN, axis=axis)
        )
        self.marks[name] = Mark(axis=axis, count=count)
        self.changed = True

    def counted(self, name: str, operator: str, *operands: str) -> str:
        """The name of a count that an operator on counts gives."""
        return self.add(operator, operands, name, TensorKind(TensorProto.INT64, (1,)))


Rule = Callable[[Walk, Any], None]
"""Gives marks to what an operator writes, and may change the operator, or write others around it. Raises
NotConverted where it cannot."""


def attribute(node: Any, name: str, otherwise: Any) -> Any:
    """An attribute of an operator."""
    for each in node.attribute:
        if each.name == name:
            return helper.get_attribute_value(each)
    return otherwise


def axis_of(node: Any, rank: int, otherwise: int) -> int:
    """The axis of an operator, from the start."""
    return int(attribute(node, "axis", otherwise)) % max(rank, 1)


def inner(shape: Sequence[int], axis: int) -> int:
    """How many elements one step along an axis has."""
    return prod(shape[axis + 1 :])
