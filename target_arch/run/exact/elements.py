"""Operators element by element, and those that only move elements."""

from fractions import Fraction

import numpy as np

from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.case import Array, NotDefined, OperatorCase
from target_arch.run.exact.scaling import Integers, fixed_point, half_even, real32, twice_rounded

_LEFT_SHIFT = 20
"""Bits that LiteRT's addition keeps below the binary point."""


def add(case: OperatorCase) -> Array:
    """The sum of two operands."""
    return _sum(case, 1)


def sub(case: OperatorCase) -> Array:
    """The difference of two operands."""
    return _sum(case, -1)


def mul(case: OperatorCase) -> Array:
    """The product of two operands."""
    (first, _), (second, _), (out, _) = case.grid(0), case.grid(1), case.grid()
    products = _broadcast(case, 0) * _broadcast(case, 1)
    real = real32(first, second, over=out)
    scaled = twice_rounded(products, *fixed_point(real)) if case.tflite else half_even(products, real)
    return case.stored(scaled)


def requantize(case: OperatorCase) -> Array:
    """The same numbers on another grid, clamped where it is a relu."""
    (scale, _), (out, _) = case.grid(0), case.grid()
    values = case.centred(0)
    if not case.tflite:
        return case.stored(half_even(values, real32(scale, over=out)))
    single = case.operator.kind is OperatorKind.RELU
    real = real32(scale, over=out) if single else scale / out
    return case.stored(twice_rounded(values, *fixed_point(real)))


def quantize(case: OperatorCase) -> Array:
    """float32 numbers on a grid: a float32 division, rounded half away from zero (TFLite) or to even."""
    scale, zero = case.grid()
    reals = case.operand(0) / np.float32(scale)
    towards_zero = np.trunc(reals)
    away = towards_zero + np.copysign(np.abs(reals - towards_zero) >= 0.5, reals)
    whole = away if case.tflite else np.rint(reals)
    limits = np.iinfo(case.out.dtype)
    bounded = np.clip(whole.astype(np.float64) + zero, limits.min, limits.max)
    return bounded.astype(case.out.dtype).reshape(case.out.shape)


def dequantize(case: OperatorCase) -> Array:
    """Stored values as float32: one multiplication."""
    scale, _ = case.grid(0)
    reals = case.centred(0).astype(np.float32) * np.float32(scale)
    return reals.reshape(case.out.shape)


def reshape(case: OperatorCase) -> Array:
    """The same elements."""
    return case.operand(0).reshape(case.out.shape)


def transpose(case: OperatorCase) -> Array:
    """Dimension i of the output is dimension `axes[i]` of the input."""
    return case.operand(0).transpose(case.attribute("axes"))


def sliced(case: OperatorCase) -> Array:
    """The elements from `begin` on, `step` apart, as many as the output has."""
    found = case.operand(0)
    bounds = zip(case.attribute("begin"), case.attribute("step"), case.out.shape, strict=True)
    for axis, (begin, step, count) in enumerate(bounds):
        found = np.take(found, begin + step * np.arange(count), axis=axis)
    return found


def repeated(case: OperatorCase) -> Array:
    """Every dimension again and again. NotDefined for a call of Relax, which may be another operator."""
    if case.attribute(DEFINITION_NAME) != "repeated":
        raise NotDefined
    found, shape = case.operand(0), case.out.shape
    found = found.reshape((1,) * (len(shape) - found.ndim) + found.shape)
    extents = zip(shape, found.shape, strict=True)
    return found[np.ix_(*(np.arange(extent) % own for extent, own in extents))]


def concat(case: OperatorCase) -> Array:
    """The operands one after the other."""
    operands = [case.operand(index) for index in range(len(case.operator.inputs))]
    return np.concatenate(operands, axis=int(case.attribute("axis")))


def _sum(case: OperatorCase, sign: int) -> Array:
    (first, _), (second, _), (out, _) = case.grid(0), case.grid(1), case.grid()
    a, b = _broadcast(case, 0), sign * _broadcast(case, 1)
    if not case.tflite:
        return case.stored(_exact_sum(a, b, real32(first, over=out), real32(second, over=out)))
    twice = 2 * max(first, second)
    left = twice_rounded(a * (1 << _LEFT_SHIFT), *fixed_point(first / twice))
    right = twice_rounded(sign * b * (1 << _LEFT_SHIFT), *fixed_point(second / twice))
    return case.stored(twice_rounded(left + sign * right, *fixed_point(twice / ((1 << _LEFT_SHIFT) * out))))


def _exact_sum(a: Integers, b: Integers, first: float, second: float) -> Integers:
    """a * first + b * second, rounded once, half to even; each pair of stored values is computed once."""
    pairs, place = np.unique(np.stack((a.ravel(), b.ravel())), axis=1, return_inverse=True)
    x, y = Fraction(first), Fraction(second)
    sums = [round(int(one) * x + int(other) * y) for one, other in pairs.T]
    return np.array(sums, np.int64)[place.reshape(a.shape)]


def _broadcast(case: OperatorCase, index: int) -> Integers:
    """An operand less its zero point, in the shape of the output: whole, one value, one for each last index,
    or one for each image and channel.
    """
    values, shape = case.centred(index), case.out.shape
    if values.size in (1, int(np.prod(shape))):
        return np.broadcast_to(values.reshape(-1), (int(np.prod(shape)),)).reshape(shape)
    return np.broadcast_to(values, shape)
