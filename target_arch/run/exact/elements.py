"""Operators element by element, and those that only move elements."""

from fractions import Fraction

import numpy as np

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.scaling import Integers, fixed_point, half_even, real32, twice_rounded
from target_arch.run.exact.setting import Array, Setting

_LEFT_SHIFT = 20
"""Bits that LiteRT's addition keeps below the binary point."""


def add(setting: Setting) -> Array:
    """The sum of two operands."""
    return _sum(setting, 1)


def sub(setting: Setting) -> Array:
    """The difference of two operands."""
    return _sum(setting, -1)


def mul(setting: Setting) -> Array:
    """The product of two operands."""
    (first, _), (second, _), (out, _) = setting.grid(0), setting.grid(1), setting.grid()
    products = _broadcast(setting, 0) * _broadcast(setting, 1)
    real = real32(first, second, over=out)
    scaled = twice_rounded(products, *fixed_point(real)) if setting.tflite else half_even(products, real)
    return setting.stored(scaled)


def requantize(setting: Setting) -> Array:
    """The same numbers on another grid, clamped where it is a relu."""
    (scale, _), (out, _) = setting.grid(0), setting.grid()
    values = setting.centred(0)
    if not setting.tflite:
        return setting.stored(half_even(values, real32(scale, over=out)))
    single = setting.operator.kind is OperatorKind.RELU
    real = real32(scale, over=out) if single else scale / out
    return setting.stored(twice_rounded(values, *fixed_point(real)))


def quantize(setting: Setting) -> Array:
    """float32 numbers on a grid: a float32 division, rounded half away from zero (TFLite) or to even."""
    scale, zero = setting.grid()
    reals = setting.operand(0) / np.float32(scale)
    towards_zero = np.trunc(reals)
    away = towards_zero + np.copysign(np.abs(reals - towards_zero) >= 0.5, reals)
    whole = away if setting.tflite else np.rint(reals)
    limits = np.iinfo(setting.out.dtype)
    bounded = np.clip(whole.astype(np.float64) + zero, limits.min, limits.max)
    return bounded.astype(setting.out.dtype).reshape(setting.out.shape)


def dequantize(setting: Setting) -> Array:
    """Stored values as float32: one multiplication."""
    scale, _ = setting.grid(0)
    reals = setting.centred(0).astype(np.float32) * np.float32(scale)
    return reals.reshape(setting.out.shape)


def reshape(setting: Setting) -> Array:
    """The same elements."""
    return setting.operand(0).reshape(setting.out.shape)


def transpose(setting: Setting) -> Array:
    """Dimension i of the output is dimension `axes[i]` of the input."""
    return setting.operand(0).transpose(setting.attribute("axes"))


def concat(setting: Setting) -> Array:
    """The operands one after the other."""
    operands = [setting.operand(index) for index in range(len(setting.operator.inputs))]
    return np.concatenate(operands, axis=int(setting.attribute("axis")))


def _sum(setting: Setting, sign: int) -> Array:
    (first, _), (second, _), (out, _) = setting.grid(0), setting.grid(1), setting.grid()
    a, b = _broadcast(setting, 0), sign * _broadcast(setting, 1)
    if not setting.tflite:
        return setting.stored(_exact_sum(a, b, real32(first, over=out), real32(second, over=out)))
    twice = 2 * max(first, second)
    left = twice_rounded(a * (1 << _LEFT_SHIFT), *fixed_point(first / twice))
    right = twice_rounded(sign * b * (1 << _LEFT_SHIFT), *fixed_point(second / twice))
    return setting.stored(
        twice_rounded(left + sign * right, *fixed_point(twice / ((1 << _LEFT_SHIFT) * out)))
    )


def _exact_sum(a: Integers, b: Integers, first: float, second: float) -> Integers:
    """a * first + b * second, rounded once, half to even; each pair of stored values is computed once."""
    pairs, place = np.unique(np.stack((a.ravel(), b.ravel())), axis=1, return_inverse=True)
    x, y = Fraction(first), Fraction(second)
    sums = [round(int(one) * x + int(other) * y) for one, other in pairs.T]
    return np.array(sums, np.int64)[place.reshape(a.shape)]


def _broadcast(setting: Setting, index: int) -> Integers:
    """An operand less its zero point, in the shape of the output: whole, one value, one for each last index,
    or one for each image and channel.
    """
    values, shape = setting.centred(index), setting.out.shape
    if values.size in (1, int(np.prod(shape))):
        return np.broadcast_to(values.reshape(-1), (int(np.prod(shape)),)).reshape(shape)
    return np.broadcast_to(values, shape)
