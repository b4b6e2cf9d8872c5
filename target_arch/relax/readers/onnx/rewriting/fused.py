"""Operators of floats of onnxruntime's own domain become ONNX's, those that its graph optimizer joined become
the ones that they were.

onnxruntime writes them into the files of `SessionOptions.optimized_model_filepath`, at level extended.
Source: onnxruntime's page of contributed operators. Tests: `tests/relax/readers/onnx/test_fused.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper

from target_arch.relax.readers.onnx.rewriting.bodies import Body, replaced_by_bodies
from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph, TensorKind, opset_of

DOMAIN = "com.microsoft"
_NORMALIZED = ("LayerNormalization", "SimplifiedLayerNormalization")
"""Operators of onnxruntime in ONNX's domain. ONNX has the first since this version:"""
_FIRST_LAYER_NORMALIZATION = 17
_AXES_ARE_INPUTS = 18


def own_domain(model: Any) -> None:
    """Give operators of onnxruntime in ONNX's domain its own: ONNX's checker does not know them."""
    versions = opset_of(model)
    for node in model.graph.node:
        early = node.op_type == _NORMALIZED[0] and versions < _FIRST_LAYER_NORMALIZATION
        if node.domain == "" and (early or node.op_type == _NORMALIZED[1]):
            node.domain = DOMAIN
    domains = {each.domain for each in model.opset_import}
    if DOMAIN not in domains and any(node.domain == DOMAIN for node in model.graph.node):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))


def without_fused(graph: OnnxGraph) -> bool:
    """Replace those operators whose first operand has a known type. True where there were any."""
    return replaced_by_bodies(graph, DOMAIN, _BODIES)


def _gelu(body: Body, x: str) -> str:
    """Half of x, times one plus the error function of x over the square root of two."""
    error = body.add("Erf", body.add("Mul", x, body.number(0.5**0.5)))
    half = body.add("Mul", x, body.number(0.5))
    return body.add("Mul", half, body.add("Add", error, body.number(1.0)))


def _gelu_whole(body: Body) -> bool:
    return body.finish(_gelu(body, body.plus(body.given(0), 1)))


def _quick_gelu(body: Body) -> bool:
    x, alpha = body.given(0), float(body.attributes.get("alpha", 1.702))
    scaled = x if alpha == 1.0 else body.add("Mul", x, body.number(alpha))
    return body.finish(body.add("Mul", x, body.add("Sigmoid", scaled)))


def _fast_gelu(body: Body) -> bool:
    x = body.plus(body.given(0), 1)
    cube = body.add("Mul", body.add("Mul", x, x), x)
    inner = body.add("Add", x, body.add("Mul", cube, body.number(0.044715)))
    bent = body.add("Tanh", body.add("Mul", inner, body.number((2 / np.pi) ** 0.5)))
    half = body.add("Mul", x, body.number(0.5))
    return body.finish(body.add("Mul", half, body.add("Add", bent, body.number(1.0))))


_ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "": (),
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "HardSwish": (),
}
"""Activations that are joined with an operator before them, and the attributes that their parameters are."""


def _activated(body: Body, x: str, activation: str, parameters: Sequence[float]) -> bool:
    if activation == "Clip" and len(parameters) == 2:
        return body.finish(body.add("Clip", x, *map(body.number, parameters)))
    if activation not in _ACTIVATIONS or len(parameters) < len(_ACTIVATIONS[activation]):
        return False
    names: dict[str, Any] = dict(zip(_ACTIVATIONS[activation], map(float, parameters), strict=False))
    return body.finish(body.add(activation, x, **names) if activation else x)


