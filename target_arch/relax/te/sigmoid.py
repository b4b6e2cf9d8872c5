"""LiteRT's sigmoid and hyperbolic tangent of int16 values, with a table of 256 sigmoids for steps of 1 / 24,
between which it is a line. A `value` has unit 1 / (3 * 4096).
"""

from typing import Any

from tvm import tirx

_LAST = 255


def on_curve(table: Any, size: Any, *, tanh: bool) -> Any:
    """The result for a value without its sign."""
    bits = 8 if tanh else 9
    place, last = size >> bits, tirx.const(_LAST, "int32")
    first = table[tirx.min(place, last)].astype("int32")
    second = table[tirx.min(place + 1, last)].astype("int32")
    rest = tirx.bitwise_and(size, tirx.const((1 << bits) - 1, "int32"))
    most = tirx.const(0xFFFF << 8 if tanh else 0x7FFF << 10, "int32")
    return tirx.Select(place >= _LAST, most, first * (1 << bits) + rest * (second - first))


def signed(value: Any, found: Any, *, tanh: bool) -> Any:
    """The result for a value, of that without its sign."""
    if tanh:
        ends = found - (1 << 23) + (1 << 7), (1 << 23) + (1 << 7) - 1 - found
    else:
        ends = found + (1 << 9), (1 << 25) + (1 << 9) - 1 - found
    return tirx.Select(value >= 0, *ends) >> (8 if tanh else 10)
