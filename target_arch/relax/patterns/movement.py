"""Softmax, and operators that only move or rename elements: reshape and transpose."""

from typing import Any

from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import NCHW, Draft, Match, Matcher
from target_arch.relax.patterns.pieces import between, dequantized, input_quantization, output_quantization

_RESHAPES = ("reshape", "squeeze", "expand_dims", "flatten")


def named_softmax() -> Matcher:
    """A softmax of int16 values whose tables the reader of the model computed."""
    return named(OperatorKind.SOFTMAX)


def integer_softmax() -> Matcher:
    """`dequantize → [multiply by a constant] → softmax → quantize`."""
    x = dequantized()
    scaled = is_op("relax.multiply")(x, wildcard())
    call = is_op("relax.nn.softmax")(scaled | x)
    return between(call, {"x": x, "scaled": scaled, "call": call}, _build_integer_softmax)


def float_softmax() -> Matcher:
    """`softmax` on floats."""
    call = is_op("relax.nn.softmax")(wildcard())
    return Matcher(roots=("nn.softmax",), pattern=call, calls={"call": call}, build=_build_float_softmax)


def reshape() -> Matcher:
    """A reshape, squeeze, expand_dims or flatten, alone."""
    call = _any_reshape(wildcard())
    return Matcher(roots=_RESHAPES, pattern=call, calls={"call": call}, build=_build_move)


def transpose() -> Matcher:
    """A permutation of dimensions, alone."""
    call = is_op("relax.permute_dims")(wildcard())
    return Matcher(roots=("permute_dims",), pattern=call, calls={"call": call}, build=_build_move)


def _any_reshape(value: Any) -> Any:
    plain = is_op("relax.squeeze")(value) | is_op("relax.expand_dims")(value) | is_op("relax.flatten")(value)
    return is_op("relax.reshape")(value, wildcard()) | plain


def _softmax_place(match: Match, beta: float = 1.0) -> tuple[dict[str, Attribute], str | None] | None:
    """Attributes and layout of a softmax along the last axis, once images are NHWC; None for other axes."""
    call = match.required("call")
    rank = len(shape_of(call))
    axis = int(call.attrs.axis) % rank
    attributes: dict[str, Attribute] = {"axis": -1, "beta": beta}
    if axis == rank - 1:
        return attributes, None
    return (attributes, NCHW) if (rank, axis) == (4, 1) else None


def _beta(match: Match) -> float | None:
    """The factor of an integer softmax's input; None for another than the one number that TFLite's has."""
    scaled = match.call("scaled")
    if scaled is None:
        return 1.0
    factor = match.constant(scaled.args[1])
    if match.graph.arithmetic is not Arithmetic.TFLITE or factor is None or factor.values.size != 1:
        return None
    return float(factor.real.item())


def _build_integer_softmax(match: Match) -> Draft | None:
    x, out, beta = input_quantization(match, "x"), output_quantization(match), _beta(match)
    place = None if beta is None else _softmax_place(match, beta)
    if x is None or out is None or place is None:
        return None
    source = match.required("x").args[0]
    return Draft(
        kind=OperatorKind.SOFTMAX,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        attributes=place[0],
        layout=place[1],
        quantizations={source: x, match.root: out},
    )


def _build_float_softmax(match: Match) -> Draft | None:
    place, source = _softmax_place(match), match.required("call").args[0]
    if place is None or not match.is_activation(source) or dtype_of(source) != "float32":
        return None
    return Draft(
        kind=OperatorKind.SOFTMAX, inputs=(source,), output=match.root, attributes=place[0], layout=place[1]
    )


def _build_move(match: Match) -> Draft | None:
    call = match.required("call")
    source = call.args[0]
    if not match.is_activation(source):
        return None
    if operator_name(call) != "permute_dims":
        return Draft(
            kind=OperatorKind.RESHAPE, arithmetic=_arithmetic(match), inputs=(source,), output=match.root
        )
    rank = len(shape_of(source))
    axes = tuple(int(axis) % rank for axis in call.attrs.axes or range(rank)[::-1])
    return Draft(
        kind=OperatorKind.TRANSPOSE,
        arithmetic=_arithmetic(match),
        inputs=(source,),
        output=match.root,
        attributes={"axes": axes},
    )


def _arithmetic(match: Match) -> Arithmetic:
    return Arithmetic.FLOAT if dtype_of(match.root).startswith("float") else match.graph.arithmetic
