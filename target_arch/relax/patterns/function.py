"""Functions of one number, applied element by element: between dequantize and quantize, or on floats."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from tvm.relax.dpl import wildcard

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.patterns.matcher import Draft, Match, Matcher
from target_arch.relax.patterns.pieces import between, dequantized, input_quantization, output_quantization

STORED = ("int8", "uint8")
"""Element types with so few values that a table has an entry for each."""
FIRST = "first"


@frozen(kw_only=True, eq=False)
class Expression:
    """How a function is written in Relax.

    `of(x)` gives the pattern of its value, and its calls by name: `FIRST` is one whose first argument is x.
    `roots` are the Relax operators that the value may end in. `fits` checks properties that the pattern
    leaves open, such as the values of constants.
    """

    of: Callable[[Any], tuple[Any, Mapping[str, Any]]]
    roots: tuple[str, ...]
    fits: Callable[[Match], bool]


def stored_function(kind: OperatorKind, expression: Expression) -> Matcher:
    """`dequantize → function → quantize` of 8-bit values, in the arithmetics of the kind."""
    x = dequantized()
    value, calls = expression.of(x)

    def build(match: Match) -> Draft | None:
        given, out = input_quantization(match, "x"), output_quantization(match)
        source = match.required("x").args[0]
        if given is None or out is None or not expression.fits(match):
            return None
        if match.graph.arithmetic not in kind.facts.arithmetics:
            return None
        if dtype_of(source) not in STORED or dtype_of(match.root) != dtype_of(source):
            return None
        return Draft(
            kind=kind,
            arithmetic=match.graph.arithmetic,
            inputs=(source,),
            output=match.root,
            quantizations={source: given, match.root: out},
        )

    return between(value, {"x": x, **calls}, build)


def float_function(kind: OperatorKind, expression: Expression) -> Matcher:
    """The function of float32 values."""
    value, calls = expression.of(wildcard())

    def build(match: Match) -> Draft | None:
        source = match.required(FIRST).args[0]
        if not match.is_activation(source) or dtype_of(source) != "float32" or not expression.fits(match):
            return None
        return Draft(kind=kind, inputs=(source,), output=match.root)

    return Matcher(roots=expression.roots, pattern=value, calls=calls, build=build)
