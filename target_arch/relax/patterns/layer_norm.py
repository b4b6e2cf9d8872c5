"""Layers of normalization: a call of Relax, or the operators that exporters write one with.

Tests: `tests/relax/patterns/test_layer_norm.py`.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from attrs import frozen
from tvm.ir import Op
from tvm.relax.dpl import wildcard

from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import Draft, Match, Matcher
from target_arch.relax.patterns.pieces import float_constant

_CALL, _SUM = "relax.nn.layer_norm", "relax.add"
_PRODUCT, _QUOTIENT = "relax.multiply", "relax.divide"
_ROOTS = tuple(name.removeprefix("relax.") for name in (_CALL, _SUM, _PRODUCT, _QUOTIENT))


@frozen(kw_only=True, eq=False)
class _Layer:
    """A normalization of `x` along its last dimensions, which have `length` elements."""

    x: Any
    length: int
    epsilon: float
    scale: Constant | None = None
    offset: Constant | None = None


def float_layer_norm() -> Matcher:
    """`layer_norm` on floats, or `(x - mean) * rsqrt(variance + epsilon) → [* scale] → [+ offset]`."""
    return Matcher(roots=_ROOTS, pattern=wildcard(), calls={}, build=_build)


def _build(match: Match) -> Draft | None:
    if dtype_of(match.root) != "float32":
        return None
    layer = _written(match) if _call(match, match.root, _CALL) is None else _called(match)
    if layer is None or dtype_of(layer.x) != "float32" or not match.is_activation(layer.x):
        return None
    if shape_of(layer.x) != shape_of(match.root):
        return None
    factors = _spread(layer.scale, layer, 1.0), _spread(layer.offset, layer, 0.0)
    constants = tuple(factor for factor in factors if factor is not None)
    if len(constants) < len(factors):
        return None
    return Draft(
        kind=OperatorKind.NORMALIZE,
        inputs=(layer.x,),
        output=match.root,
        constants=constants,
        attributes={DEFINITION_NAME: "layer_norm", "length": layer.length, "epsilon": layer.epsilon},
    )


def _called(match: Match) -> _Layer | None:
    x, scale, offset, *_ = (call := match.graph.bound[match.root]).args
    length = _length(shape_of(x), call.attrs.axes)
    known = match.constant(scale), match.constant(offset)
    if length is None or None in known:
        return None
    return _Layer(x=x, length=length, epsilon=float(call.attrs.epsilon), scale=known[0], offset=known[1])


def _written(match: Match) -> _Layer | None:
    """The layer that ends here: with its scale and offset, where these follow."""
    value, offset = _with_constant(match, match.root, _SUM)
    value, scale = _with_constant(match, value, _PRODUCT)
    layer = _apart_and_scaled(match, value) or _scaled_and_moved(match, value)
    if layer is None:
        return None
    return _Layer(x=layer.x, length=layer.length, epsilon=layer.epsilon, scale=scale, offset=offset)


def _with_constant(match: Match, value: Any, name: str) -> tuple[Any, Constant | None]:
    """The other operand of an operator with one constant, and that; the value itself where it is none."""
    for other, operand in _operands(match, value, name):
        constant = match.constant(operand)
        if constant is not None and match.is_activation(other):
            return other, constant
    return value, None


def _apart_and_scaled(match: Match, value: Any) -> _Layer | None:
    """`(x - mean) * rsqrt(…)` and `(x - mean) / sqrt(…)`."""
    quotients = _operands(match, value, _QUOTIENT)[:1]
    ways = [(*pair, "relax.sqrt") for pair in quotients]
    ways += [(*pair, "relax.rsqrt") for pair in _operands(match, value, _PRODUCT)]
    for apart, root, function in ways:
        layer = _variance(match, root, function)
        if layer is not None and _is_apart(match, apart, layer) and _are_of_rows((root,), layer):
            return layer
    return None


def _scaled_and_moved(match: Match, value: Any) -> _Layer | None:
    """`x * inverse + (0 - mean * inverse)`, as litert-torch writes it."""
    for product, rest in _operands(match, value, _SUM):
        for x, inverse in _operands(match, product, _PRODUCT):
            layer = _variance(match, _unshaped(match, inverse), "relax.rsqrt")
            if layer is None or not x.same_as(layer.x) or not _are_of_rows((inverse, rest), layer):
                continue
            for zero, moved in _operands(match, _unshaped(match, rest), "relax.subtract")[:1]:
                constant = match.constant(zero)
                if constant is not None and not constant.real.any() and _is_moved(match, moved, inverse, x):
                    return layer
    return None


def _is_moved(match: Match, moved: Any, inverse: Any, x: Any) -> bool:
    return any(
        factor.same_as(_unshaped(match, inverse))
        and _mean(match, mean, x) is not None
        and shape_of(mean) == shape_of(factor)
        for mean, factor in _operands(match, moved, _PRODUCT)
    )


def _are_of_rows(values: Sequence[Any], layer: _Layer) -> bool:
    """Return whether values have one element for each row, in the dimensions of `x`."""
    shape = shape_of(layer.x)
    first = _first(shape, layer.length)
    return all(shape_of(value) == (*shape[:first], *(1,) * (len(shape) - first)) for value in values)


def _first(shape: tuple[int, ...], length: int) -> int:
    """Return the first dimension of a row of so many elements."""
    return next(axis for axis in range(len(shape)) if shape[axis] > 1 and prod(shape[axis:]) == length)


def _variance(match: Match, root: Any, function: str) -> _Layer | None:
    """The layer whose variance is under a root: `function(mean((x - mean)**2) + epsilon)`."""
    call = _call(match, root, function)
    if call is None:
        return None
    mean, epsilon = _with_constant(match, call.args[0], _SUM)
    if epsilon is None or epsilon.values.size < 1 or np.ptp(epsilon.real) != 0:
        return None
    squares = _call(match, _unshaped(match, mean), "relax.mean")
    apart = None if squares is None else _squared(match, squares.args[0])
    subtracted = None if apart is None else _call(match, apart, "relax.subtract")
    length = _mean(match, mean, None)
    if subtracted is None or length is None or shape_of(mean) != shape_of(call.args[0]):
        return None
    layer = _Layer(x=subtracted.args[0], length=length, epsilon=float(epsilon.real.ravel()[0]))
    return layer if _is_apart(match, apart, layer) else None


def _squared(match: Match, value: Any) -> Any | None:
    """Return the value that one is the square of, None where it is no square."""
    power = _call(match, value, "relax.power")
    if power is not None:
        exponent = match.constant(power.args[1])
        return power.args[0] if exponent is not None and (exponent.real == 2).all() else None
    square = _call(match, value, "relax.square")
    if square is not None:
        return square.args[0]
    pairs = _operands(match, value, _PRODUCT)
    return pairs[0][0] if pairs and pairs[0][0].same_as(pairs[0][1]) else None


def _is_apart(match: Match, value: Any, layer: _Layer) -> bool:
    """Return whether a value is `x - mean(x)`, of each row its own mean."""
    call = _call(match, value, "relax.subtract")
    if call is None or not call.args[0].same_as(layer.x):
        return False
    return _mean(match, call.args[1], layer.x) == layer.length and _are_of_rows((call.args[1],), layer)


def _mean(match: Match, value: Any, x: Any | None) -> int | None:
    """How many elements, the last ones, a mean is of; of `x`, where that is given."""
    call = _call(match, _unshaped(match, value), "relax.mean")
    if call is None or (x is not None and not call.args[0].same_as(x)):
        return None
    return _length(shape_of(call.args[0]), call.attrs.axis)


def _length(shape: tuple[int, ...], axes: Sequence[Any] | None) -> int | None:
    """The product of the last dimensions, where these are all along which a mean goes; a dimension of one
    element may be among them or not.
    """
    if axes is None:
        return None
    rank = len(shape)
    along = {int(axis) % rank for axis in axes if shape[int(axis) % rank] > 1}
    first = min(along, default=rank)
    last = {axis for axis in range(first, rank) if shape[axis] > 1}
    return prod(shape[first:]) if along and along == last else None


def _spread(constant: Constant | None, layer: _Layer, otherwise: float) -> Constant | None:
    """A factor for each place of a row; None where it differs from row to row."""
    if constant is None:
        return Constant(values=np.full(layer.length, otherwise, np.float32))
    values, shape = float_constant(constant).values, shape_of(layer.x)
    if values.size == 1:
        return Constant(values=np.full(layer.length, values.ravel()[0], np.float32))
    place = values.shape[next(axis for axis, extent in enumerate(values.shape) if extent > 1) :]
    if place != shape[_first(shape, layer.length) :]:
        return None
    return float_constant(constant).reshaped((layer.length,))


def _call(match: Match, value: Any, name: str) -> Any | None:
    call = match.graph.call(value)
    return call if call is not None and call.op == Op.get(name) else None


def _operands(match: Match, value: Any, name: str) -> list[tuple[Any, Any]]:
    """The two operands of a call of that name, in both orders; none of any other value."""
    call = _call(match, value, name)
    return [] if call is None else [(call.args[0], call.args[1]), (call.args[1], call.args[0])]


def _unshaped(match: Match, value: Any) -> Any:
    """The value before reshapes."""
    call = _call(match, value, "relax.reshape")
    return value if call is None else _unshaped(match, call.args[0])
