"""LiteRT's hard swish of stored 8-bit values, in 16-bit fixed point (`reference/hard_swish.h` with
`HardSwishPrepare`).
"""

from collections.abc import Callable

from target_arch.plan.arithmetic import float32, quantize_multiplier
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand
from target_arch.relax.site import NotConverted

_MIN, _MAX = -(2**15), 2**15 - 1


def hard_swish(x: TFLiteOperand, out: TFLiteOperand) -> Callable[[int], int]:
    """The stored result of a stored value, not yet clamped. NotConverted where the output's scale is less
    than 1/128 of the input's, which LiteRT refuses too.
    """
    fine = float32(float32(1 / 128) * x.scale)
    multiplier, exponent = _multiplier(float32(fine / out.scale))
    share_multiplier, share_exponent = _multiplier(float32(fine / float32(3 / 32768)))
    if exponent > 0:
        raise NotConverted("the output's scale is less than 1/128 of the input's")

    def result(value: int) -> int:
        wide = (value - x.zero_point) << 7
        share = _saturated(wide << max(share_exponent - 1, 0))
        share = _high_product(share, share_multiplier, rounds=True)
        share = _saturated(share << 1) if share_exponent > 0 else _divided(share, -share_exponent)
        scaled = _high_product(wide, multiplier, rounds=True)
        product = _high_product((share + 2**15) >> 1, scaled, rounds=False)
        return _divided(product, -exponent) + out.zero_point

    return result


def _multiplier(real: float) -> tuple[int, int]:
    """A multiplier of 16 bits, and its exponent."""
    wide, exponent = quantize_multiplier(real)
    return min((wide + 2**15) >> 16, _MAX), exponent


def _saturated(value: int) -> int:
    return min(max(value, _MIN), _MAX)


def _high_product(first: int, second: int, *, rounds: bool) -> int:
    """gemmlowp's (rounding) doubling high product of two 16-bit values: division goes towards zero."""
    product = first * second
    nudge = 0 if not rounds else 2**14 if product >= 0 else 1 - 2**14
    doubled = abs(product + nudge) >> 15
    return _saturated(doubled if product + nudge >= 0 else -doubled)


def _divided(value: int, exponent: int) -> int:
    """value / 2**exponent, rounded half away from zero."""
    return (value + (1 << exponent >> 1) - (value < 0)) >> exponent if exponent else value
