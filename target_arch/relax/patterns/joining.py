"""Concatenation of activations, of floats or of stored integers."""

from typing import Any

from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.matcher import Draft, Match, Matcher


def concat() -> Matcher:
    """A concatenation of activations of one element type, alone."""
    call = is_op("relax.concat")(wildcard())
    return Matcher(roots=("concat",), pattern=call, calls={"call": call}, build=_build)


def _build(match: Match) -> Draft | None:
    sources, axis = _operands(match), match.required("call").attrs.axis
    if axis is None or not sources or not all(match.is_activation(source) for source in sources):
        return None
    if any(dtype_of(source) != dtype_of(match.root) for source in sources):
        return None
    return Draft(
        kind=OperatorKind.CONCAT,
        arithmetic=Arithmetic.FLOAT if dtype_of(match.root).startswith("float") else match.graph.arithmetic,
        inputs=sources,
        output=match.root,
        attributes={"axis": int(axis) % len(shape_of(match.root))},
    )


def _operands(match: Match) -> tuple[Any, ...]:
    operands = match.required("call").args[0]
    operands = match.graph.bound.get(operands, operands) if isinstance(operands, relax.Var) else operands
    return tuple(operands.fields) if isinstance(operands, relax.Tuple) else ()
