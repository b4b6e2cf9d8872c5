"""Weights of 4 bits, and weights of blocks with a scale each.

A constant of int4 or uint4 has the same values in 8 bits, which backends keep in 4 where they can. Weights in
blocks (`DequantizeLinear` with `block_size`, and onnxruntime's `MatMulNBits`) are floats from here on,
whose integers and steps are found again where they are stored (`stages/simplification/stepped.py`).

Tests: `tests/relax/readers/onnx/test_narrow_weights.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting.graph import (
    Array,
    OnnxGraph,
    array_of,
    attributes_of,
    replace,
    tensor_of,
)

_WIDER = {TensorProto.INT4: np.int8, TensorProto.UINT4: np.uint8}
_DOMAIN = "com.microsoft"
_BITS = (4, 8)


def widen_weights(graph: OnnxGraph) -> None:
    """Bring such constants, and those that are in blocks, to types that operators have."""
    for name, tensor in graph.constants().items():
        if tensor.data_type in _WIDER:
            graph.drop_constants([name])
            graph.add(tensor_of(array_of(tensor).astype(_WIDER[tensor.data_type]), name))
    constants = graph.constants()
    nodes: list[Any] = []
    for node in graph.model.graph.node:
        if node.op_type == "DequantizeLinear" and attributes_of(node).get("block_size"):
            nodes += _dequantized(node, graph, constants)
        elif node.op_type == "MatMulNBits" and node.domain == _DOMAIN:
            nodes += _product(node, graph, constants)
        else:
            nodes.append(node)
    replace(graph.model.graph.node, nodes)


def _values(node: Any, constants: Mapping[str, Any]) -> list[Array | None] | None:
    """The operands; None where one is no constant."""
    if any(name and name not in constants for name in node.input):
        return None
    return [array_of(constants[name]) if name else None for name in node.input]


def _dequantized(node: Any, graph: OnnxGraph, constants: Mapping[str, Any]) -> Sequence[Any]:
    """A constant in blocks along one axis as floats; the operator as it is where an operand is computed."""
    values = _values(node, constants)
    if values is None or values[0] is None or values[1] is None:
        return (node,)
    own = attributes_of(node)
    size, axis = int(own["block_size"]), int(own.get("axis", 1))
    stored, scales = values[0], values[1]
    zeros = values[2] if len(values) > 2 and values[2] is not None else np.zeros((), stored.dtype)
    spread = [_spread(each, size, axis, stored.shape[axis]) for each in (scales, zeros)]
    made = ((stored.astype(np.int32) - spread[1]).astype(np.float32) * spread[0]).astype(scales.dtype)
    graph.add(tensor_of(made, node.output[0]))
    return ()


def _spread(values: Array, size: int, axis: int, extent: int) -> Array:
    """A value for each element along an axis, of one for each block."""
    if not values.ndim:
        return values
    return np.take(np.repeat(values, size, axis), range(extent), axis)


def _product(node: Any, graph: OnnxGraph, constants: Mapping[str, Any]) -> Sequence[Any]:
    """A product with weights [N, K] in blocks along K as one with floats [K, N], plus its bias if it has one.

    Source: `MatMulNBits` on onnxruntime's page of contributed operators.
    """
    given = [*node.input, *([""] * (6 - len(node.input)))]
    own = attributes_of(node)
    bits, size = int(own.get("bits", 4)), int(own["block_size"])
    known = [array_of(constants[name]) if name in constants else None for name in given[1:4]]
    if known[0] is None or known[1] is None or bits not in _BITS or given[4]:
        return (node,)
    if given[3] and known[2] is None:
        return (node,)
    outputs, products = int(own["N"]), int(own["K"])
    blocks = -(-products // size)
    stored = _unpacked(known[0].reshape(outputs * blocks, -1), bits).reshape(outputs, blocks, size)
    scales = known[1].reshape(outputs, blocks, 1).astype(np.float32)
    zeros = _zeros(known[2], bits, outputs, blocks)
    weights = ((stored.astype(np.float32) - zeros) * scales).reshape(outputs, -1)[:, :products]
    out = node.output[0]
    graph.add(tensor_of(np.ascontiguousarray(weights.T), f"{out}/weights"))
    product = f"{out}/product" if given[5] else out
    nodes = [helper.make_node("MatMul", [given[0], f"{out}/weights"], [product], name=node.name or out)]
    if given[5]:
        nodes.append(helper.make_node("Add", [product, given[5]], [out], name=f"{node.name or out}/bias"))
    return nodes


def _zeros(values: Array | None, bits: int, outputs: int, blocks: int) -> Array:
    """The zero point of each block, packed as weights are, or in the scales' type."""
    if values is None:
        return np.full((1, 1, 1), 1 << (bits - 1), np.float32)
    if values.dtype == np.uint8:
        values = _unpacked(values.reshape(outputs, -1), bits)[:, :blocks]
    return values.reshape(outputs, blocks, 1).astype(np.float32)


def _unpacked(rows: Array, bits: int) -> Array:
    """Bytes of rows as values; of two in a byte the lower half is the first."""
    if bits == 8:
        return rows
    return np.stack((rows & 15, rows >> 4), axis=-1).reshape(rows.shape[0], -1)
