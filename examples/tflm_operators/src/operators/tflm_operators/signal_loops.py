"""TFLite Micro's signal operators as loops of functions in C, every bit as its kernels.

Values are int64 expressions; those of unsigned 32 bits wrap around where theirs do (`word`).
Source: TFLite Micro `signal/src` and `signal/micro/kernels`.
"""

import math
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local
from target_arch.relax.te.fixed_point import wide

_WORD = (1 << 32) - 1
_INT16 = (-(2**15), 2**15 - 1)


def word(value: Any) -> Any:
    """An int64 value modulo 2**32."""
    return tirx.bitwise_and(value, wide(_WORD))


def _long(value: Any) -> Any:
    return value.astype("int64")


def _saturated(value: Any) -> Any:
    return tirx.max(tirx.min(value, wide(_INT16[1])), wide(_INT16[0])).astype("int16")


def _flag(value: int) -> Any:
    return tirx.const(value, "int32")


def _store_bits(bits: Any, value: Any) -> None:
    """The number of bits of a value of 32 bits into `bits`."""
    ib.buffer_store(bits, _flag(0), [0])
    with ib.serial(0, 32) as k, ib.If((value >> _long(k)) > wide(0)), ib.Then():
        ib.buffer_store(bits, (k + 1).astype("int32"), [0])


