"""LiteRT's quotient of two small integers, in parts that a table holds.

The dividend is shifted to the left as far as an int32 allows, and multiplied by the reciprocal of the
divisor's magnitude, which is scaled into (1/2, 1]. Sources: LiteRT `kernels/internal/common.h`
(GetReciprocal, CountLeadingSignBits), `reference/div.h`, and gemmlowp `fixedpoint/fixedpoint.h`.
"""

from target_arch.plan.arithmetic import INT32_MAX, INT32_MIN, multiply_tflite

_FIRST, _SLOPE = 1515870810, -1010580540
"""48/17 and -32/17 with two integer bits, the first approximation of a reciprocal."""
_ITERATIONS = 3


def headroom(value: int) -> int:
    """How far an int32 can be shifted to the left."""
    return 31 - (value.bit_length() if value >= 0 else (-value - 1).bit_length())


def reciprocal(value: int) -> tuple[int, int]:
    """(multiplier, bits) of a positive integer: 1 / value is multiplier / 2**(31 + bits)."""
    bits = value.bit_length() - 1
    fraction = (value << (31 - bits)) - 2**31
    half = (fraction + INT32_MAX + 1) // 2
    x = _FIRST + multiply_tflite(half, _SLOPE, 0)
    for _ in range(_ITERATIONS):
        rest = (1 << 29) - multiply_tflite(half, x, 0)
        x += _saturated(multiply_tflite(x, rest, 0) << 2)
    return _saturated(x << 1), bits


def _saturated(value: int) -> int:
    return min(max(value, INT32_MIN), INT32_MAX)
