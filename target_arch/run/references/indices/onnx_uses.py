"""Which tensors of an ONNX model hold indices, lengths and numbers of trips, and of what."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from target_arch.plan.inputs.shapes import Shape
from target_arch.run.references.indices.uses import Use

_INDEXING = {"Gather": True, "GatherElements": True, "ScatterElements": True, "GatherND": False}
"""Operators whose second input indexes the first one: along `axis`, or along its first dimensions."""
MOVING = ("Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
_PASSING = ("Cast", "Expand", "Gather", "GatherElements", "TopK", *MOVING)
_ARITHMETIC = ("Add", "Mul", "Where")
"""Operators by whose results exporters choose between indices; of those that choose, the last are values."""
_RECURRENT = ("GRU", "LSTM", "RNN")
"""Operators whose fifth input are the lengths of sequences, which are no longer than the first one; where its
shape is not known, the least extent of an input is safe.
"""
_TRIPS = 10
"""Random numbers of trips are less."""


def uses(parsed: Any, fixed: Mapping[str, Shape]) -> Iterator[Use]:
    """How operators use tensors as indices, in their order; `fixed` are the shapes of the inputs."""
    shapes = _known_shapes(parsed, fixed)
    least = min((extent for shape in fixed.values() for extent in shape if extent > 1), default=1)
    numbers = _numbers(parsed)
    for node in parsed.graph.node:
        extents = {}
        shape = shapes.get(node.input[0]) if node.input else None
        if node.op_type in _INDEXING and shape:
            axis = _integer(node, "axis")
            extents[node.input[1]] = shape[axis] if _INDEXING[node.op_type] else min(shape)
        if node.op_type in _RECURRENT and any(node.input[4:5]):
            extents[node.input[4]] = 1 + (shape[_integer(node, "layout")] if shape else least)
        if node.op_type == "Loop" and node.input[0]:
            extents[node.input[0]] = _TRIPS
        yield _use(node, extents, numbers)


def _use(node: Any, extents: Mapping[str, int], numbers: Mapping[str, int]) -> Use:
    if node.op_type in _ARITHMETIC:
        offsets = [numbers[name] for name in node.input if name in numbers and node.op_type == "Add"]
        reads = tuple(name for name in node.input[-2:] if name not in numbers)
        return Use(reads=reads, writes=tuple(node.output), extents=extents, passes=True, offset=sum(offsets))
    passes = node.op_type in _PASSING
    reads = tuple(node.input[:1] if passes else node.input)
    writes = tuple(node.output[:1] if passes else node.output)
    return Use(reads=reads, writes=writes, extents=extents, passes=passes)


def _numbers(parsed: Any) -> dict[str, int]:
    """The constants that are one integer."""
    tensors = {value.name: value for value in parsed.graph.initializer}
    for node in parsed.graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                tensors[node.output[0]] = attribute.t
    return {name: number for name, value in tensors.items() for number in _number(value)}


def _number(value: Any) -> Iterator[int]:
    from onnx import TensorProto, numpy_helper

    if value.data_type in (TensorProto.INT32, TensorProto.INT64) and prod(value.dims) == 1:
        yield int(numpy_helper.to_array(value).reshape(()))


def _integer(node: Any, name: str) -> int:
    return next((int(each.i) for each in node.attribute if each.name == name), 0)


def _known_shapes(parsed: Any, fixed: Mapping[str, Shape]) -> dict[str, Shape]:
    """The shapes of constants, inputs, and of what the file declares."""
    known = {value.name: tuple(value.dims) for value in parsed.graph.initializer} | dict(fixed)
    for value in parsed.graph.value_info:
        extents = tuple(extent.dim_value for extent in value.type.tensor_type.shape.dim)
        if all(extent > 0 for extent in extents):
            known.setdefault(value.name, extents)
    return known