@frozen(kw_only=True)
class WeightedRows:
    """Rows of int16 values times weights, shifted to the right."""

    size: int
    length: int
    shift: int

    def write(self, out: Any, x: Any, weights: Any) -> None:
        with ib.grid(self.size // self.length, self.length) as (row, i):
            place = row * self.length + i
            product = _long(x[place]) * _long(weights[i])
            ib.buffer_store(out, _saturated(product >> wide(self.shift)), [place])


@frozen(kw_only=True)
class Energy:
    """The squares of complex numbers from `first` to before `last`; zeros elsewhere."""

    size: int
    first: int
    last: int

    def write(self, out: Any, x: Any) -> None:
        with ib.serial(0, self.size) as i:
            ib.buffer_store(out, tirx.const(0, "uint32"), [i])
        with ib.serial(self.first, self.last) as i:
            real, imaginary = _long(x[2 * i]), _long(x[2 * i + 1])
            ib.buffer_store(out, word(real * real + imaginary * imaginary).astype("uint32"), [i])


@frozen(kw_only=True)
class AutoScale:
    """int16 values shifted to the left as far as their largest allows, and by how much, as the last value.

    The magnitude of -32768 is -32768, which the next value exceeds.
    """

    size: int

    def write(self, out: Any, x: Any) -> None:
        most, bits = local("most", (1,), "int16"), local("bits", (1,), "int32")
        ib.buffer_store(most, tirx.const(0, "int16"), [0])
        with ib.serial(0, self.size) as i:
            value, known = x[i].astype("int32"), most[0].astype("int32")
            larger = tirx.Select(value > known, value, tirx.Select(-value > known, -value, known))
            ib.buffer_store(most, larger.astype("int16"), [0])
        _store_bits(bits, word(_long(most[0])))
        known = tirx.all(bits[0] > 0, bits[0] < 16)
        ib.buffer_store(bits, tirx.Select(known, 15 - bits[0], _flag(0)), [0])
        with ib.serial(0, self.size) as i:
            scaled = x[i].astype("int32") * tirx.shift_left(_flag(1), bits[0])
            ib.buffer_store(out, scaled.astype("int16"), [i])
        ib.buffer_store(out, bits[0].astype("int16"), [self.size])


@frozen(kw_only=True)
class FilterBank:
    """Sums of weighted energies, each energy in two neighbouring channels."""

    channels: int
    widest: int

    def write(self, out: Any, x: Any, *tables: Any) -> None:
        weights, rest, starts, places, widths = tables
        sums = local("sums", (self.channels + 1,), "int64")
        with ib.serial(0, self.channels + 1) as c:
            ib.buffer_store(sums, wide(0), [c])
        with (
            ib.grid(self.channels + 1, self.widest) as (c, j),
            ib.If(j < widths[c].astype("int32")),
            ib.Then(),
        ):
            energy, place = _long(x[starts[c].astype("int32") + j]), places[c].astype("int32") + j
            ib.buffer_store(sums, sums[c] + _long(weights[place]) * energy, [c])
            with ib.If(c < self.channels), ib.Then():
                ib.buffer_store(sums, sums[c + 1] + _long(rest[place]) * energy, [c + 1])
        with ib.serial(0, self.channels) as c:
            ib.buffer_store(out, sums[c + 1].astype("uint64"), [c])


@frozen(kw_only=True)
class SquareRoot:
    """Square roots of uint64 values, rounded but for the largest of 32 bits, shifted to the right."""

    channels: int

    def write(self, out: Any, x: Any, shift: Any) -> None:
        def number(value: int) -> Any:
            return tirx.const(value, "uint64")

        rest, root = local("rest", (1,), "uint64"), local("root", (1,), "uint64")
        with ib.serial(0, self.channels) as c:
            ib.buffer_store(rest, x[c], [0])
            ib.buffer_store(root, number(0), [0])
            with ib.serial(0, 32) as k:
                bit = tirx.shift_right(number(1 << 62), (2 * k).astype("uint64"))
                with ib.If(rest[0] >= root[0] + bit):
                    with ib.Then():
                        ib.buffer_store(rest, rest[0] - (root[0] + bit), [0])
                        ib.buffer_store(root, tirx.shift_right(root[0], number(1)) + bit, [0])
                    with ib.Else():
                        ib.buffer_store(root, tirx.shift_right(root[0], number(1)), [0])
            most = tirx.Select(x[c] <= number(_WORD), number((1 << 16) - 1), number(_WORD))
            with ib.If(tirx.all(rest[0] > root[0], tirx.NE(root[0], most))), ib.Then():
                ib.buffer_store(root, root[0] + number(1), [0])
            places = tirx.min(shift[0].astype("uint64"), number(63))
            ib.buffer_store(out, tirx.shift_right(root[0], places).astype("uint32"), [c])


@frozen(kw_only=True)
class SpectralSubtraction:
    """Energies less an estimate of the noise, and that estimate, which is kept from run to run.

    `smoothing` are the shares of a new energy and of the estimate, in even channels, then in odd ones.
    """

    channels: int
    smoothing: tuple[tuple[int, int], tuple[int, int]]
    least: int
    bits: int
    smoothing_bits: int
    clamping: bool

    def write(self, out: Any, x: Any, noise: Any) -> None:
        def share(which: int, c: Any) -> Any:
            even, odd = (wide(each[which]) for each in self.smoothing)
            return tirx.Select(tirx.EQ(c % 2, 0), even, odd)

        values = local("values", (3,), "int64")
        signal, estimate, rest = 0, 1, 2
        with ib.serial(0, self.channels) as c:
            ib.buffer_store(values, word(_long(x[c]) << wide(self.smoothing_bits)), [signal])
            mixed = values[signal] * share(0, c) + _long(noise[c]) * share(1, c)
            ib.buffer_store(values, word(mixed >> wide(self.bits)), [estimate])
            taken = tirx.min(values[estimate], values[signal])
            ib.buffer_store(values, (values[signal] - taken) >> wide(self.smoothing_bits), [rest])
            least = word((_long(x[c]) * wide(self.least)) >> wide(self.bits))
            ib.buffer_store(out, tirx.max(values[rest], least).astype("uint32"), [0, c])
            kept = taken if self.clamping else values[estimate]
            ib.buffer_store(out, kept.astype("uint32"), [1, c])


_GAIN_BITS, _SNR_BITS, _OUTPUT_BITS = 11, 12, 6


@frozen(kw_only=True)
class GainControl:
    """Energies times a gain that a table of parabolas has for the noise, then compressed."""

    channels: int
    shift: int

    def write(self, out: Any, x: Any, noise: Any, table: Any) -> None:
        bits, gain = local("bits", (1,), "int32"), local("gain", (1,), "int64")
        snr = local("snr", (1,), "int64")
        with ib.serial(0, self.channels) as c:
            _store_bits(bits, _long(noise[c]))
            with ib.If(_long(noise[c]) <= wide(2)):
                with ib.Then():
                    ib.buffer_store(gain, _long(table[noise[c].astype("int32")]), [0])
                with ib.Else():
                    ib.buffer_store(gain, self._gain(_long(noise[c]), bits[0], table), [0])
            product = _long(x[c]).astype("uint64") * word(gain[0]).astype("uint64")
            shifted = tirx.shift_right(product, tirx.const(self.shift, "uint64"))
            ib.buffer_store(snr, word(_long(tirx.bitwise_and(shifted, tirx.const(_WORD, "uint64")))), [0])
            square = word(snr[0] * snr[0]) >> wide(2 + 2 * _SNR_BITS - _OUTPUT_BITS)
            less = (snr[0] >> wide(_SNR_BITS - _OUTPUT_BITS)) - wide(1 << _OUTPUT_BITS)
            found = tirx.Select(snr[0] < wide(2 << _SNR_BITS), square, less)
            ib.buffer_store(out, found.astype("uint32"), [c])

    def _gain(self, noise: Any, bits: Any, table: Any) -> Any:
        first = tirx.max(4 * bits - 6, 0)
        left, right = (_long(tirx.max(each, 0)) for each in (_GAIN_BITS - bits, bits - _GAIN_BITS))
        part = tirx.bitwise_and((noise << left) >> right, wide(0x3FF))
        slope = ((_long(table[first + 2]) * part) >> wide(5)) + (_long(table[first + 1]) << wide(5))
        value = ((slope * part + wide(1 << 14)) >> wide(15)) + _long(table[first])
        return _long(value.astype("int16"))


_LOG_BITS, _SEGMENTS = 16, 128
_LN2 = round(math.log(2) * (1 << _LOG_BITS))


def logarithms() -> list[int]:
    """How far the binary logarithm is above the line from 1 to 2, at the ends of 128 segments."""
    ends = (index / _SEGMENTS for index in range(_SEGMENTS + 1))
    return [math.floor((1 << _LOG_BITS) * (math.log2(1 + x) - x) + 0.5) for x in ends]


@frozen(kw_only=True)
class Logarithm:
    """Natural logarithms in steps of 1 / `scale`, of values shifted to the left; 0 of 0 and 1."""

    channels: int
    shift: int
    scale: int

    def write(self, out: Any, x: Any, table: Any) -> None:
        bits, values = local("bits", (1,), "int32"), local("values", (2,), "int64")
        value, part = 0, 1
        half = wide(1 << (_LOG_BITS - 1))
        with ib.serial(0, self.channels) as c:
            ib.buffer_store(values, word(_long(x[c]) << wide(self.shift)), [value])
            _store_bits(bits, values[value])
            ib.buffer_store(bits, tirx.max(bits[0] - 1, 0), [0])
            left, right = (_long(tirx.max(each, 0)) for each in (_LOG_BITS - bits[0], bits[0] - _LOG_BITS))
            above = tirx.max(values[value] - (wide(1) << _long(bits[0])), wide(0))
            ib.buffer_store(values, (above << left) >> right, [part])
            segment = (values[part] >> wide(_LOG_BITS - 7)).astype("int32")
            here, following = _long(table[segment]), _long(table[segment + 1])
            along = ((following - here) * (values[part] - _long(segment) * wide(512))) >> wide(_LOG_BITS)
            log2 = (_long(bits[0]) << wide(_LOG_BITS)) + values[part] + here + along
            natural = word((wide(_LN2) * log2 + half) >> wide(_LOG_BITS))
            found = word(wide(self.scale) * natural + half) >> wide(_LOG_BITS)
            kept = tirx.Select(values[value] > wide(1), tirx.min(found, wide(_INT16[1])), wide(0))
            ib.buffer_store(out, kept.astype("int16"), [c])


@frozen(kw_only=True)
class OverlapAdd:
    """Frames added where they overlap, each `step` after the one before; what is not complete is kept."""

    rows: int
    frames: int
    size: int
    step: int
    dtype: str

    @property
    def kept(self) -> int:
        """How many values of a row are kept."""
        return self.size - self.step

    def write(self, out: Any, x: Any, *state: Any) -> None:
        complete = self.frames * self.step
        with ib.grid(self.rows, complete + self.kept) as (row, i):
            ib.buffer_store(out, tirx.const(0, self.dtype), [row, i])
        for held in state:
            with ib.grid(self.rows, self.kept) as (row, i):
                ib.buffer_store(out, held[row, i], [row, i])
        with ib.grid(self.rows, self.frames, self.size) as (row, frame, i):
            place = [row, frame * self.step + i]
            ib.buffer_store(out, self._sum(out[place], x[row, frame, i]), place)

    def _sum(self, one: Any, other: Any) -> Any:
        return one + other if self.dtype == "float32" else _saturated(_long(one) + _long(other))


@frozen(kw_only=True)
class Frames:
    """Frames of rows, each `step` after the one before."""

    rows: int
    frames: int
    size: int
    step: int

    def write(self, out: Any, whole: Any) -> None:
        with ib.grid(self.rows, self.frames, self.size) as (row, frame, i):
            ib.buffer_store(out, whole[row, frame * self.step + i], [row, frame, i])


@frozen(kw_only=True)
class Begun:
    """Whether `needed` steps were made with this one, and how many, `more` of them in this run."""

    needed: int
    more: int

    def always(self, out: Any, _: Any) -> None:
        ib.buffer_store(out, tirx.const(True, "bool"), [0])

    def valid(self, out: Any, made: Any) -> None:
        ib.buffer_store(out, made[0] + 1 >= self.needed, [0])

    def count(self, out: Any, made: Any) -> None:
        ib.buffer_store(out, tirx.min(made[0] + self.more, self.needed), [0])


@frozen(kw_only=True)
class StackedFrames:
    """The last frames, `right` of them after the middle one; the first frame stands for those before it.

    `runs` counts from the first run on, and around once frames are complete: every `step` runs.
    """

    frames: int
    right: int
    step: int
    channels: int

    def write(self, out: Any, x: Any, runs: Any, *held: Any) -> None:
        with ib.grid(self.frames, self.channels) as (frame, c):
            ib.buffer_store(out, x[c], [frame, c])
        for each in held:
            with ib.grid(self.frames - 1, self.channels) as (frame, c), ib.If(runs[0] > 0), ib.Then():
                ib.buffer_store(out, each[frame, c], [frame, c])

    def valid(self, out: Any, runs: Any) -> None:
        since = runs[0] - self.right
        ib.buffer_store(out, tirx.all(since >= 0, tirx.EQ(self._within(since), 0)), [0])

    def count(self, out: Any, runs: Any) -> None:
        since = runs[0] - self.right
        around = self._within(since) + self.right + 1
        ib.buffer_store(out, tirx.Select(since >= 0, around, runs[0] + 1), [0])

    def _within(self, since: Any) -> Any:
        return tirx.truncmod(tirx.max(since, 0), _flag(self.step))
