"""The parameters of `s8_scale.h` for sums whose range is known from the weights."""

from typing import Any

import numpy as np
from attrs import frozen

from target_arch.plan.arithmetic import Requantization, Rounding

GROUP = 16
"""Multipliers and shifts are packed in multiples of it."""

_LARGEST = 2**30
"""The greatest magnitude of a sum that the forms take."""

_FLIP = 128
_SUFFIXES = {
    Rounding.TFLITE: "TFLITE",
    Rounding.TFLITE_SINGLE: "TFLITE_SINGLE",
    Rounding.ONNX: "ONNX",
}


@frozen(kw_only=True)
class Scale:
    """The constants of a requantization: `each` is 1 where outputs have multipliers and shifts of their own,
    else these are 16 equal ones. `flip` is 128 where outputs are uint8.
    """

    rounding: Rounding
    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]
    each: int
    offset: int
    low: int
    high: int
    flip: int

    @property
    def constant(self) -> str:
        """The name of the rounding in C."""
        return f"TA_S8_{_SUFFIXES[self.rounding]}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The members of `ta_s8_scale`, in order."""
        return (self.each, self.offset, self.low, self.high, self.flip)


class OutOfRange(Exception):
    """Sums or results of which it is not proven that 32 bits hold them."""


def scale_of(r: Requantization, outputs: int, unsigned: bool, ranges: tuple[Any, Any]) -> Scale:
    """The scale for sums between `ranges`, the least and greatest of each output (int64 arrays).

    Raises OutOfRange.
    """
    right = tuple(_right(r.rounding, *pair) for pair in zip(r.multipliers, r.shifts, strict=True))
    uniform = len(set(zip(r.multipliers, right, strict=True))) == 1
    channels = [0] * outputs if uniform else range(outputs)
    for output, channel in enumerate(channels):
        _check(r, channel, right[channel], (int(ranges[0][output]), int(ranges[1][output])))
    flip = _FLIP if unsigned else 0
    return Scale(
        rounding=r.rounding,
        multipliers=_padded(r.multipliers, uniform),
        shifts=_padded(right, uniform),
        each=0 if uniform else 1,
        offset=r.output_offset - flip,
        low=r.activation_min - flip,
        high=r.activation_max - flip,
        flip=flip,
    )


def _right(rounding: Rounding, multiplier: int, shift: int) -> int:
    """How far to the right: a `tflite` shift is counted to the left. At least 1 for `onnx`, also where the
    multiplier is 0.
    """
    if rounding == Rounding.TFLITE_SINGLE:
        return 31 - shift
    return -shift if rounding == Rounding.TFLITE else max(shift, 0 if multiplier else 1)


def _check(r: Requantization, channel: int, right: int, ends: tuple[int, int]) -> None:
    """Raises OutOfRange. The requantizers are monotonic, so their ends are those of the sums."""
    twice = r.rounding == Rounding.TFLITE
    if right > (30 if twice else 62) or (right < 1 and not twice):
        raise OutOfRange(f"a shift by {right} bits")
    left = max(-right, 0) if twice else 0
    if max(map(abs, ends)) << left > _LARGEST:
        raise OutOfRange("sums may take more than 31 bits")
    bits = right + 31 if twice else right
    if max(abs(end) * r.multipliers[channel] >> bits for end in ends) >= _LARGEST:
        raise OutOfRange("scaled sums may take more than 31 bits")


def _padded(values: tuple[int, ...], uniform: bool) -> tuple[int, ...]:
    if uniform:
        return values[:1] * GROUP
    return values + (0,) * (-len(values) % GROUP)


def sums_of(weights: Any, bias: Any, offset: int, low: int) -> tuple[Any, tuple[Any, Any]]:
    """The bias of each output with the offset of the input in it, and the least and greatest sum, all int64.

    `weights` are int8 [N, K], the inputs that a driver multiplies are 8-bit values from `low` on. Raises
    OutOfRange.
    """
    wide = weights.astype(np.int64)
    folded = bias.astype(np.int64) + offset * wide.sum(axis=1)
    high = low + 255
    positive, negative = np.maximum(wide, 0).sum(axis=1), np.minimum(wide, 0).sum(axis=1)
    least = folded + low * positive + high * negative
    greatest = folded + high * positive + low * negative
    if np.abs(folded).max(initial=0) > _LARGEST:
        raise OutOfRange("bias may take more than 31 bits")
    return folded, (least, greatest)
