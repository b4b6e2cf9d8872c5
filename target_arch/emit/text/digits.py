"""Numbers as text: decimal integers and hexadecimal floating literals, many at once.

Tests: `tests/emit/text/test_digits.py`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_arch.emit.text.listing import Column, Listing

N = TypeVar("N", bound=np.generic)

_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)

_AT_ONCE = 1 << 14
"""Numbers whose columns stay in the cache of a processor."""

_FRACTION_DIGITS = {2: 3, 4: 6, 8: 13}
"""Hexadecimal digits after the point that a number of so many bytes can have, once it is normalized."""

_FRACTION = np.uint64((1 << 52) - 1)
_LEAST_EXPONENT = -1022
"""Of normal numbers of 64 bits; those below are written with it, too."""


def decimal(values: NDArray[np.integer[Any]], suffix: str) -> Listing:
    """Integers with a suffix: `-12LL`."""
    return _in_parts(values, lambda part: _decimal_columns(part, suffix))


def hexadecimal(values: NDArray[np.floating[Any]], suffix: str) -> Listing:
    """The shortest hexadecimal floating literals of finite numbers, with a suffix: `-0x1.8p+0f`."""
    return _in_parts(values, lambda part: _hexadecimal_columns(part, suffix))


def _in_parts(values: NDArray[N], columns: Callable[[NDArray[N]], list[Column]]) -> Listing:
    parts = [values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE)]
    return Listing.joined([Listing.of_columns(columns(part), len(part)) for part in parts])


def _decimal_columns(values: NDArray[np.integer[Any]], suffix: str) -> list[Column]:
    negative = values < 0
    plain = values.astype(np.uint64)  # modulo 2**64, as is the difference
    magnitude = np.where(negative, np.uint64(0) - plain, plain)
    return [(ord("-"), negative), *_digits(magnitude, int(magnitude.max())), *_constant(suffix)]


def _hexadecimal_columns(values: NDArray[np.floating[Any]], suffix: str) -> list[Column]:
    """As `float.hex` writes the number in 64 bits, less zeros at the end of the fraction."""
    bits = values.astype(np.float64).view(np.uint64)
    fraction, biased = bits & _FRACTION, (bits >> np.uint64(52)).astype(np.int64) & 0x7FF
    normal = biased != 0
    least = np.where(fraction != 0, _LEAST_EXPONENT, 0)
    exponent = np.where(normal, biased - 1023, least)
    magnitude = np.abs(exponent).astype(np.uint64)
    return [
        (ord("-"), (bits >> np.uint64(63)).astype(np.bool_)),
        *_constant("0x"),
        (_DIGITS[normal.astype(np.intp)], True),
        (ord("."), fraction != 0),
        *(_fraction_digit(fraction, place) for place in range(_FRACTION_DIGITS[values.itemsize])),
        (ord("p"), True),
        (np.where(exponent < 0, ord("-"), ord("+")).astype(np.uint8), True),
        *_digits(magnitude, int(magnitude.max())),
        *_constant(suffix),
    ]


def _fraction_digit(fraction: NDArray[np.uint64], place: int) -> Column:
    """One digit after the point; an item has it if it or a later one is not zero."""
    left = fraction & np.uint64((1 << (52 - 4 * place)) - 1)
    return _DIGITS[(left >> np.uint64(48 - 4 * place)).astype(np.intp)], left != 0


def _digits(magnitude: NDArray[np.uint64], largest: int) -> list[Column]:
    """Decimal digits without leading zeros."""
    powers = [np.uint64(10**place) for place in reversed(range(len(str(largest))))]
    return [
        (_DIGITS[(magnitude // power % np.uint64(10)).astype(np.intp)], (magnitude >= power) | (power == 1))
        for power in powers
    ]


def _constant(text: str) -> list[Column]:
    return [(code, True) for code in text.encode()]
