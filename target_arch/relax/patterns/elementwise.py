"""Operators that work element by element: add, mul, sub, relu, and the changes of representation."""

from collections.abc import Callable
from typing import Any

from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.kinds import OperatorKind, kind_of
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import NCHW, NHWC, Draft, Match, Matcher, single_quantization
from target_arch.relax.patterns.pieces import (
    INTEGER_ACTIVATIONS,
    RELU,
    dequantized,
    float_activation,
    float_constant,
    float_ending,
    input_quantization,
    integer_activation,
    integer_ending,
    output_quantization,
    takes_stored,
)

_RELAX_NAME = {
    OperatorKind.ADD: "add",
    OperatorKind.MUL: "multiply",
    OperatorKind.SUB: "subtract",
}


def integer_add() -> Matcher:
    """`dequantize, dequantize → add → [relu | clip] → quantize`; one side may be a constant."""
    return _integer_binary(OperatorKind.ADD)


def integer_mul() -> Matcher:
    """`dequantize, dequantize → multiply → [relu | clip] → quantize`; one side may be a constant."""
    return _integer_binary(OperatorKind.MUL)


def integer_sub() -> Matcher:
    """`dequantize, dequantize → subtract → [relu | clip] → quantize`; one side may be a constant."""
    return _integer_binary(OperatorKind.SUB)


def float_add() -> Matcher:
    """`add → [relu | clip]` on floats; one side may be a constant."""
    return _float_binary(OperatorKind.ADD)


def float_mul() -> Matcher:
    """`multiply → [relu | clip]` on floats; one side may be a constant."""
    return _float_binary(OperatorKind.MUL)


def float_sub() -> Matcher:
    """`subtract → [relu | clip]` on floats; one side may be a constant."""
    return _float_binary(OperatorKind.SUB)


def integer_relu() -> Matcher:
    """`dequantize → relu | clip → quantize`."""
    return _integer_unary(_is_clamped)


def requantize() -> Matcher:
    """`dequantize → quantize`."""
    return _integer_unary(lambda match: not _is_clamped(match))


def float_relu() -> Matcher:
    """`relu`, or a clip to [0, 6], on floats."""
    relu, clip = (
        is_op("relax.nn.relu")(wildcard()),
        is_op("relax.clip")(wildcard(), wildcard(), wildcard()),
    )
    return Matcher(
        roots=("nn.relu", "clip"),
        pattern=relu | clip,
        calls={RELU: relu, "clip": clip},
        build=_build_float_relu,
    )


def quantize() -> Matcher:
    """A `quantize` of a float activation, alone."""
    call = is_op("relax.quantize")(wildcard(), wildcard(), wildcard())
    return Matcher(roots=("quantize",), pattern=call, calls={"call": call}, build=_build_conversion)


def dequantize() -> Matcher:
    """A `dequantize` of an activation, alone."""
    call = dequantized()
    return Matcher(roots=("dequantize",), pattern=call, calls={"call": call}, build=_build_conversion)


def _integer_binary(kind: OperatorKind) -> Matcher:
    operation = is_op(f"relax.{_RELAX_NAME[kind]}")(wildcard(), wildcard())
    ending = integer_ending(operation)
    build = _binary_builder(kind, _build_integer_binary)
    calls = {"operation": operation, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=build)


def _float_binary(kind: OperatorKind) -> Matcher:
    operation = is_op(f"relax.{_RELAX_NAME[kind]}")(wildcard(), wildcard())
    ending = float_ending(operation, (_RELAX_NAME[kind],))
    build = _binary_builder(kind, _build_float_binary)
    calls = {"operation": operation, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=build)


_BinaryBuilder = Callable[[Match, OperatorKind, tuple[Any, ...]], Draft | None]


def _binary_builder(kind: OperatorKind, build: _BinaryBuilder) -> Callable[[Match], Draft | None]:
    def built(match: Match) -> Draft | None:
        call = match.required("operation")
        operands = _ordered(match, kind, tuple(call.args), shape_of(call))
        return None if operands is None else build(match, kind, operands)

    return built


def _ordered(
    match: Match, kind: OperatorKind, operands: tuple[Any, ...], shape: tuple[int, ...]
) -> tuple[Any, ...] | None:
    """The operands with one first that is an activation of the result's shape; None where that cannot be."""
    for first, second in (operands, operands[::-1])[: 1 if kind is OperatorKind.SUB else 2]:
        if match.is_activation(first) and shape_of(first) == shape:
            return first, second
    return None


