"""Matrix multiplications by constant weights: `dense`, integer and float."""

from typing import Any

import numpy as np
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Draft, Match, Matcher
from target_arch.relax.patterns.pieces import (
    bias_of,
    biased,
    dequantized,
    float_activation,
    float_bias,
    float_constant,
    float_ending,
    input_quantization,
    integer_activation,
    integer_bias,
    integer_ending,
    output_quantization,
)
from target_arch.relax.patterns.weights import stored_weights


def named_dense() -> Matcher:
    """A dense layer that the reader of the model stated as such."""
    return named(OperatorKind.DENSE)


def integer_dense() -> Matcher:
    """`dequantize → matmul by constant → [+ bias] → [relu | clip] → quantize → [clip]`."""
    x = dequantized()
    product = is_op("relax.matmul")(x, wildcard())
    value, added = biased(product)
    ending = integer_ending(value)
    calls = {"x": x, "product": product, "bias": added, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_integer)


def float_dense() -> Matcher:
    """`matmul by constant → [+ bias] → [relu | clip]` on floats."""
    product = is_op("relax.matmul")(wildcard(), wildcard())
    value, added = biased(product)
    ending = float_ending(value, ("add", "matmul"))
    calls = {"product": product, "bias": added, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_float)


def _build_integer(match: Match) -> Draft | None:
    x, out = input_quantization(match, "x"), output_quantization(match)
    author = _weights(match, match.required("product"))
    weights = None if author is None else stored_weights(author)
    if x is None or out is None or weights is None:
        return None
    quantization = weights.quantization
    if quantization is None or quantization.axis not in (None, 0):
        return None
    channels, in_features = weights.values.shape
    bias = bias_of(match, match.call("bias"), channels, 1)
    scales = tuple(float(np.float64(x.scale[0]) * scale) for scale in quantization.scale)
    stored = None if bias is None else integer_bias(bias, channels, scales)
    if stored is None:
        return None
    source = match.required("x").args[0]
    return Draft(
        kind=OperatorKind.DENSE,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        constants=(weights, stored),
        attributes={"in_features": in_features, **integer_activation(match, out)},
        quantizations={source: x, match.root: out},
    )


def _build_float(match: Match) -> Draft | None:
    call = match.required("product")
    weights, activation, source = _weights(match, call), float_activation(match), call.args[0]
    if (
        weights is None
        or activation is None
        or not match.is_activation(source)
        or dtype_of(source) != "float32"
    ):
        return None
    channels, in_features = weights.values.shape
    bias = bias_of(match, match.call("bias"), channels, 1)
    if bias is None:
        return None
    return Draft(
        kind=OperatorKind.DENSE,
        inputs=(source,),
        output=match.root,
        constants=(float_constant(weights), float_bias(bias, channels)),
        attributes={"in_features": in_features, **activation},
    )


def _weights(match: Match, call: Any) -> Constant | None:
    """The second factor as [out, in]; None where it is no constant matrix."""
    found = match.constant(call.args[1])
    if found is None or found.values.ndim != 2 or len(shape_of(call.args[0])) < 2:
        return None
    return found.transposed((1, 0))
