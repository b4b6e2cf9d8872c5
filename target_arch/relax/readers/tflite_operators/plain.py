"""Operators that Relax has: of reals, and of whole numbers and truth values that are on no grid.

Stored values of those that LiteRT has no other rule for are brought to reals and back.
"""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import numpy as np
from tvm import relax, te, tirx

from target_arch.relax.readers.tflite_operators.grids import reals, steps
from target_arch.relax.readers.tflite_operators.site import (
    Converter,
    TFLiteOperand,
    TFLiteOperator,
    require_computed,
    require_numbers,
    require_reals,
)
from target_arch.relax.site import constant


def _function(function: Callable[[Any], Any], site: TFLiteOperator) -> Any:
    """Return a function of one operand."""
    require_computed(site.x)
    return steps(site.out, function(reals(site.x, site.x.expr)))


def _function_of_reals(function: Callable[[Any], Any], site: TFLiteOperator) -> Any:
    require_reals(site)
    return _function(function, site)


def _pair(function: Callable[[Any, Any], Any], site: TFLiteOperator) -> Any:
    """A function of the elements of two operands."""
    require_reals(site)
    return function(site.tensor(0).expr, site.tensor(1).expr)


def _floored(function: Callable[[Any, Any], Any], site: TFLiteOperator) -> Any:
    """FLOOR_DIV and FLOOR_MOD."""
    require_numbers(site.x)
    return _pair(function, site)


def _cast(site: TFLiteOperator) -> Any:
    """CAST: the elements, in another type."""
    require_reals(site)
    require_computed(site.x)
    if site.x.dtype == "float32" and "int" in site.out.dtype:
        return site.computed(partial(_saturated, site.out.dtype), site.x.expr)
    return relax.op.astype(site.x.expr, site.out.dtype)


def _saturated(dtype: str, x: Any) -> Any:
    """Whole numbers of floats, as LiteRT has them: where the type holds none, the nearest it has, and its
    greatest of what is no number.
    """
    least, greatest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    low, end = (tirx.const(value, "float32") for value in (least, greatest + 1))

    def whole(*at: Any) -> Any:
        if greatest < 2**24:  # a float32 has it
            return tirx.max(tirx.min(x(*at), tirx.const(greatest, "float32")), low).astype(dtype)
        kept = tirx.max(x(*at), low).astype(dtype)
        return tirx.Select(x(*at) < end, kept, tirx.const(greatest, dtype))

    return te.compute(x.shape, whole, name="cast")


def _square(site: TFLiteOperator) -> Any:
    require_reals(site)
    require_computed(site.x)
    return relax.op.power(site.x.expr, relax.const(2, site.out.dtype))


def _sum(site: TFLiteOperator) -> Any:
    """ADD_N: the sum of any number of operands."""
    require_reals(site)
    return reduce(relax.op.add, (site.tensor(number).expr for number in range(len(site.inputs))))


def _broadcast_shape(site: TFLiteOperator) -> Any:
    """BROADCAST_ARGS: the shape to which tensors of two shapes are broadcast."""
    first, second = site.tensor(0), site.tensor(1)
    if first.value is not None and second.value is not None:
        return constant(np.array(np.broadcast_shapes(first.value, second.value), site.out.dtype))
    rank, one = max(first.shape[0], second.shape[0]), constant(1, first.dtype)

    def extents(tensor: TFLiteOperand) -> Any:
        lacking = rank - tensor.shape[0]
        ones = constant(np.ones(lacking), tensor.dtype)
        return relax.op.concat([ones, tensor.expr], 0) if lacking else tensor.expr

    a, b = site.emit(extents(first)), site.emit(extents(second))
    other = relax.op.where(relax.op.equal(b, one), a, relax.op.maximum(a, b))
    return relax.op.where(relax.op.equal(a, one), b, other)


CONVERTERS: Mapping[str, Converter] = {
    "ADD_N": _sum,
    "BITWISE_XOR": partial(_pair, relax.op.bitwise_xor),
    "BROADCAST_ARGS": _broadcast_shape,
    "CAST": _cast,
    "CEIL": partial(_function, relax.op.ceil),
    "COS": partial(_function, relax.op.cos),
    "FLOOR": partial(_function, relax.op.floor),
    "FLOOR_DIV": partial(_floored, relax.op.floor_divide),
    "FLOOR_MOD": partial(_floored, relax.op.floor_mod),
    "LOGICAL_AND": partial(_pair, relax.op.logical_and),
    "LOGICAL_NOT": partial(_function_of_reals, relax.op.logical_not),
    "LOGICAL_OR": partial(_pair, relax.op.logical_or),
    "LOG_SOFTMAX": partial(_function, relax.op.nn.log_softmax),
    "NEG": partial(_function_of_reals, relax.op.negative),
    "RIGHT_SHIFT": partial(_pair, relax.op.right_shift),
    "ROUND": partial(_function, relax.op.round),
    "SIGN": partial(_function_of_reals, relax.op.sign),
    "SIN": partial(_function, relax.op.sin),
    "SQRT": partial(_function_of_reals, relax.op.sqrt),
    "SQUARE": _square,
}
