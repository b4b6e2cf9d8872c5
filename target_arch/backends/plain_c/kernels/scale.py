"""The parameters of `s8_scale.h` for sums whose range is known from the weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.plan.arithmetic import Requantization, Rounding

GROUP = 16
"""Multipliers and shifts are packed in multiples of it."""

_LARGEST = 2**30 - 1
"""The greatest magnitude of a sum that the forms take."""

_GREATEST_PRODUCT = 128 * 255
"""Of a weight and an input with its offset."""

_MULTIPLIER_BITS = 31
_MOST_SHIFT = 62
_FLIP = 128
_SUFFIXES = {
    Rounding.TFLITE: "TFLITE",
    Rounding.TFLITE_SINGLE: "TFLITE_SINGLE",
    Rounding.ONNX: "ONNX",
}


@frozen(kw_only=True)
class RequantizeConstants:
    """The constants of a requantization: `each` is 1 where outputs have multipliers and shifts of their own,
    else these are 16 equal ones. `flip` is 128 where outputs are uint8. `least` and `most` are the least and
    greatest shift of an output.
    """

    rounding: Rounding
    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]
    each: int
    offset: int
    low: int
    high: int
    flip: int
    least: int
    most: int

    @property
    def constant(self) -> str:
        """The name of the rounding in C."""
        return f"TA_S8_{_SUFFIXES[self.rounding]}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The members of `ta_s8_scale`, in order."""
        return (self.each, self.offset, self.low, self.high, self.flip, self.least, self.most)


class OutOfRange(Exception):
    """Sums or results of which it is not proven that 32 bits hold them."""


@frozen(kw_only=True, eq=False)
class PreparedWeights:
    """Weights int8 [N, K], the bias of each output with the offset of the input in it, and the scale."""

    rows: Any
    bias: Any
    scale: RequantizeConstants


def prepared(
    r: Requantization, rows: Any, bias: Any, low: int, offset: int, unsigned: bool
) -> PreparedWeights:
    """Weights, bias and scale for inputs that are 8-bit values from `low` on, to which `offset` is added, and
    outputs that are uint8 where `unsigned`.

    An output that is the same for all inputs, such as that of a channel that training left dead, gets weights
    of 0: its bias may be too large for anything else, or its shift keep the other outputs from a fast form.
    Raises OutOfRange.
    """
    folded, least, greatest = _sums(rows, bias, offset, low)
    factors = [_factor(r, index) for index in range(len(bias))]
    magnitudes = np.maximum(np.abs(least), np.abs(greatest)).tolist()
    rows = rows.copy()
    for n, ends in enumerate(zip(least.tolist(), greatest.tolist(), strict=True)):
        reason = _reason(r.rounding, *factors[n], ends)
        if reason is None and factors[n][1] in _FAST[r.rounding]:
            continue
        if r.apply(ends[0], n) == r.apply(ends[1], n):
            rows[n], folded[n] = 0, 8 * (r.apply(ends[0], n) - r.output_offset)
            factors[n], magnitudes[n] = _EIGHTH[r.rounding], abs(int(folded[n]))
        elif reason is not None:
            raise OutOfRange(reason)
    scale = _scale(r, *_rounded(r, factors, magnitudes), unsigned)
    return PreparedWeights(rows=rows, bias=folded, scale=scale)


def single(r: Requantization, products: int, *, unsigned: bool) -> RequantizeConstants:
    """The constants of a requantization with one multiplier and shift for all outputs, of sums of so many
    products.
    """
    return _scale(r, *_rounded(r, [_factor(r, 0)], [products * _GREATEST_PRODUCT]), unsigned)


def within(r: Requantization, bias: Any, products: int) -> bool:
    """Whether 32 bits hold all sums of so many products, whatever the weights are."""
    if bias.size == 0 or len(r.multipliers) not in (1, bias.size):
        return False
    most = np.abs(bias.astype(np.int64)) + products * _GREATEST_PRODUCT
    multipliers, shifts = np.array(r.multipliers, np.int64), np.array(r.shifts, np.int64)
    twice = r.rounding is Rounding.TFLITE
    right = 31 - shifts if r.rounding is Rounding.TFLITE_SINGLE else -shifts if twice else shifts
    if right.max() > (31 if twice else _MOST_SHIFT) or (right.min() < 1 and not twice):
        return False
    if (most << np.maximum(-right, 0) if twice else most).max() > _LARGEST:
        return False
    scaled = most * multipliers >> np.minimum(right + 31 if twice else right, 62)
    return bool(scaled.max() < _LARGEST)


