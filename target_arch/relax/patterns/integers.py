"""Products of 8-bit values with constants that stay integers: ONNX's MatMulInteger and ConvInteger."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import DEFINITION_NAME, MACS_PER_OUTPUT
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import NHWC, Draft, Match, Matcher
from target_arch.relax.patterns.windows import pair, sides

_STORED = ("int8", "uint8")


def integer_product() -> Matcher:
    """`astype → [subtract an astype of the zero point] → matmul` by a constant, of which as much is taken."""
    return _matcher("matmul", _product)


def integer_convolution() -> Matcher:
    """`astype → [subtract an astype of the zero point] → conv2d` of an image NHWC by constants."""
    return _matcher("nn.conv2d", _convolution)


def _matcher(name: str, build: Callable[[Match], Draft | None]) -> Matcher:
    values, zero = is_op("relax.astype")(wildcard()), is_op("relax.astype")(wildcard())
    shifted = is_op("relax.subtract")(values, zero)
    product = is_op(f"relax.{name}")(shifted | values, wildcard())
    calls = {"values": values, "zero": zero, "shifted": shifted, "product": product}
    return Matcher(roots=(name,), pattern=product, calls=calls, build=build)


def _product(match: Match) -> Draft | None:
    weights = _weights(match, match.required("product").args[1], rank=2)
    if weights is None or len(shape_of(match.required("values").args[0])) < 2:
        return None
    return _draft(match, "integer_product", weights.T, {"in_features": weights.shape[0]})


def _convolution(match: Match) -> Draft | None:
    call = match.required("product")
    attrs = call.attrs
    weights = _weights(match, call.args[1], rank=4)
    if weights is None or (str(attrs.data_layout), str(attrs.kernel_layout)) != (NHWC, "HWIO"):
        return None
    if int(attrs.groups) != 1:
        return None
    windows: dict[str, Attribute] = {
        "strides": pair(attrs.strides),
        "dilation": pair(attrs.dilation),
        "padding": sides(attrs.padding, NHWC),
    }
    return _draft(match, "integer_convolution", weights.transpose(3, 0, 1, 2), windows)


def _draft(match: Match, name: str, weights: Any, attributes: dict[str, Attribute]) -> Draft | None:
    """The operator of this name, whose weights have the outputs first."""
    x, zero = match.required("values").args[0], _zero(match)
    if dtype_of(match.root) != "int32" or dtype_of(x) not in _STORED or not match.is_activation(x):
        return None
    if zero is None:
        return None
    inputs, stated = zero
    named = {**attributes, DEFINITION_NAME: name, **stated, MACS_PER_OUTPUT: prod(weights.shape[1:])}
    return Draft(
        kind=OperatorKind.PRODUCTS,
        arithmetic=match.graph.arithmetic,
        inputs=(x, *inputs),
        output=match.root,
        constants=(Constant(values=np.ascontiguousarray(weights)),),
        attributes=named,
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


def _weights(match: Match, expr: Any, rank: int) -> Any | None:
    """The constant factor of so many dimensions as int8, None where it is none, or needs more bits."""
    values = _integers(match, expr)
    if values is None or values.ndim != rank or not ((values >= -128) & (values <= 127)).all():
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
