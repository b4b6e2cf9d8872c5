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

from target_arch.backends.cores.hvx.instructions import everywhere, intrinsic, kept, word_of
from target_arch.backends.cores.hvx.writer import BYTES, WORD, WORDS, Writer, element, vector
from target_arch.plan.arithmetic import Addition, Requantization, Rounding
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

    @property
    def pad(self) -> int:
        """The stored value of what is outside of an image."""
        return -self.about.input_offset

    @property
    def positive(self) -> bool:
        """True where what is below zero before the offset is clamped to it: how a negative number is rounded
        to zero does not matter then.
        """
        return self.about.activation_min >= self.about.output_offset

    def words(self, to: Writer, sums: Any, multiplier: Any, shift: Any) -> Any:
        """A local vector with 32 results for as many sums, without offset and limits."""
        return kept(to, self._shifted(_high(to, sums, multiplier, self.about.rounding), shift))

    def in_order(self, words: Sequence[Any]) -> Any:
        """Four vectors of results as one of outputs, int8 in the order of the words."""
        return packed(words, self.about)

    def interleaved(self, to: Writer, sums: Sequence[Any], multipliers: Any, shifts: Any) -> Any:
        """Four vectors of sums as one of outputs, int8x128, where those of a lane are adjacent. Of each of
        them the multiplier is a vector, the shift a scalar.
        """
        pairs = zip(self.scaled(to, sums, multipliers), shifts, strict=True)
        if min(self.shifts) < 0:
            words = [self._shifted(high, tirx.Broadcast(shift, WORDS)) for high, shift in pairs]
        else:
            words = [intrinsic("vasrw", self._moved(high), shift) for high, shift in pairs]
        value = tirx.reinterpret("int8x128", self._adjacent(words))
        return within(value, _limits(self.about))

    def by_lanes(self, to: Writer, sums: Sequence[Any], multipliers: Any, shifts: Any) -> Any:
        """Four vectors of sums as one of outputs, int8x128 in the order of the sums. Multipliers and shifts
        are vectors.
        """
        return self.outputs(to, self.scaled(to, sums, multipliers), shifts)

    def outputs(self, to: Writer, highs: Sequence[Any], shifts: Any) -> Any:
        """Outputs of sums that are `scaled`, as those of `by_lanes`."""
        pairs = zip(highs, shifts, strict=True)
        if min(self.shifts) < 0:
            one, two, three, four = (self._shifted(high, shift) for high, shift in pairs)
        else:
            one, two, three, four = (self._moved(high) >> shift for high, shift in pairs)
        adjacent = kept(to, self._adjacent((one, three, two, four)))
        later = intrinsic("vror", adjacent, tirx.const(1, WORD))
        ordered = intrinsic("vdealb4w", later, adjacent)
        return within(tirx.reinterpret("int8x128", ordered), _limits(self.about))

    def scaled(self, to: Writer, sums: Sequence[Any], multipliers: Any) -> list[Any]:
        """Vectors of sums, each times its multiplier, before they are shifted."""
        rounding = self.about.rounding
        return [_high(to, *each, rounding) for each in zip(sums, multipliers, strict=True)]

    def _adjacent(self, words: Sequence[Any]) -> Any:
        """The words of four vectors as bytes, with the offset, those of a lane together. Words are to be
        halved first, unless one is not shifted at all.
        """
        if min(self.shifts) < 0:
            halves = [intrinsic("vsatwh", words[n + 2], words[n]) for n in (0, 1)]
        else:
            one = tirx.const(1, WORD)
            halves = [intrinsic("vasrwhrndsat", words[n + 2], words[n], one) for n in (0, 1)]
        halves = _offset(halves, self.about.output_offset + 128)
        stored = intrinsic("vsathub", halves[1], halves[0])
        return tirx.bitwise_xor(stored, everywhere(word_of(-128)))

    def _shifted(self, high: Any, shift: Any) -> Any:
        one, least = everywhere(1), min(self.shifts)
        first = tirx.max(shift, everywhere(0)) if least < 0 else shift
        value = ((self._moved(high) >> first) + one) >> one
        return tirx.Select(shift < everywhere(0), high, value) if least < 0 else value

    def _moved(self, high: Any) -> Any:
        """A number that half up rounds as `high` has to be rounded."""
        single = self.about.rounding is Rounding.TFLITE_SINGLE
        return high if single or self.positive else _away_from_zero(high)


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


def requantizer(about: Requantization) -> Requantizer | None:
    """The requantizer on vectors; None where it shifts to the left, or has another rounding."""
    if about.rounding not in _BEFORE:
        return None
    made = Requantizer(about=about)
    least = -1 if about.rounding is Rounding.TFLITE else 0
    return made if least <= min(made.shifts) and max(made.shifts) <= _MOST else None


def packed(words: Sequence[Any], about: Requantization | Addition) -> Any:
    """Four vectors of results as one of int8, in order: with the offset of the output, within its limits."""
    halves = [intrinsic("vpackwh.sat", words[n + 1], words[n]) for n in (0, 2)]
    low, high = _offset(halves, about.output_offset)
    return within(tirx.reinterpret("int8x128", intrinsic("vpackhb.sat", high, low)), _limits(about))


def _offset(halves: list[Any], offset: int) -> list[Any]:
    """Vectors of halfwords with this number added, which saturate."""
    both = everywhere(twice(offset))
    return [intrinsic("vaddhsat", each, both) for each in halves] if offset else halves


def twice(value: int) -> int:
    """A word of two halfwords, both of which are that number."""
    return int.from_bytes(value.to_bytes(2, "little", signed=True) * 2, "little", signed=True)


def within(value: Any, limits: tuple[int, int]) -> Any:
    """128 numbers of int8 within limits."""
    low, high = (tirx.Broadcast(tirx.const(limit, "int8"), BYTES) for limit in limits)
    value = tirx.max(value, low) if limits[0] > -128 else value
    return tirx.min(value, high) if limits[1] < 127 else value


def _limits(about: Requantization | Addition) -> tuple[int, int]:
    return about.activation_min, about.activation_max


def of_lanes(scales: Any, row: int, lanes: int, first: Any) -> Any:
    """32 numbers of a row of the table of scales, which is so many lanes wide."""
    return vector(scales, row * lanes + first)


def unknown_zero(scales: Any, shift: int) -> Any:
    """A shift of the table without its lower bits: it is 0, but LLVM does not know."""
    return tirx.max(element(scales, shift), 0) >> tirx.const(6, WORD)
