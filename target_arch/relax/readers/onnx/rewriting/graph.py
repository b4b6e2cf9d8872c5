"""An ONNX model on its way to the normal form.

Large constants stand aside, so that passes which copy the model (all of ONNX's own do) copy little; to them
such a constant is an input.
"""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from math import prod
from operator import is_
from typing import Any

import numpy as np
from attrs import define, field
from onnx import TensorProto, defs, helper, numpy_helper

ONNX_DOMAINS = ("", "ai.onnx")
"""Both names of ONNX's own operators."""

Array = np.ndarray[Any, np.dtype[Any]]

_LARGE = 4096
"""Bytes above which a constant stands aside. Shapes and axes, whose values passes read, are smaller."""


@define
class OnnxGraph:
    """A model without its large constants, which `aside` has by name; `inputs` are the names of its own.
    `reasons` say why an operator, by the name of its first result, could not be brought to others; `unclear`
    are tensors with extents that may be larger than what is there (`bounded_walk.py`).
    """

    model: Any
    inputs: tuple[str, ...]
    aside: dict[str, Any] = field(factory=dict)
    reasons: dict[str, str] = field(factory=dict)
    unclear: set[str] = field(factory=set)

    @classmethod
    def of(cls, model: Any) -> "OnnxGraph":
        """A model whose constants, which old files list among the inputs too, are only constants."""
        constants = {value.name for value in model.graph.initializer}
        names = tuple(value.name for value in model.graph.input if value.name not in constants)
        made = cls(model, names)
        made._keep_inputs()
        tensors = list(model.graph.initializer)
        del model.graph.initializer[:]
        for tensor in tensors:
            made.add(tensor)
        return made

    def whole(self) -> Any:
        """The model with all of its constants, in a fixed order."""
        self._keep_inputs()
        self.model.graph.initializer.extend(self.aside.values())
        self.aside.clear()
        return self.model

    def add(self, tensor: Any) -> None:
        """A constant more."""
        if len(tensor.raw_data) <= _LARGE and sum(tensor.dims) <= _LARGE:
            self.model.graph.initializer.append(tensor)
            return
        self.aside[tensor.name] = tensor
        self.model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )

    def fix(self, tensor: Any) -> None:
        """A constant in place of the input of its name."""
        self.inputs = tuple(name for name in self.inputs if name != tensor.name)
        kept = [value for value in self.model.graph.input if value.name != tensor.name]
        replace(self.model.graph.input, kept)
        self.add(tensor)

    def constants(self) -> dict[str, Any]:
        """All constants by name."""
        return {value.name: value for value in self.model.graph.initializer} | self.aside

    def drop_constants(self, unused: Iterable[str]) -> None:
        """Forget constants by name."""
        gone = set(unused)
        kept = [value for value in self.model.graph.initializer if value.name not in gone]
        if len(kept) < len(self.model.graph.initializer):
            replace(self.model.graph.initializer, kept)
        for name in gone & self.aside.keys():
            del self.aside[name]
        kept = [value for value in self.model.graph.input if value.name not in gone]
        if len(kept) < len(self.model.graph.input):
            replace(self.model.graph.input, kept)

    def types(self) -> "TensorKinds":
        """The element type and shape of every tensor, as far as they were inferred."""
        graph = self.model.graph
        declared = (*graph.input, *graph.value_info, *graph.output)
        return TensorKinds(
            {value.name: value for value in declared},
            {value.name: TensorKind(value.data_type, tuple(value.dims)) for value in graph.initializer},
        )

    def _keep_inputs(self) -> None:
        """Only the model's own inputs stay inputs."""
        own = [value for value in self.model.graph.input if value.name in self.inputs]
        replace(self.model.graph.input, own)