def _build_integer_binary(match: Match, kind: OperatorKind, operands: tuple[Any, ...]) -> Draft | None:
    out = output_quantization(match)
    sides = [_integer_side(match, operand) for operand in operands]
    if out is None or any(side is None for side in sides):
        return None
    known = [side for side in sides if side is not None]
    inputs = tuple(side for side, _ in known if not isinstance(side, Constant))
    constants = tuple(side for side, _ in known if isinstance(side, Constant))
    layout = _broadcast_layout(inputs)
    if layout == "":
        return None
    quantizations = {side: q for side, q in known if not isinstance(side, Constant)}
    return Draft(
        kind=kind,
        arithmetic=match.graph.arithmetic,
        inputs=inputs,
        output=match.root,
        constants=constants,
        attributes=integer_activation(match, out),
        layout=layout,
        quantizations={**quantizations, match.root: out},
    )


def _integer_side(match: Match, operand: Any) -> tuple[Any, Quantization] | None:
    """The source of a dequantized operand: an integer variable or constant, with its quantization."""
    constant = match.constant(operand)
    if constant is not None:
        quantization = single_quantization(constant.quantization)
        taken = takes_stored(match, str(constant.values.dtype), dtype_of(match.root))
        return (constant, quantization) if quantization is not None and taken else None
    call = match.graph.call(operand)
    if call is None or getattr(call.op, "name", "") != "relax.dequantize":
        return None
    quantization = single_quantization(match.quantization(call))
    source = call.args[0]
    if quantization is None or not takes_stored(match, dtype_of(source), dtype_of(match.root)):
        return None
    return source, quantization


def _build_float_binary(match: Match, kind: OperatorKind, operands: tuple[Any, ...]) -> Draft | None:
    activation = float_activation(match)
    if activation is None or dtype_of(operands[0]) != "float32":
        return None
    inputs = tuple(operand for operand in operands if match.is_activation(operand))
    constants = tuple(match.constant(operand) for operand in operands if not match.is_activation(operand))
    layout = _broadcast_layout(inputs)
    known = tuple(float_constant(constant) for constant in constants if constant is not None)
    if layout == "" or len(known) != len(constants):
        return None
    return Draft(
        kind=kind, inputs=inputs, output=match.root, constants=known, attributes=activation, layout=layout
    )


def _broadcast_layout(inputs: tuple[Any, ...]) -> str | None:
    if len(inputs) < 2:
        return None
    return broadcast_layout(*(shape_of(each) for each in inputs))


def broadcast_layout(shape: tuple[int, ...], other: tuple[int, ...]) -> str | None:
    """None for equal shapes; the layout whose last axis the second operand varies along; empty for other
    broadcasts.
    """
    if shape == other:
        return None
    if len(shape) != 4 or len(other) != 4:
        return ""
    for layout in (NHWC, NCHW):
        at = layout.index("C")
        if other == tuple(extent if index == at else 1 for index, extent in enumerate(shape)):
            return layout
    return ""


def _is_clamped(match: Match) -> bool:
    return any(match.call(name) is not None for name in (RELU, "clip", "clamp"))


def _integer_unary(wanted: Callable[[Match], bool]) -> Matcher:
    x = dequantized()
    ending = integer_ending(x)

    def build(match: Match) -> Draft | None:
        return _build_integer_unary(match) if wanted(match) else None

    return Matcher(roots=ending.roots, pattern=ending.pattern, calls={"x": x, **ending.calls}, build=build)


def _build_integer_unary(match: Match) -> Draft | None:
    x, out = input_quantization(match, "x"), output_quantization(match)
    if x is None or out is None:
        return None
    source = match.required("x").args[0]
    clamped = _is_clamped(match)
    return Draft(
        kind=OperatorKind.RELU if clamped else OperatorKind.REQUANTIZE,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        attributes=integer_activation(match, out) if clamped else {},
        quantizations={source: x, match.root: out},
    )


def _build_float_relu(match: Match) -> Draft | None:
    activation = float_activation(match)
    relu = match.call(RELU)
    source = (match.required("clip") if relu is None else relu).args[0]
    if activation is None or activation["activation"] == "none" or dtype_of(source) != "float32":
        return None
    return Draft(kind=OperatorKind.RELU, inputs=(source,), output=match.root, attributes=activation)


def _build_conversion(match: Match) -> Draft | None:
    """A quantize or dequantize that no larger composite took."""
    call = match.required("call")
    quantization = single_quantization(match.quantization(call))
    source = call.args[0]
    kind = kind_of(str(call.op.name).removeprefix("relax."))
    integer, real = (match.root, source) if kind is OperatorKind.QUANTIZE else (source, match.root)
    if quantization is None or dtype_of(integer) not in INTEGER_ACTIVATIONS or dtype_of(real) != "float32":
        return None
    if not isinstance(source, relax.Var) or not match.is_activation(source):
        return None
    attributes: dict[str, Attribute] = {}
    return Draft(
        kind=kind,
        arithmetic=match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        attributes=attributes,
        quantizations={integer: quantization},
    )
