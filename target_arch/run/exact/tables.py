"""Functions of stored values by their tables.

Source of the sigmoid and the hyperbolic tangent of int16 values: LiteRT
`kernels/internal/reference/integer_ops/logistic.h` and `tanh.h`, with the multiplier of
`kernels/activations.cc`. A scale that is a power of two has the same results by that multiplier.
"""

import numpy as np

from target_arch.run.exact.case import Array, OperatorCase
from target_arch.run.exact.scaling import Integers


def lookup(case: OperatorCase) -> Array:
    """The result of every stored value; of int16 values between entries of the table."""
    x, table, curve = case.operand(0), case.operand(1).astype(np.int64), case.attribute("curve")
    if curve == "each":
        found = table[x.astype(np.int64) - np.iinfo(x.dtype).min]
    elif curve == "lines":
        found = between(table, x.astype(np.int64) + 32768)
    else:
        units = _units(x.astype(np.int64), case.grid(0)[0])
        found = _tanh(table, units) if curve == "tanh" else _sigmoid(table, units)
    return found.astype(case.out.dtype).reshape(case.out.shape)


def between(table: Integers, place: Integers) -> Integers:
    """Values between entries, which are 128 places apart; a rise is one of 16 bits, rounded half up."""
    first, rest = place // 128, place % 128
    rise = (table[first + 1] - table[first]).astype(np.int16).astype(np.int64)
    return table[first] + (rise * rest + 64) // 128


def _units(x: Integers, scale: float) -> Integers:
    """Values in steps of 1 / 12288, rounded half up."""
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    return (x * int(multiplier) + (1 << shift >> 1)) >> shift


def _sigmoid(table: Integers, units: Integers) -> Integers:
    line = _line(table, np.abs(units), bits=9, most=0x7FFF << 10)
    return np.where(units >= 0, line + (1 << 9), (1 << 25) - line + (1 << 9) - 1) >> 10


def _tanh(table: Integers, units: Integers) -> Integers:
    line = _line(table, np.abs(units), bits=8, most=0xFFFF << 8)
    return np.where(units >= 0, line - (1 << 23) + (1 << 7), (1 << 23) - line + (1 << 7) - 1) >> 8


def _line(table: Integers, size: Integers, *, bits: int, most: int) -> Integers:
    """The line between two entries that are 2**bits apart, and `most` behind the last one."""
    place = np.minimum(size >> bits, 254)
    first, second = table[place], table[place + 1]
    return np.where(
        size >> bits >= 255, most, (first << bits) + (size & ((1 << bits) - 1)) * (second - first)
    )