_EIGHTH = {
    Rounding.TFLITE: (2**30, 2),
    Rounding.TFLITE_SINGLE: (2**30, 33),
    Rounding.ONNX: (2**30, 33),
}
"""Multiplier and right shift of a factor of one eighth."""
_FAST = {
    Rounding.TFLITE: range(1, 23),
    Rounding.TFLITE_SINGLE: range(33, 63),
    Rounding.ONNX: range(33, 63),
}
"""Shifts to the right with which every form is fast."""


def _sums(rows: Any, bias: Any, offset: int, low: int) -> tuple[Any, Any, Any]:
    """The bias with the offset in it, the least and the greatest sum of each output, int64."""
    wide = rows.astype(np.int64)
    high = low + 255
    folded = bias.astype(np.int64) + offset * wide.sum(axis=1)
    positive, negative = np.maximum(wide, 0).sum(axis=1), np.minimum(wide, 0).sum(axis=1)
    return folded, folded + low * positive + high * negative, folded + high * positive + low * negative


def _rounded(
    r: Requantization, factors: Sequence[tuple[int, int]], magnitudes: Sequence[int]
) -> tuple[Rounding, Sequence[tuple[int, int]]]:
    """How results are rounded, and the factors for it: half up, which costs less, where no sum of these
    magnitudes has a product of which half a unit is left, so that half to even is the same.
    """
    pairs = zip(factors, magnitudes, strict=True)
    if r.rounding is not Rounding.ONNX or any(_may_tie(*factor, magnitude) for factor, magnitude in pairs):
        return r.rounding, factors
    return Rounding.TFLITE_SINGLE, [_long(*factor) for factor in factors]


def _long(multiplier: int, right: int) -> tuple[int, int]:
    """The same factor with all 31 bits of a multiplier: forms are fast where the shift is far."""
    if multiplier == 0:
        return multiplier, _FAST[Rounding.TFLITE_SINGLE][0]
    more = min(_MULTIPLIER_BITS - multiplier.bit_length(), _MOST_SHIFT - right)
    return multiplier << more, right + more


def _may_tie(multiplier: int, right: int, magnitude: int) -> bool:
    """Whether a sum up to this magnitude may leave half a unit: twos that the multiplier lacks to half of
    what is divided by must be factors of the sum.
    """
    zeros = (multiplier & -multiplier).bit_length() - 1
    return multiplier != 0 and magnitude >> max(right - 1 - zeros, 0) > 0


def _scale(
    r: Requantization, rounding: Rounding, factors: Sequence[tuple[int, int]], unsigned: bool
) -> RequantizeConstants:
    uniform = len(set(factors)) == 1
    flip = _FLIP if unsigned else 0
    return RequantizeConstants(
        rounding=rounding,
        multipliers=_padded(tuple(multiplier for multiplier, _ in factors), uniform),
        shifts=_padded(tuple(shift for _, shift in factors), uniform),
        each=0 if uniform else 1,
        offset=r.output_offset - flip,
        low=r.activation_min - flip,
        high=r.activation_max - flip,
        flip=flip,
        least=min(shift for _, shift in factors),
        most=max(shift for _, shift in factors),
    )


def _factor(r: Requantization, output: int) -> tuple[int, int]:
    """Multiplier and right shift of an output: a `tflite` shift is counted to the left. An `onnx` shift is at
    least 1, also where the multiplier is 0.
    """
    index = output if len(r.multipliers) > 1 else 0
    multiplier, shift = r.multipliers[index], r.shifts[index]
    if r.rounding == Rounding.TFLITE_SINGLE:
        return multiplier, 31 - shift
    return multiplier, -shift if r.rounding == Rounding.TFLITE else max(shift, 0 if multiplier else 1)


def _reason(rounding: Rounding, multiplier: int, right: int, ends: tuple[int, int]) -> str | None:
    """Why 32 bits may not do for sums between the ends; None where they do. Requantizers are monotonic."""
    twice = rounding == Rounding.TFLITE
    if right > (31 if twice else _MOST_SHIFT) or (right < 1 and not twice):
        return f"a shift by {right} bits"
    left = max(-right, 0) if twice else 0
    if max(map(abs, ends)) << left > _LARGEST:
        return "sums may take more than 31 bits"
    if max(abs(end) * multiplier >> (right + 31 if twice else right) for end in ends) > _LARGEST:
        return "scaled sums may take more than 31 bits"
    return None


def _padded(values: tuple[int, ...], uniform: bool) -> tuple[int, ...]:
    if uniform:
        return values[:1] * GROUP
    return values + (0,) * (-len(values) % GROUP)
