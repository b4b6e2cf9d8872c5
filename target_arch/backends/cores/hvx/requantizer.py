"""The requantizers of LiteRT on vectors of 32 sums: int32 sums become int8, 128 in a vector.

HVX multiplies 32 by 16 bits. `vmpyewuh` is the product with the lower half of the multiplier, shifted right
by 16 bits; `vmpyowh` adds the product with the upper half and shifts by 15 more, which drops no bit that
counts: together it is (sum * multiplier) >> 31, exactly, rounded to nearest with `rnd`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.instructions import everywhere, intrinsic, kept
from target_arch.backends.cores.hvx.writer import Writer, vector
from target_arch.plan.arithmetic import Requantization, Rounding
from target_arch.relax.te.fixed_point import scaled, wide
from target_arch.relax.te.scaling import clamped, right_shift

_BEFORE = {Rounding.TFLITE: 1, Rounding.TFLITE_SINGLE: 32}
"""By how much a requantizer shifts further than the table says."""
_MOST = 31


@frozen(kw_only=True)
class Requantizer:
    """A requantizer that has a form on vectors."""

    about: Requantization

    @property
    def shifts(self) -> tuple[int, ...]:
        """The right shifts of the table."""
        about = self.about
        return tuple(right_shift(about.rounding, each) - _BEFORE[about.rounding] for each in about.shifts)

    def table(self, bias: Any, channels: Any) -> Any:
        """Bias, multiplier and shift of each of these channels, int32 [3, count]; of channel -1 zeros."""
        count = max(channels) + 1
        multipliers, shifts = (np.resize(each, count) for each in (self.about.multipliers, self.shifts))
        rows = np.stack([bias, multipliers, shifts]).astype(np.int32)
        return np.where(np.asarray(channels) < 0, 0, rows[:, np.asarray(channels)]).astype(np.int32)

    def element(self, total: Any, scales: Any, channel: Any, dtype: str) -> Any:
        """One output for a sum with its bias, as an expression of TE."""
        about = self.about
        multiplier, right = (scales[row, channel].astype("int64") for row in (1, 2))
        least = _BEFORE[about.rounding]
        value = scaled(
            about.rounding, total.astype("int64"), multiplier, right + wide(least), least + min(self.shifts)
        )
        value = value + wide(about.output_offset)
        return clamped(value, about.activation_min, about.activation_max).astype(dtype)

    def words(self, to: Writer, sums: Any, multiplier: Any, shift: Any) -> Any:
        """A local vector with 32 outputs for as many sums."""
        about = self.about
        high = _high(to, sums, multiplier, about.rounding)
        moved = high if about.rounding is Rounding.TFLITE_SINGLE else _away_from_zero(high)
        value = ((moved >> tirx.max(shift, everywhere(0))) + everywhere(1)) >> everywhere(1)
        if min(self.shifts) < 0:
            value = tirx.Select(shift < everywhere(0), high, value)
        value = value + everywhere(about.output_offset)
        return kept(to, within(value, about.activation_min, about.activation_max))


def rounded_twice(to: Writer, value: Any, multiplier: Any, right: int) -> Any:
    """32 numbers scaled as `Rounding.TFLITE` does, shifted to the right by one number of bits."""
    high = _high(to, value, multiplier, Rounding.TFLITE)
    if right == 0:
        return high
    return ((_away_from_zero(high) >> everywhere(right - 1)) + everywhere(1)) >> everywhere(1)


def _high(to: Writer, value: Any, multiplier: Any, rounding: Rounding) -> Any:
    """(value * multiplier) >> 31, to the nearest where there is a second rounding."""
    low = intrinsic("vmpyewuh", value, multiplier)
    name = "vmpyowh.rnd.sacc" if rounding is Rounding.TFLITE else "vmpyowh.sacc"
    return kept(to, intrinsic(name, low, value, multiplier))


def _away_from_zero(high: Any) -> Any:
    """A number that half up rounds as `high` is rounded half away from zero."""
    return high + (high >> everywhere(31))


def within(value: Any, low: int, high: int) -> Any:
    """32 numbers within two limits, where packing, which clamps to int8, does not keep them."""
    value = tirx.max(value, everywhere(low)) if low > -128 else value
    return tirx.min(value, everywhere(high)) if high < 127 else value


def requantizer(about: Requantization) -> Requantizer | None:
    """The requantizer on vectors; None where it shifts to the left, or has another rounding."""
    if about.rounding not in _BEFORE:
        return None
    made = Requantizer(about=about)
    least = -1 if about.rounding is Rounding.TFLITE else 0
    return made if least <= min(made.shifts) and max(made.shifts) <= _MOST else None


def packed(words: Sequence[Any]) -> Any:
    """Four vectors of words as one of bytes, in order; each is clamped to int8."""
    halves = [intrinsic("vpackwh.sat", words[n + 1], words[n]) for n in (0, 2)]
    return tirx.reinterpret("int8x128", intrinsic("vpackhb.sat", halves[1], halves[0]))


def of_lanes(scales: Any, row: int, lanes: int, first: Any) -> Any:
    """32 numbers of a row of the table of scales, which is so many lanes wide."""
    return vector(scales, row * lanes + first)