@define(frozen=True)
class TensorKind:
    """The element type of a tensor (a number of ONNX) and its shape, None where that is not known."""

    elements: int
    shape: tuple[int, ...] | None

    @classmethod
    def of(cls, value: Any) -> "TensorKind | None":
        """Of a declared value; None where it is no tensor."""
        if not value.type.HasField("tensor_type"):
            return None
        kind = value.type.tensor_type
        if not kind.HasField("shape"):
            return cls(kind.elem_type, None)
        shape = []
        for extent in kind.shape.dim:
            if not extent.HasField("dim_value"):
                return cls(kind.elem_type, None)
            shape.append(extent.dim_value)
        return cls(kind.elem_type, tuple(shape))

    @property
    def bytes(self) -> int:
        """Size of the elements; 0 where the shape is not known."""
        if self.shape is None:
            return 0
        return prod(self.shape) * int(helper.tensor_dtype_to_np_dtype(self.elements).itemsize)

    def __str__(self) -> str:
        name = TensorProto.DataType.Name(self.elements).lower()
        return f"{name}[{'?' if self.shape is None else ','.join(map(str, self.shape))}]"


@define(eq=False)
class TensorKinds(MutableMapping[str, TensorKind]):
    """The kinds of tensors by name: of declared values, each read when it is asked for, and others, which
    come first. The declarations may not change meanwhile.
    """

    _declared: dict[str, Any]
    _others: dict[str, TensorKind | None]
    """None for a declared value that is no tensor."""

    def __getitem__(self, name: str) -> TensorKind:
        if name not in self._others:
            self._others[name] = TensorKind.of(self._declared[name])
        kind = self._others[name]
        if kind is None:
            raise KeyError(name)
        return kind

    def __setitem__(self, name: str, kind: TensorKind) -> None:
        self._others[name] = kind

    def __delitem__(self, name: str) -> None:
        self._others[name] = None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._declared | self._others if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def replace(repeated: Any, values: Iterable[Any]) -> None:
    """Put other values into a repeated field of a protobuf; nothing is copied where they are all its own."""
    kept = list(values)
    if len(kept) == len(repeated) and all(map(is_, kept, repeated)):
        return
    copies = [type(value)() for value in kept]
    for copy, value in zip(copies, kept, strict=True):
        copy.CopyFrom(value)
    del repeated[:]
    repeated.extend(copies)


def array_of(tensor: Any) -> Array:
    """The values of a constant."""
    found: Array = numpy_helper.to_array(tensor)
    return found


def tensor_of(values: Array, name: str) -> Any:
    """Values as a constant of that name."""
    return numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), name)


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of an operator by name."""
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs among the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def graphs_of(graph: Any) -> Iterator[Any]:
    """The graph, and those inside of its nodes. Nodes of one may be replaced before the next is asked for."""
    left = [graph]
    while left:
        each = left.pop()
        yield each
        left += [inner for node in each.node for inner in subgraphs(node)]


def reads(node: Any) -> Iterator[str]:
    """Every name that a node reads, those that its subgraphs read from outside included."""
    yield from filter(None, node.input)
    for graph in subgraphs(node):
        inside = {value.name for value in (*graph.input, *graph.initializer)}
        for each in graph.node:
            yield from (name for name in reads(each) if name not in inside)
            inside.update(each.output)
        yield from (value.name for value in graph.output if value.name not in inside)


def rename(node: Any, names: Mapping[str, str]) -> None:
    """Let a node, and its subgraphs, read and write under other names."""
    for operands in (node.input, node.output):
        for number, name in enumerate(operands):
            if name in names:
                operands[number] = names[name]
    for graph in subgraphs(node):
        for value in (*graph.input, *graph.output, *graph.initializer):
            value.name = names.get(value.name, value.name)
        for each in graph.node:
            rename(each, names)


def opset_of(model: Any) -> int:
    """The version of ONNX's own operators that a model asks for."""
    return max(
        (int(entry.version) for entry in model.opset_import if entry.domain in ONNX_DOMAINS), default=1
    )


def schema_of(node: Any, opset: int) -> Any | None:
    """ONNX's schema of an operator in that version; None where it has none of that name."""
    if node.domain not in ONNX_DOMAINS or not defs.has(node.op_type, max_inclusive_version=opset):
        return None
    return defs.get_schema(node.op_type, max_inclusive_version=opset)
