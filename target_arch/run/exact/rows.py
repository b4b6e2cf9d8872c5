"""Softmax in TFLite's fixed point.

Source: LiteRT `kernels/internal/reference/softmax.h`, of 8-bit values with gemmlowp `fixedpoint/fixedpoint.h`
(exp_on_negative_values, one_over_one_plus_x_for_x_in_0_1), step by step; of int16 values by its two tables.
"""

import math

import numpy as np

from target_arch.run.exact.case import Array, NotDefined, OperatorCase
from target_arch.run.exact.scaling import Integers, fixed_point, twice_rounded
from target_arch.run.exact.tables import between

_Factor = Integers | np.int64
_ONE = 2**31 - 1
_FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-1/4), exp(-1/2), exp(-1) … exp(-16)."""


def softmax(case: OperatorCase) -> Array:
    """The shares of a row in steps of 1/256, 1/32768 or 1/65536 of its sum. NotDefined for ONNX, which has
    floats, and for a row in which LiteRT stops.
    """
    if not case.tflite:
        raise NotDefined
    x = case.operand(0).astype(np.int64)
    if case.operator.constants:
        return case.clamped(_by_tables(case, x))
    scale, _ = case.grid(0)
    powers = _exponentials(x - x.max(axis=-1, keepdims=True), scale * float(case.attribute("beta", 1.0)))
    total = _halved(powers, 12).sum(axis=-1, keepdims=True)
    whole = np.frompyfunc(lambda value: int(value).bit_length() - 20, 1, 1)(total).astype(np.int64)
    bits = 8 * np.dtype(case.out.dtype).itemsize
    if (whole > bits).any():
        raise NotDefined
    shares = _product(powers, _inverse((total << (12 - whole)) - 2**31))
    return case.clamped(_halved(shares, whole + 31 - bits) + np.iinfo(case.out.dtype).min)


def _by_tables(case: OperatorCase, x: Integers) -> Integers:
    """Shares of int16 values: the exponentials are those of -10 to 0, the reciprocals those of 1 to 2."""
    exponentials, reciprocals = (case.operand(index).astype(np.int64) for index in (1, 2))
    multiplier, shift = (int(case.attribute(name)) for name in ("multiplier", "shift"))
    distance = twice_rounded(x - x.max(axis=-1, keepdims=True), multiplier, shift)
    powers = between(exponentials, np.clip(distance + 65535, 0, 65535))
    total = powers.sum(axis=-1, keepdims=True)
    bits = np.frompyfunc(lambda value: int(value).bit_length(), 1, 1)(total).astype(np.int64)
    mantissa = ((total << (31 - bits)) + 2**13) >> 14
    factor = between(reciprocals, np.clip(mantissa - 2**16, 0, 65535))
    shares: Integers = np.clip((powers * factor + (np.int64(1) << (bits - 2))) >> (bits - 1), 0, 32767)
    return shares


def _exponentials(distance: Integers, unit: float) -> Integers:
    """exp of stored values at most 0, with 31 bits behind the point; 0 beyond what 5 bits before it hold."""
    multiplier, shift = fixed_point(min(unit * 2.0**26, 2.0**31 - 1))
    near = distance >= -math.floor(31 * 2.0**26 / 2.0**shift)
    power = np.where(near, twice_rounded(np.where(near, distance, 0), multiplier, shift), 0)
    rest = power % 2**24 - 2**24
    found, left = _near_zero(rest * 2**5), rest - power
    for bit, factor in enumerate(_FACTORS, 24):
        found = np.where(left >> bit & 1, _product(found, np.int64(factor)), found)
    return np.where(near, np.where(power == 0, _ONE, found), 0)


def _near_zero(x: Integers) -> Integers:
    """exp of numbers in [-1/4, 0), about -1/8."""
    constant, third, x = np.int64(1895147668), np.int64(715827883), x + 2**28
    square = _product(x, x)
    fourth = _halved(_product(square, square), 2)
    tail = _halved(_product(fourth + _product(square, x), third) + square, 1)
    found: Integers = np.minimum(constant + _product(constant, x + tail), _ONE)
    return found


def _inverse(x: Integers) -> Integers:
    """1 / (1 + x), where 1 is 2**31."""
    half = (x + _ONE + 1) // 2
    found = 1515870810 + _product(half, np.int64(-1010580540))
    for _ in range(3):
        found = found + _product(found, 2**29 - _product(half, found)) * 4
    return np.minimum(found * 2, _ONE)


def _product(a: _Factor, b: _Factor) -> Integers:
    """SaturatingRoundingDoublingHighMul of factors of which none is the least."""
    product: Integers = np.asarray(a * b)
    nudged = product + np.where(product >= 0, 2**30, 1 - 2**30)
    rounded: Integers = np.where(nudged >= 0, nudged // 2**31, -(-nudged // 2**31))
    return rounded


def _halved(values: Integers, times: Integers | int) -> Integers:
    """RoundingDivideByPOT."""
    mask = (np.int64(1) << times) - 1
    return (values >> times) + ((values & mask) > (mask >> 1) + (values < 0))
