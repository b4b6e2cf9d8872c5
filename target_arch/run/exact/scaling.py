"""From integer accumulators to stored values: the two requantizers, by their definitions.

Accumulators are int64 arrays; but for `wide_rounded`, their values fit 32 bits.

Sources: gemmlowp `fixedpoint/fixedpoint.h` (SaturatingRoundingDoublingHighMul, RoundingDivideByPOT), LiteRT
`kernels/internal/quantization_util.cc` (QuantizeMultiplier), the ONNX operators QLinearConv and
QuantizeLinear.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

Integers = np.ndarray[Any, np.dtype[np.int64]]

_INT32 = np.iinfo(np.int32)


def real32(*factors: float, over: float) -> float:
    """The product of float32 values, then divided, each result rounded to float32."""
    product = np.float32(factors[0])
    for factor in factors[1:]:
        product = np.float32(product * np.float32(factor))
    return float(np.float32(product / np.float32(over)))


def half_even(values: Integers, real: float) -> Integers:
    """values * real, the exact product, rounded half to even."""
    numerator, denominator = real.as_integer_ratio()
    shift = denominator.bit_length() - 1
    if shift > 62:
        return np.zeros_like(values)
    return quotient_half_even(values * numerator, np.int64(denominator))


def quotient_half_even(dividends: Integers, divisors: Integers | np.int64) -> Integers:
    """Exact quotients by positive divisors, rounded half to even."""
    whole, rest = np.divmod(dividends, divisors)
    twice = 2 * rest
    up = (twice > divisors) | ((twice == divisors) & (whole % 2 == 1))
    rounded: Integers = whole + up
    return rounded


def fixed_point(real: float) -> tuple[int, int]:
    """real as multiplier * 2**(shift - 31), a multiplier of 31 bits: QuantizeMultiplier."""
    if real == 0:
        return 0, 0
    shift = math.frexp(real)[1]
    scaled = Fraction(real) * Fraction(2) ** (31 - shift)
    multiplier = math.floor(scaled + Fraction(1, 2))
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def twice_rounded(values: Integers, multiplier: int, shift: int) -> Integers:
    """values * multiplier * 2**(shift - 31), rounded after the multiplication and after the shift."""
    left = np.clip(values * (1 << max(shift, 0)), _INT32.min, _INT32.max)
    product = left * multiplier
    nudged = np.where(product >= 0, product + 2**30, product + 1 - 2**30)
    high = np.where(nudged >= 0, nudged // 2**31, -(-nudged // 2**31))
    exponent = max(-shift, 0)
    mask = (1 << exponent) - 1
    over = (high & mask) > (mask >> 1) + (high < 0)
    return (high >> exponent) + over


def wide_rounded(values: Integers, multiplier: int, shift: int) -> Integers:
    """The same of values of 64 bits, with the upper 16 bits of the multiplier: rounded half up."""
    short = 0x7FFF if multiplier >= 0x7FFF0000 else (multiplier + 0x8000) >> 16
    return _half_up(values * short, 15 - shift)


def once_rounded(values: Integers, multiplier: int, shift: int) -> Integers:
    """values * multiplier * 2**(shift - 31), rounded half up."""
    return _half_up(values * multiplier, 31 - shift)


def _half_up(products: Integers, right: int) -> Integers:
    """Products shifted to the right, rounded half up; to the left, where LiteRT leaves them undefined, they
    saturate.
    """
    if right <= 0:
        return np.clip(products, _INT32.min, _INT32.max) << min(-right, 31)
    return (products + (1 << (right - 1))) >> right
