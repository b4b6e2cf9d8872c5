"""Values of several element types in one tensor of 32-bit words, since a function has one result."""

from collections.abc import Callable
from math import prod
from typing import Any

from tvm import te, tirx

from target_arch.relax.te.fixed_point import wide

WORD = "int32"
_NARROW = ("bool", "int8", "uint8", "int16", "uint16", WORD)
_SAME_BITS = ("float32", "uint32")
KNOWN = (*_NARROW, *_SAME_BITS, "int64")
"""The element types that have a form in words."""
_HIGH = 1 << 32


def words_of(dtype: str) -> int:
    """How many words an element takes."""
    return 2 if dtype == "int64" else 1


def to_words(value: Any, dtype: str) -> tuple[Any, ...]:
    """The words of an element, the low one first."""
    if dtype in _SAME_BITS:
        return (tirx.reinterpret(WORD, value),)
    if dtype == "int64":
        low = tirx.bitwise_and(value, wide(_HIGH - 1)).astype("uint32")
        return tirx.reinterpret(WORD, low), (value >> wide(32)).astype(WORD)
    return (value.astype(WORD),)


def from_words(first: int, shape: tuple[int, ...], dtype: str) -> Callable[[Any], Any]:
    """The definition of the tensor whose words begin there."""
    count = words_of(dtype)

    def element(words: Any, index: Any) -> Any:
        low = words[first + count * index]
        if dtype in _SAME_BITS:
            return tirx.reinterpret(dtype, low)
        if dtype != "int64":
            return low.astype(dtype)
        high = words[first + count * index + 1].astype(dtype)
        return high * wide(_HIGH) + tirx.reinterpret("uint32", low).astype(dtype)

    return lambda words: te.compute((prod(shape),), lambda i: element(words, i), name="values")
