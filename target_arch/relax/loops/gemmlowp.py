"""Sigmoid and hyperbolic tangent of int16 values by fixed-point polynomials, as in LiteRT's integer LSTM.

Both write statements into the function that is being built. All values are int32 expressions that fit into
int16; a number with k integer bits has unit 2**(k - 15).
Source: gemmlowp `fixedpoint/fixedpoint.h`.
"""

from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

ONE = 32767
"""The nearest number to one without integer bits."""


_EXP_EIGHTH, _THIRD = 1895147668, 715827883
_EXP_POWERS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
"""exp(-2**e) for each exponent e."""
_FIRST_GUESS, _SLOPE = 1515870810, -1010580540
"""48/17 and -32/17: the first approximation of a reciprocal."""
_SMALLEST_BITS = 5
"""Integer bits from which on an exponential may be too small for any result: below exp(-32) it is zero."""
_MOST_STEPS = 32


class Steps:
    """Intermediate values of one function, in a buffer of its own: TVM would write an expression again
    wherever it is read.
    """

    def __init__(self) -> None:
        self._values = local("steps", (_MOST_STEPS,), "int32")
        self._count = 0

    def begin(self, value: Any) -> Any:
        """The first value of a computation, which may overwrite those of the one before."""
        self._count = 0
        return self.of(value)

    def of(self, value: Any) -> Any:
        """The value, computed here and once."""
        place, self._count = self._count, self._count + 1
        ib.buffer_store(self._values, value, [place])
        return self._values[place]


def logistic(steps: Steps, value: Any, integer_bits: int) -> Any:
    """1 / (1 + exp(-x)), without integer bits."""
    x = steps.begin(value)
    reciprocal = _reciprocal(steps, _exponential(steps, steps.of(tirx.min(x, -x)), integer_bits))
    found = steps.of(_saturated(reciprocal * 2))
    return tirx.Select(tirx.EQ(x, 0), _number(1 << 14), tirx.Select(x > 0, found, ONE - found))


def tanh(steps: Steps, value: Any, integer_bits: int) -> Any:
    """The hyperbolic tangent, without integer bits."""
    x = steps.begin(value)
    # exp(2x): the same bits with one integer bit more.
    reciprocal = _reciprocal(steps, _exponential(steps, steps.of(tirx.min(x, -x)), integer_bits + 1))
    found = steps.of(_saturated((reciprocal - (1 << 13)) * 4))
    return tirx.Select(tirx.EQ(x, 0), _number(0), tirx.Select(x > 0, found, -found))


def _exponential(steps: Steps, x: Any, integer_bits: int) -> Any:
    """exp(x) of x <= 0: of the rest modulo 1/4 by a polynomial around -1/8, times a power for each bit."""
    unit = 15 - integer_bits
    quarter = 1 << (unit - 2)
    low = steps.of(tirx.bitwise_and(x, _number(quarter - 1)) - quarter)
    a = steps.of(low * (1 << integer_bits) + (1 << 12))
    a2 = steps.of(_product(a, a))
    a3, a4 = steps.of(_product(a2, a)), steps.of(_product(a2, a2))
    rest = steps.of(_product(divided(a4, 2) + a3, _constant(_THIRD)) + a2)
    eighth = _constant(_EXP_EIGHTH)
    found = steps.of(_saturated(eighth + _product(eighth, a + divided(rest, 1))))
    remainder = steps.of(low - x)
    for exponent, power in _EXP_POWERS:
        if integer_bits > exponent:
            bit = tirx.bitwise_and(remainder, _number(1 << (unit + exponent)))
            found = steps.of(tirx.Select(tirx.NE(bit, 0), _product(found, _constant(power)), found))
    if integer_bits > _SMALLEST_BITS:
        found = steps.of(tirx.Select(x < -(32 << unit), _number(0), found))
    return steps.of(tirx.Select(tirx.EQ(x, 0), _number(ONE), found))


def _reciprocal(steps: Steps, x: Any) -> Any:
    """2 / (1 + x) of 0 <= x <= 1, with two integer bits: three steps of Newton and Raphson."""
    half = steps.of((x + (ONE + 1)) >> 1)
    found = steps.of(_constant(_FIRST_GUESS) + _product(half, _constant(_SLOPE)))
    for _ in range(3):
        error = steps.of((1 << 13) - _product(half, found))
        found = steps.of(found + _saturated(_product(found, error) * 4))
    return found


def _number(value: int) -> Any:
    return tirx.const(value, "int32")


def _constant(value: int) -> Any:
    """A constant that gemmlowp states with 32 bits, rounded to 16."""
    return _number((value + (1 << 15)) >> 16)


def _product(a: Any, b: Any) -> Any:
    """a * b / 2**15, rounded half up."""
    return (a * b + (1 << 14)) >> 15


def divided(value: Any, bits: int) -> Any:
    """An int32 value / 2**bits, rounded half away from zero."""
    return (value + (1 << (bits - 1)) - (value < 0).astype("int32")) >> bits if bits else value


def _saturated(value: Any) -> Any:
    return saturated(value, "int16")


def saturated(value: Any, dtype: str) -> Any:
    """An int32 value within the range of a narrower type, still int32."""
    high = 127 if dtype == "int8" else ONE
    return tirx.max(tirx.min(value, tirx.const(high, "int32")), tirx.const(-high - 1, "int32"))
