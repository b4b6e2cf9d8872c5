"""Concatenation of activations: on floats or stored integers alone, or between dequantize and quantize of one
scale.
"""

from typing import Any

from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.matcher import Draft, Match, Matcher, single_quantization
from target_arch.relax.patterns.pieces import between, output_quantization


def concat() -> Matcher:
    """A concatenation of activations of one element type, alone."""
    call = is_op("relax.concat")(wildcard())
    return Matcher(roots=("concat",), pattern=call, calls={"call": call}, build=_build)


def quantized_concat() -> Matcher:
    """`dequantize of each → concat → quantize`, all with equal parameters: the integers are the same."""
    call = is_op("relax.concat")(wildcard())
    return between(call, {"call": call}, _build_quantized)


def _build(match: Match) -> Draft | None:
    return _joined(match, _operands(match), {})


def _build_quantized(match: Match) -> Draft | None:
    out = output_quantization(match)
    sources = []
    for operand in _operands(match):
        call = match.graph.call(operand)
        if out is None or call is None or str(call.op.name) != "relax.dequantize":
            return None
        if single_quantization(match.quantization(call)) != out:
            return None
        sources.append(call.args[0])
    known = dict.fromkeys((*sources, match.root), out) if out is not None else {}
    return _joined(match, tuple(sources), known)


def _operands(match: Match) -> tuple[Any, ...]:
    operands = match.required("call").args[0]
    operands = match.graph.bound.get(operands, operands) if isinstance(operands, relax.Var) else operands
    return tuple(operands.fields) if isinstance(operands, relax.Tuple) else ()


def _joined(match: Match, sources: tuple[Any, ...], known: dict[Any, Quantization]) -> Draft | None:
    if not sources or not all(match.is_activation(source) for source in sources):
        return None
    if any(dtype_of(source) != dtype_of(match.root) for source in sources):
        return None
    axis = match.required("call").attrs.axis
    if axis is None:
        return None
    return Draft(
        kind=OperatorKind.CONCAT,
        arithmetic=Arithmetic.FLOAT if dtype_of(match.root).startswith("float") else match.graph.arithmetic,
        inputs=sources,
        output=match.root,
        attributes={"axis": int(axis) % len(shape_of(match.root))},
        quantizations=known,
    )
