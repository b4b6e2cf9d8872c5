"""Products of matrices of 8-bit values with constant ones that stay integers: ONNX's MatMulInteger."""

from typing import Any

import numpy as np
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import DEFINITION_NAME, MACS_PER_OUTPUT
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import Draft, Match, Matcher

_STORED = ("int8", "uint8")


def integer_product() -> Matcher:
    """`astype → [subtract an astype of the zero point] → matmul` by a constant, of which as much is taken."""
    values, zero = is_op("relax.astype")(wildcard()), is_op("relax.astype")(wildcard())
    shifted = is_op("relax.subtract")(values, zero)
    product = is_op("relax.matmul")(shifted | values, wildcard())
    calls = {"values": values, "zero": zero, "shifted": shifted, "product": product}
    return Matcher(roots=("matmul",), pattern=product, calls=calls, build=_build)


def _build(match: Match) -> Draft | None:
    x, weights = match.required("values").args[0], _weights(match, match.required("product").args[1])
    if dtype_of(match.root) != "int32" or dtype_of(x) not in _STORED or not match.is_activation(x):
        return None
    zero = _zero(match)
    if weights is None or zero is None or len(shape_of(x)) < 2:
        return None
    inputs, stated = zero
    attributes: dict[str, Attribute] = {"in_features": weights.shape[0], DEFINITION_NAME: "integer_product"}
    return Draft(
        kind=OperatorKind.PRODUCTS,
        arithmetic=match.graph.arithmetic,
        inputs=(x, *inputs),
        output=match.root,
        constants=(Constant(values=np.ascontiguousarray(weights.T)),),
        attributes={**attributes, **stated, MACS_PER_OUTPUT: weights.shape[0]},
    )


def _zero(match: Match) -> tuple[tuple[Any, ...], dict[str, Attribute]] | None:
    """The zero point of the values: as an input, or as a number; None for several of them."""
    if match.call("shifted") is None:
        return (), {"zero": 0}
    zero = match.required("zero").args[0]
    if dtype_of(zero) not in _STORED or int(np.prod(shape_of(zero), dtype=int)) != 1:
        return None
    if match.is_activation(zero):
        return (zero,), {}
    constant = match.constant(zero)
    return None if constant is None else ((), {"zero": int(constant.values.ravel()[0])})


def _weights(match: Match, expr: Any) -> Any | None:
    """The constant factor [K,N] as int8, None where it is none, or needs more bits."""
    values = _integers(match, expr)
    if values is None or values.ndim != 2 or not ((values >= -128) & (values <= 127)).all():
        return None
    return values.astype(np.int8)


def _integers(match: Match, expr: Any) -> Any | None:
    """A constant of integers, or the difference of two, which the frontend made wider."""
    call = match.graph.call(expr)
    if call is not None and operator_name(call) == "subtract":
        both = [_integers(match, operand) for operand in call.args]
        return None if both[0] is None or both[1] is None else both[0] - both[1]
    known = match.constant(call.args[0] if call is not None and operator_name(call) == "astype" else expr)
    if known is None or known.quantization is not None or known.values.dtype.kind not in "iu":
        return None
    return known.values.astype(np.int64)
