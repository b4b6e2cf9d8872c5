"""Functions of stored 8-bit values as tables, which are computed here: value by value, as the model computes
them in float32 between its dequantize and its quantize.
"""

from typing import Any

import numpy as np
from attrs import define, field
from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Draft, Match, Matcher, single_quantization
from target_arch.relax.patterns.pointwise import Reals, pointwise

STORED = ("int8", "uint8")
"""Element types with so few values that a table has an entry for each."""
_STEPS = 64
"""Operators between dequantize and quantize at most: longer ones are no function of a number that anyone
writes, and walks stay short.
"""


def named_lookup() -> Matcher:
    """A function of stored values whose table the reader of the model computed."""
    return named(OperatorKind.LOOKUP)


def function_of_stored() -> Matcher:
    """`dequantize → functions of elements, with constants that are one number → quantize` of 8-bit values."""
    call = is_op("relax.quantize")(wildcard(), wildcard(), wildcard())
    return Matcher(roots=("quantize",), pattern=call, calls={"call": call}, build=_build)


def _build(match: Match) -> Draft | None:
    call = match.required("call")
    out = single_quantization(match.quantization(call))
    if out is None or dtype_of(match.root) not in STORED:
        return None
    walk = _Walk(match=match, shape=shape_of(match.root))
    results = walk.values(call.args[0])
    if results is None or walk.source is None or walk.grid is None or not walk.visited:
        return None
    table = quantized(results, out, dtype_of(match.root), match.graph.arithmetic)
    return Draft(
        kind=OperatorKind.LOOKUP,
        arithmetic=match.graph.arithmetic,
        inputs=(walk.source,),
        output=match.root,
        constants=(Constant(values=table),),
        attributes={"curve": "each"},
        quantizations={walk.source: walk.grid, match.root: out},
    )


def quantized(reals: Reals, grid: Quantization, dtype: str, arithmetic: Arithmetic) -> Reals:
    """The stored values of float32 numbers, as the operator `quantize` has them; what is no number is stored
    as the least.
    """
    low, high = DTYPE_RANGE[dtype]
    with np.errstate(all="ignore"):
        steps = reals / np.float32(grid.scale[0])
        cut = np.trunc(steps)
        away = cut + np.copysign(np.abs(steps - cut) >= 0.5, steps)
    whole = away if arithmetic is Arithmetic.TFLITE else np.rint(steps)
    placed = np.where(np.isnan(whole), low, whole.astype(np.float64) + grid.zero_point[0])
    return np.clip(placed, low, high).astype(dtype)


@define(kw_only=True, eq=False)
class _Walk:
    """The values of expressions for every stored value of the one tensor that they depend on.

    `source` and `grid` are that tensor and its quantization, once a dequantize of it has been read; `visited`
    are the values of the calls between.
    """

    match: Match
    shape: tuple[int, ...]
    source: Any = None
    grid: Quantization | None = None
    visited: dict[Any, Reals] = field(factory=dict)

    def values(self, expr: Any) -> Reals | None:
        """One value for each stored one; a single value for a constant. None where the expression is no such
        function, or of another tensor as well.
        """
        if not self.match.is_activation(expr):
            return self._constant(expr)
        if expr in self.visited:
            return self.visited[expr]
        call = self.match.graph.call(expr)
        if call is None or shape_of(expr) != self.shape or len(self.visited) >= _STEPS:
            return None
        if operator_name(call) == "dequantize":
            return self._dequantized(call)
        return self._computed(expr, call)

    def _constant(self, expr: Any) -> Reals | None:
        constant = self.match.constant(expr)
        if constant is None or constant.values.size == 0 or constant.values.dtype == np.float64:
            return None
        reals = constant.values if constant.quantization is None else constant.real.astype(np.float32)
        first = reals.ravel()[:1]
        return first if bool((reals == first).all()) else None

    def _dequantized(self, call: Any) -> Reals | None:
        source, grid = call.args[0], single_quantization(self.match.quantization(call))
        if grid is None or dtype_of(source) not in STORED or not self.match.is_activation(source):
            return None
        if self.source is not None and (self.source, self.grid) != (source, grid):
            return None
        self.source, self.grid = source, grid
        low, high = DTYPE_RANGE[dtype_of(source)]
        steps = np.arange(low, high + 1) - grid.zero_point[0]
        return steps.astype(np.float32) * np.float32(grid.scale[0])

    def _computed(self, expr: Any, call: Any) -> Reals | None:
        function = pointwise(operator_name(call), call, dtype_of(expr))
        if function is None:
            return None
        tensors = [each for each in call.args if isinstance(each.ty, relax.TensorType)]
        operands = [self.values(each) for each in tensors]
        if any(operand is None for operand in operands):
            return None
        self.visited[expr] = function(*operands)
        return self.visited[expr]
