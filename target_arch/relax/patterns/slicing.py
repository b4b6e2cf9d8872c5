"""Slices: `strided_slice` with fixed bounds, and those that a reader named."""

from collections.abc import Sequence
from typing import Any

from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Draft, Match, Matcher

_ROOT = "strided_slice"


def named_slice() -> Matcher:
    """A slice that the reader of the model named."""
    return named(OperatorKind.SLICE)


def fixed_slice() -> Matcher:
    """A `strided_slice` whose bounds are numbers, alone."""
    call = is_op(f"relax.{_ROOT}")(wildcard(), varg_default_wildcard=True)
    return Matcher(roots=(_ROOT,), pattern=call, calls={"call": call}, build=_build)


def _build(match: Match) -> Draft | None:
    call = match.required("call")
    places, source = _places(call), call.args[0]
    if places is None or not match.is_activation(source):
        return None
    begin, step = places
    real = dtype_of(match.root).startswith("float")
    return Draft(
        kind=OperatorKind.SLICE,
        arithmetic=Arithmetic.FLOAT if real else match.graph.arithmetic,
        inputs=(source,),
        output=match.root,
        attributes={"begin": begin, "step": step},
    )


def _places(call: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The first place and the step along every dimension; None where a bound is no number."""
    shape = shape_of(call.args[0])
    axes, first, _, *steps = (_numbers(bounds) for bounds in call.args[1:])
    by_axis = steps[0] if steps else (1,) * len(axes or ())
    if axes is None or first is None or by_axis is None:
        return None
    begin, step = [0] * len(shape), [1] * len(shape)
    for axis, start, by in zip(axes, first, by_axis, strict=True):
        extent = shape[axis]
        least, most = (0, extent) if by > 0 else (-1, extent - 1)
        begin[axis] = min(max(start + extent if start < 0 else start, least), most)
        step[axis] = by
    return tuple(begin), tuple(step)


def _numbers(expr: Any) -> Sequence[int] | None:
    values = [getattr(field, "value", None) for field in getattr(expr, "fields", ())]
    return None if None in values else tuple(int(value) for value in values if value is not None)
