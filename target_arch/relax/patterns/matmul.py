"""Matrix products of two activations: `matmul`, integer and float."""

from typing import Any

from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import MACS_PER_OUTPUT
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Draft, Match, Matcher
from target_arch.relax.patterns.pieces import (
    dequantized,
    input_quantization,
    integer_activation,
    integer_ending,
    output_quantization,
)


def named_matmul() -> Matcher:
    """A product of matrices that the reader of the model stated as such."""
    return named(OperatorKind.MATMUL)


def integer_matmul() -> Matcher:
    """`dequantize, dequantize → matmul → [relu | clip] → quantize`."""
    a, b = dequantized(), dequantized()
    product = is_op("relax.matmul")(a, b)
    ending = integer_ending(product)
    calls = {"a": a, "b": b, "product": product, **ending.calls}
    return Matcher(roots=ending.roots, pattern=ending.pattern, calls=calls, build=_build_integer)


def float_matmul() -> Matcher:
    """`matmul` of two floats that are no constants."""
    product = is_op("relax.matmul")(wildcard(), wildcard())
    return Matcher(roots=("matmul",), pattern=product, calls={"product": product}, build=_build_float)


def _build_integer(match: Match) -> Draft | None:
    grids = [input_quantization(match, name) for name in ("a", "b")]
    out, products = output_quantization(match), _products(match.required("product"))
    if out is None or products is None or match.graph.arithmetic not in OperatorKind.MATMUL.facts.arithmetics:
        return None
    sources = tuple(match.required(name).args[0] for name in ("a", "b"))
    known = {source: grid for source, grid in zip(sources, grids, strict=True) if grid is not None}
    if len(known) != len(set(sources)):
        return None
    return Draft(
        kind=OperatorKind.MATMUL,
        arithmetic=match.graph.arithmetic,
        inputs=sources,
        output=match.root,
        attributes={**products, **integer_activation(match, out)},
        quantizations={**known, match.root: out},
    )


def _build_float(match: Match) -> Draft | None:
    call = match.required("product")
    products = _products(call)
    if products is None or any(
        not match.is_activation(operand) or dtype_of(operand) != "float32" for operand in call.args
    ):
        return None
    return Draft(kind=OperatorKind.MATMUL, inputs=tuple(call.args), output=match.root, attributes=products)


def _products(call: Any) -> dict[str, Attribute] | None:
    """How many products are summed, as an attribute; None where an operand is a vector."""
    a, b = (shape_of(operand) for operand in call.args)
    return None if len(a) < 2 or len(b) < 2 else {MACS_PER_OUTPUT: a[-1]}