def _named(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _fused_conv(body: Body) -> bool:
    own = body.attributes
    activation = _named(own.pop("activation", ""))
    parameters = own.pop("activation_params", ())
    inputs = [body.given(index) for index in range(3 if body.given(2) else 2)]
    return _activated(body, body.plus(body.add("Conv", *inputs, **own), 3), activation, parameters)


def _fused_gemm(body: Body) -> bool:
    own = body.attributes
    activation = _named(own.pop("activation", ""))
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    parameters = [own.pop(name) for name in names if name in own]
    product = body.add("Gemm", *filter(None, map(body.given, range(3))), **own)
    return _activated(body, product, activation, parameters)


def _fused_matmul(body: Body) -> bool:
    own = body.attributes
    other = body.types.get(body.given(1))
    if other is None or other.shape is None or own.get("transBatchA") or own.get("transBatchB"):
        return False
    sides = [
        _transposed(body, body.given(index), kind) if own.get(name) else body.given(index)
        for index, (name, kind) in enumerate((("transA", body.kind), ("transB", other)))
    ]
    product, alpha = body.add("MatMul", *sides), float(own.get("alpha", 1.0))
    return body.finish(product if alpha == 1.0 else body.add("Mul", product, body.number(alpha)))


def _transposed(body: Body, x: str, kind: TensorKind) -> str:
    rank = len(kind.shape or ())
    if rank < 2:
        return x
    return body.add("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])


def _normalization(body: Body) -> bool:
    return not any(map(body.result, (1, 2))) and body.finish(_normalized(body, body.given(0), 1, 2))


def _rms_normalization(body: Body) -> bool:
    return not any(map(body.result, (1, 2))) and body.finish(_rms(body, body.given(0), 1))


def _summed(body: Body, bias: int) -> str:
    """The input and what skips, and a bias; the sum is a result, too."""
    both = body.plus(body.add("Add", body.given(0), body.given(1)), bias)
    if body.result(3):
        body.add("Identity", both, out=body.result(3))
    return both


def _skip_normalization(body: Body) -> bool:
    return not any(map(body.result, (1, 2))) and body.finish(_normalized(body, _summed(body, 4), 2, 3))


def _skip_rms_normalization(body: Body) -> bool:
    return not any(map(body.result, (1, 2))) and body.finish(_rms(body, _summed(body, 3), 2))


def _normalized(body: Body, x: str, scale: int, bias: int) -> str:
    """A layer normalization of a value by operands."""
    own, axis = body.attributes, int(body.attributes.get("axis", -1))
    epsilon = float(own.get("epsilon", 1e-5))
    if body.opset >= _FIRST_LAYER_NORMALIZATION:
        operands = filter(None, (body.given(scale), body.given(bias)))
        return body.add("LayerNormalization", x, *operands, axis=axis, epsilon=epsilon)
    centred = body.add("Sub", x, _mean(body, x, axis))
    spread = body.add("Add", _mean(body, body.add("Mul", centred, centred), axis), body.number(epsilon))
    result = body.add("Mul", body.add("Div", centred, body.add("Sqrt", spread)), body.given(scale))
    return body.plus(result, bias)


def _rms(body: Body, x: str, scale: int) -> str:
    """A value over the root of the mean of its squares, times an operand."""
    own, axis = body.attributes, int(body.attributes.get("axis", -1))
    squares = _mean(body, body.add("Mul", x, x), axis)
    spread = body.add("Add", squares, body.number(float(own.get("epsilon", 1e-5))))
    return body.add("Mul", body.add("Div", x, body.add("Sqrt", spread)), body.given(scale))


def _mean(body: Body, x: str, axis: int) -> str:
    """The mean along all dimensions from one on."""
    rank = len(body.kind.shape or ())
    axes = list(range(axis % max(rank, 1), rank))
    if body.opset >= _AXES_ARE_INPUTS:
        return body.add("ReduceMean", x, body.constant(np.array(axes, np.int64)), keepdims=1)
    return body.add("ReduceMean", x, axes=axes, keepdims=1)


def _scaled_product(body: Body, stored: Sequence[str], scales: tuple[str, str], bias: int) -> bool:
    """A product of stored values (with their zero points) as reals."""
    product = body.add("Cast", body.add("MatMulInteger", *stored), to=1)
    return body.finish(body.plus(body.add("Mul", product, body.add("Mul", *scales)), bias))


def _integer_product(body: Body) -> bool:
    zeros = [body.given(4), body.given(5)]
    stored = [body.given(0), body.given(1), *(zeros if any(zeros) else ())]
    return _scaled_product(body, stored, (body.given(2), body.given(3)), 6)


def _dynamic_product(body: Body) -> bool:
    stored, scale, zero = body.add_several("DynamicQuantizeLinear", [body.given(0)], 3)
    zeros = (zero, body.given(3)) if body.given(3) else (zero,)
    return _scaled_product(body, [stored, body.given(1), *zeros], (scale, body.given(2)), 4)


_BODIES: Mapping[str, Callable[[Body], bool]] = {
    "BiasGelu": _gelu_whole,
    "DynamicQuantizeMatMul": _dynamic_product,
    "FastGelu": _fast_gelu,
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _fused_matmul,
    "Gelu": _gelu_whole,
    "LayerNormalization": _normalization,
    "MatMulIntegerToFloat": _integer_product,
    "QuickGelu": _quick_gelu,
    "SimplifiedLayerNormalization": _rms_normalization,
    "SkipLayerNormalization": _skip_normalization,
    "SkipSimplifiedLayerNormalization": _skip_rms_normalization,
}
"""What writes the operators in place of one; False where it cannot."""
