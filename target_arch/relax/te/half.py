"""float16 as C99 can have it: 16 bits that integers and float32 are made from, and that are made from them.

Values are computed in float32. TIR may load, store and select a float16; every other use of one has no form
in C.
"""

from typing import Any

from tvm import tirx

from target_arch.relax.te.fixed_point import bound

HALF = "float16"


def from_half(value: Any) -> Any:
    """The float32 of a float16; a NaN stays one."""
    return bound(tirx.reinterpret("uint16", value).astype("uint32"), _widened)


def from_finite_half(value: Any) -> Any:
    """The float32 of a float16 that is finite, in few instructions: sign and magnitude are moved to where
    float32 has them, which divides by 2**112; a float16 below its normal ones passes through such a float32.
    """
    bits = tirx.shift_left(tirx.reinterpret("int16", value).astype("int32"), tirx.const(13, "int32"))
    kept = tirx.bitwise_and(bits, tirx.const(_KEPT, "int32"))
    return tirx.reinterpret("float32", kept) * tirx.const(2.0**112, "float32")


_KEPT = 0x8FFFE000 - (1 << 32)
"""Of a float16 that was shifted with its sign by 13: the sign and the magnitude."""


def to_half(value: Any) -> Any:
    """The float16 nearest to a float32, of two equally near ones the even; infinite beyond 65,520."""
    return bound(tirx.reinterpret("uint32", value), _narrowed)


def _word(value: int) -> Any:
    return tirx.const(value, "uint32")


def _widened(half: Any) -> Any:
    """Exponents are biased by 112 more; below the least one, the mantissa counts steps of 2**-24."""
    size = tirx.bitwise_and(half, _word(0x7FFF))
    steps = size.astype("float32") * tirx.const(2.0**-24, "float32")
    moved = tirx.shift_left(size, _word(13))
    rebiased = moved + tirx.Select(size < _word(0x7C00), _word(0x38000000), _word(0x70000000))
    magnitude = tirx.Select(size < _word(0x400), tirx.reinterpret("uint32", steps), rebiased)
    sign = tirx.shift_left(tirx.bitwise_and(half, _word(0x8000)), _word(16))
    return tirx.reinterpret("float32", tirx.bitwise_or(magnitude, sign))


def _narrowed(bits: Any) -> Any:
    """Half a step, or a little less where the number kept is even, is added before 13 bits are cut off. Below
    2**-14 a sum with 0.5 rounds to steps of 2**-24.
    """
    size = tirx.bitwise_and(bits, _word(0x7FFFFFFF))
    special = tirx.Select(size > _word(0x7F800000), _word(0x7E00), _word(0x7C00))
    steps = tirx.reinterpret("float32", size) + tirx.const(0.5, "float32")
    small = tirx.reinterpret("uint32", steps) - _word(0x3F000000)
    odd = tirx.bitwise_and(tirx.shift_right(size, _word(13)), _word(1))
    usual = tirx.shift_right(size - _word(0x38000000) + _word(0xFFF) + odd, _word(13))
    near = tirx.Select(size < _word(0x38800000), small, usual)
    magnitude = tirx.Select(size >= _word(0x47800000), special, near)
    sign = tirx.bitwise_and(tirx.shift_right(bits, _word(16)), _word(0x8000))
    return tirx.reinterpret(HALF, tirx.bitwise_or(magnitude, sign).astype("uint16"))
