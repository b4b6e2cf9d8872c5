"""Functions of one float, applied element by element."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from tvm.relax.dpl import wildcard

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.patterns.matcher import Draft, Match, Matcher

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


def float_function(kind: OperatorKind, expression: Expression) -> Matcher:
    """The function of float32 values."""
    value, calls = expression.of(wildcard())

    def build(match: Match) -> Draft | None:
        source = match.required(FIRST).args[0]
        if not match.is_activation(source) or dtype_of(source) != "float32" or not expression.fits(match):
            return None
        return Draft(kind=kind, inputs=(source,), output=match.root)

    return Matcher(roots=expression.roots, pattern=value, calls=calls, build=build)
