"""Quantized operators of onnxruntime's own domain become ONNX's: dequantize, operate, quantize. Those that
ONNX's cannot say stay, with the types of their outputs.

onnxruntime's quantizer writes them: in QOperator models, and `QuantizeLinear` with 16 bits below opset 21.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper

from target_arch.relax.readers.onnx.rewriting.graph import (
    OnnxGraph,
    TensorKind,
    array_of,
    attributes_of,
    replace,
    tensor_of,
)

_DOMAIN = "com.microsoft"
_SAME = ("DequantizeLinear", "QuantizeLinear")
_UNARY = {
    "QLinearAveragePool": "AveragePool",
    "QLinearGlobalAveragePool": "GlobalAveragePool",
    "QLinearLeakyRelu": "LeakyRelu",
    "QLinearSigmoid": "Sigmoid",
    "QLinearSoftmax": "Softmax",
}
_BINARY = {"QLinearAdd": "Add", "QLinearMul": "Mul"}
_CONCAT = "QLinearConcat"
_WHERE = "QLinearWhere"
_GEMM = "QGemm"
Kinds = Mapping[str, TensorKind]
_FIRST_SOFTMAX = 13
"""The version from which a softmax has one dimension."""


def without_contributed(graph: OnnxGraph) -> None:
    """Replace those operators of `com.microsoft` that ONNX's say as well."""
    nodes: list[Any] = []
    constants = graph.constants()
    for node in graph.model.graph.node:
        if node.domain == _DOMAIN and node.op_type == _GEMM:
            nodes += _gemm(node, graph, constants)
        else:
            nodes += _plain(node) if node.domain == _DOMAIN else (node,)
    replace(graph.model.graph.node, nodes)


def _plain(node: Any) -> Sequence[Any]:
    given = list(node.input)
    if node.op_type in _SAME:
        node.domain = ""
        return (node,)
    if node.op_type in _UNARY and _is_plain(node):
        return _between(node, _UNARY[node.op_type], [given[:3]], given[3:])
    if node.op_type in _BINARY:
        return _between(node, _BINARY[node.op_type], [given[:3], given[3:6]], given[6:])
    if node.op_type == _CONCAT:
        return _between(node, "Concat", [given[n : n + 3] for n in range(2, len(given), 3)], given[:2])
    if node.op_type == _WHERE:
        return _between(node, "Where", [given[1:4], given[4:7]], given[7:], given[:1])
    return (node,)


def _gemm(node: Any, graph: OnnxGraph, constants: Mapping[str, Any]) -> Sequence[Any]:
    """A product of matrices plus a bias, which has the product of the scales; a real without a grid."""
    given = [*node.input, *([""] * (9 - len(node.input)))]
    own = attributes_of(node)
    out, axis = node.output[0], 0 if own.get("transB") else 1
    reals = [f"{out}/a", f"{out}/b"]
    nodes = [
        helper.make_node("DequantizeLinear", _present(given[:3]), [reals[0]], name=reals[0]),
        helper.make_node("DequantizeLinear", _present(given[3:6]), [reals[1]], name=reals[1], axis=axis),
    ]
    if given[6]:
        scale = _bias_scale(node, given, float(own.get("alpha", 1.0)), graph, constants)
        if scale is None:
            return (node,)
        reals.append(f"{out}/c")
        nodes.append(
            helper.make_node("DequantizeLinear", [given[6], scale], reals[2:], name=reals[2], axis=0)
        )
    real = f"{out}/real" if given[7] else out
    nodes.append(helper.make_node("Gemm", reals, [real], name=node.name, **own))
    if given[7]:
        stored = helper.make_node(
            "QuantizeLinear", [real, *_present(given[7:9])], [out], name=f"{out}/stored"
        )
        nodes.append(stored)
    return nodes


def _present(names: Sequence[str]) -> list[str]:
    return [name for name in names if name]


def _bias_scale(
    node: Any, given: Sequence[str], alpha: float, graph: OnnxGraph, constants: Mapping[str, Any]
) -> str | None:
    """The name of the scale of a bias; None where those of its operands are computed."""
    scales = [constants.get(given[index]) for index in (1, 4)]
    if any(scale is None for scale in scales):
        return None
    name = f"{node.output[0]}/c_scale"
    product = array_of(scales[0]).reshape(()) * array_of(scales[1]) * np.float32(alpha)
    graph.add(tensor_of(np.asarray(product, np.float32), name))
    return name


def _is_plain(node: Any) -> bool:
    """Whether its attributes say nothing that ONNX's operator does not know."""
    values = {each.name: each.i for each in node.attribute}
    last = values.get("channels_last", 0)
    return not last and values.get("opset", _FIRST_SOFTMAX) >= _FIRST_SOFTMAX


def _between(
    node: Any,
    operator: str,
    operands: Sequence[Sequence[str]],
    result: Sequence[str],
    before: Sequence[str] = (),
) -> Sequence[Any]:
    """The operator on reals; operands are given with their scale and zero point, so is the result's grid.
    Operands `before` are as they are.
    """
    out = node.output[0]
    reals = [f"{out}/real{number}" for number in range(len(operands))]
    nodes = [
        helper.make_node("DequantizeLinear", list(each), [real], name=real)
        for each, real in zip(operands, reals, strict=True)
    ]
    made = helper.make_node(operator, [*before, *reals], [f"{out}/real"], name=node.name)
    made.attribute.extend(each for each in node.attribute if each.name not in ("channels_last", "opset"))
    quantized = helper.make_node("QuantizeLinear", [f"{out}/real", *result], [out], name=f"{out}/stored")
    return (*nodes, made, quantized)


def declare_outputs(graph: OnnxGraph) -> bool:
    """Declare the outputs of operators that ONNX has no schema of, where the types of their inputs are known.

    True where any was declared.
    """
    kinds, content = graph.types(), graph.model.graph
    found = [
        helper.make_tensor_value_info(name, elements, shape)
        for node in content.node
        if node.domain == _DOMAIN and node.op_type in WITHOUT_SCHEMA
        for name, elements, shape in WITHOUT_SCHEMA[node.op_type](node, kinds)
        if name and kinds.get(name, _OPEN).shape is None
    ]
    stated = {value.name: value for value in (*content.value_info, *content.output)}
    for value in found:
        (stated.get(value.name) or content.value_info.add()).CopyFrom(value)
    return bool(found)


_OPEN = TensorKind(0, None)


def _lstm_outputs(node: Any, kinds: Kinds) -> Iterator[tuple[str, int, Sequence[int]]]:
    x, recurrent = (kinds.get(node.input[index], _OPEN) for index in (0, 2))
    if x.shape is None or recurrent.shape is None or len(x.shape) != 3 or len(recurrent.shape) != 3:
        return
    (steps, batch, _), (directions, hidden, _) = x.shape, recurrent.shape
    shapes = ((steps, directions, batch, hidden), (directions, batch, hidden), (directions, batch, hidden))
    for name, shape in zip(node.output, shapes, strict=False):
        yield name, x.elements, shape


WITHOUT_SCHEMA: Mapping[str, Callable[[Any, Kinds], Iterator[tuple[str, int, Sequence[int]]]]] = {
    "DynamicQuantizeLSTM": _lstm_outputs
}
"""Operators that stay, each with the names, element types and shapes of its outputs."""
