"""Ranges of floats of TIR, as far as their conversion to an integer asks.

C leaves a conversion undefined whose number the type does not hold, and that of what is no number. The floor
of a coordinate, and what was clamped before, need no test of it.

Tests: `tests/relax/c/test_c_printer.py`.
"""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm import ir, tirx

_MONOTONE: Mapping[str, Callable[[float], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "nearbyint": round,
    "trunc": math.trunc,
}
_ROUNDED, _GREATEST = 2.0**-22, 2.0**127
"""How much an operation, and the conversion of its operands, moves a float32 at most; what stays finite."""


@frozen
class Range:
    """Every number from `low` to `high`, and where `strange` what is no number."""

    low: float = -math.inf
    high: float = math.inf
    strange: bool = True

    def joined(self, other: "Range") -> "Range":
        return Range(min(self.low, other.low), max(self.high, other.high), self.strange or other.strange)


def is_within(expr: Any, dtype: str) -> bool:
    """Whether an integer type holds every value of a float, cut to a whole number. Those made of variables of
    loops are coordinates, which are within the extents of a tensor.
    """
    if not _is_data(expr):
        return True
    found, ends = _range(expr), np.iinfo(dtype)
    return not found.strange and found.low >= float(ends.min) and found.high < float(ends.max) + 1


def _is_data(expr: Any) -> bool:
    """True where a value depends on stored data: of variables those of loops are integers."""
    if isinstance(expr, ir.TensorLoad) or (isinstance(expr, ir.Var) and "int" not in str(expr.ty.dtype)):
        return True
    parts = [getattr(expr, name, None) for name in ("a", "b", "value", "body", "true_value", "false_value")]
    children = [*parts, getattr(expr, "condition", None), *getattr(expr, "args", ())]
    return any(isinstance(child, ir.Expr) and _is_data(child) for child in children)


def _range(expr: Any) -> Range:
    found = _RANGES.get(type(expr))
    return Range() if found is None else found(expr)


def _of_constant(expr: Any) -> Range:
    value = float(expr.value)
    return Range() if math.isnan(value) else Range(value, value, strange=False)


def _of_conversion(expr: Any) -> Range:
    dtype = str(expr.value.ty.dtype)
    if "int" not in dtype:
        return Range()
    return Range(float(np.iinfo(dtype).min), float(np.iinfo(dtype).max), strange=False)


def _extremum(a: Range, b: Range, *, greatest: bool) -> Range:
    """Return the range of `a < b ? a : b`, or of `>`: where one of them is no number, `b` is taken."""
    either = max if greatest else min
    best = Range(either(a.low, b.low), either(a.high, b.high), b.strange)
    return best.joined(b) if a.strange or b.strange else best


def _computed(compute: Callable[[float, float], float], a: Range, b: Range) -> Range:
    """Return the range of a result, as much wider as floats may be rounded."""
    ends = (a.low, a.high), (b.low, b.high)
    if a.strange or b.strange or not all(map(math.isfinite, (*ends[0], *ends[1]))):
        return Range()
    corners = [compute(one, other) for one in ends[0] for other in ends[1]]
    rest = max(map(abs, corners)) * _ROUNDED
    low, high = min(corners) - rest, max(corners) + rest
    return Range(low, high, strange=False) if max(-low, high) < _GREATEST else Range()


def _of_call(name: str, args: list[Any]) -> Range:
    if name == "if_then_else":
        return _range(args[1]).joined(_range(args[2]))
    if name == "call_pure_extern":  # of <math.h>, with the suffix of a float
        name, args = str(args[0].value).removesuffix("f"), args[1:]
    rounded, found = _MONOTONE.get(name), _range(args[0]) if args else Range()
    if rounded is None or not math.isfinite(found.low) or not math.isfinite(found.high):
        return Range(strange=True)
    return evolve(found, low=float(rounded(found.low)), high=float(rounded(found.high)))


_RANGES: Mapping[type, Callable[[Any], Range]] = {
    tirx.FloatImm: _of_constant,
    tirx.Cast: _of_conversion,
    tirx.Add: lambda expr: _computed(operator.add, _range(expr.a), _range(expr.b)),
    tirx.Sub: lambda expr: _computed(operator.sub, _range(expr.a), _range(expr.b)),
    tirx.Mul: lambda expr: _computed(operator.mul, _range(expr.a), _range(expr.b)),
    tirx.Min: lambda expr: _extremum(_range(expr.a), _range(expr.b), greatest=False),
    tirx.Max: lambda expr: _extremum(_range(expr.a), _range(expr.b), greatest=True),
    tirx.Select: lambda expr: _range(expr.true_value).joined(_range(expr.false_value)),
    ir.Call: lambda expr: _of_call(str(getattr(expr.op, "name", "")).rpartition(".")[2], list(expr.args)),
}
