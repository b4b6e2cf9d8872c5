"""Softmax of 8-bit values: tables of the exponential of every distance `d` from the greatest value of a row.

`onnx`: float32. With the sum of a row's exponentials and `inverse = 1 / (sum * output_scale)`, an output is
round_half_even(exponential * inverse) plus the zero point, clamped to its type.

`tflite`: the fixed point of LiteRT's reference kernel, which is that of TFLite Micro and CMSIS-NN, too;
LiteRT's optimized kernel has floats, and differs by a step in a few values. Exponentials have 31 bits below
the binary point, and are 0 from a distance on. An output of `bits` bits is in steps of 1 / 2**bits from the
least value of its type on, whatever grid its tensor has::

    total   = sum of round_half_up(exponential / 2**12), so that 1 is 2**19
    over    = how often total can be halved and still is 2**19 or more
    inverse = 2**(50 + over) / total by three of Newton's steps (`relax/definitions/fixed_softmax.py`)
    share   = (exponential * inverse + 2**30) >> 31
    output  = least + min(round_half_up(share / 2**(31 - bits + over)), 2**bits - 1)

Where `over` is greater than `bits`, LiteRT stops; the formula gives the least value.

Sources: LiteRT `kernels/internal/{reference/softmax.h,quantization_util.cc,common.h}`; gemmlowp
`fixedpoint/fixedpoint.h`.
"""

import math

from target_arch.plan.arithmetic import (
    INT32_MAX,
    float32,
    multiply_tflite,
    quantize_multiplier,
    require_quantization,
    shift_half_away,
)
from target_arch.plan.model import Model, Operator

DISTANCES = 256
"""The distances that two 8-bit values may have."""
_INTEGER_BITS = 5
"""Bits above the binary point of an exponent in fixed point."""
_UNIT = 31 - _INTEGER_BITS
"""Bits below it."""
_EXP_OF_MINUS_AN_EIGHTH, _THIRD = 1895147668, 715827883
_EXP_OF_MINUS_POWERS = {
    -2: 1672461947,
    -1: 1302514674,
    0: 790015084,
    1: 290630308,
    2: 39332535,
    3: 720401,
    4: 242,
}
"""exp(-(2**key)) with 31 bits below the binary point."""


def exponentials_in_floats(operator: Operator, model: Model) -> tuple[float, ...]:
    """The float32 exponential of each distance."""
    scale = float32(-_exponent(operator, model))
    return tuple(_expf(float32(scale * distance)) for distance in range(DISTANCES))


def exponentials_in_fixed_point(operator: Operator, model: Model) -> tuple[int, ...]:
    """LiteRT's exponential of each distance."""
    real = min(_exponent(operator, model) * 2.0**_UNIT, float(INT32_MAX))
    multiplier, shift = quantize_multiplier(real)
    farthest = math.floor(((1 << _INTEGER_BITS) - 1) * 2.0 ** (_UNIT - shift))
    return tuple(
        _fixed_exp(multiply_tflite(-distance, multiplier, shift)) if distance <= farthest else 0
        for distance in range(DISTANCES)
    )


def _exponent(operator: Operator, model: Model) -> float:
    """The exponent that a distance of 1 stands for, in double precision."""
    return require_quantization(operator.inputs[0], model).scale[0] * operator.real("beta", 1.0)


def _expf(value: float) -> float:
    """exp of a float32 as glibc's `expf` computes it, the same on every machine.

    It is not always the float32 nearest to the true value. 2**(value/ln 2) = 2**(k/32) * 2**(r/32): a
    table for the first factor, a cubic polynomial for the second, all in double precision.
    """
    scaled = float.fromhex("0x1.71547652b82fep+5") * value
    k = round(scaled)
    r = scaled - k
    c3, c2, c1 = (
        float.fromhex(digits)
        for digits in ("0x1.c6af84b912394p-20", "0x1.ebfce50fac4f3p-13", "0x1.62e42ff0c52d6p-6")
    )
    polynomial = (c3 * r + c2) * (r * r) + (c1 * r + 1.0)
    return float32(polynomial * math.ldexp(2.0 ** (k % 32 / 32), k // 32))


def _fixed_exp(exponent: int) -> int:
    """exp of an exponent <= 0 with `_UNIT` bits below the point (gemmlowp's exp_on_negative_values).

    The exponent is a sum of powers of two and a rest in [-1/4, 0), whose exponential is a polynomial.
    """
    if exponent == 0:
        return INT32_MAX
    quarter = 1 << (_UNIT - 2)
    rest = (exponent & (quarter - 1)) - quarter
    found = _exp_of_rest(rest << _INTEGER_BITS)
    for power, factor in _EXP_OF_MINUS_POWERS.items():
        if (rest - exponent) >> (_UNIT + power) & 1:
            found = _product(found, factor)
    return found


def _exp_of_rest(rest: int) -> int:
    """exp of a number in [-1/4, 0): Taylor's polynomial of degree 4 about -1/8."""
    x = rest + (1 << 28)
    square = _product(x, x)
    cube, fourth = _product(square, x), _product(square, square)
    upper = shift_half_away(_product(shift_half_away(fourth, 2) + cube, _THIRD) + square, 1)
    return min(_EXP_OF_MINUS_AN_EIGHTH + _product(_EXP_OF_MINUS_AN_EIGHTH, x + upper), INT32_MAX)


def _product(a: int, b: int) -> int:
    """The product of two numbers with 31 bits below the point, rounded."""
    return multiply_tflite(a, b, 0)
