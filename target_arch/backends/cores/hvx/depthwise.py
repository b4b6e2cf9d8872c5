"""Depthwise convolutions: a vector has 128 neighbouring outputs of a row, whatever pixels they belong to.

A row of outputs reads `kernel` rows of the input: they are copied to the room first, with the zero point in
place of padding, and with strides sorted by columns that the same elements of windows read, so that every
element of the kernel reads 128 adjacent bytes. Four elements are shuffled together for `vrmpy`. Weights
[elements / 4][lanes][4] and scales repeat the channels as often as vectors need.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.copies import Place, copy, fill
from target_arch.backends.cores.hvx.instructions import PAIR, intrinsic, registers
from target_arch.backends.cores.hvx.products import GROUP
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes, packed
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTES,
    VECTOR,
    WORD,
    WORDS,
    Pointer,
    Writer,
    store_vector,
    vector,
)
from target_arch.relax.te.definition import Definition
from target_arch.soc.rounding import ceil_div, round_up


@frozen(kw_only=True, eq=False)
class Depthwise:
    """A depthwise convolution with as many outputs as inputs."""

    windows: ImageWindows
    requantizer: Requantizer

    @property
    def run(self) -> int:
        """Outputs of a row."""
        return self.windows.out[1] * self.windows.channels

    @property
    def groups(self) -> int:
        return ceil_div(self.windows.taps, GROUP)

    @property
    def lanes(self) -> int:
        """Of weights and scales: as many as the vector with the highest first channel needs."""
        starts = range(0, self.run, BYTES) if self.run >= BYTES else (0,)
        last = max(self.run - BYTES, 0)
        return BYTES + max(min(start, last) % self.windows.channels for start in starts)

    @property
    def columns(self) -> int:
        """Of a row in the room."""
        at = self.windows
        return at.out[1] + (at.axes[1].reach - 1) // at.strides[1]

    @property
    def phases(self) -> tuple[int, ...]:
        """Which columns of the input are read, modulo the stride."""
        at = self.windows
        return tuple(sorted({tap * at.dilation[1] % at.strides[1] for tap in range(at.kernel[1])}))

    @property
    def line(self) -> int:
        """Bytes of a row of one phase in the room."""
        return round_up(self.columns * self.windows.channels, 8)

    @property
    def room(self) -> int:
        """Bytes of scratch: rows, what a vector may read behind them, and a vector of outputs."""
        rows = self.windows.kernel[0] * len(self.phases) * self.line
        return rows + (0 if self.run >= BYTES else 2 * BYTES)

    def weights(self, values: Any) -> Any:
        """Weights [elements, channels] as they are packed."""
        taps, channels = values.shape
        every = np.pad(values, ((0, self.groups * GROUP - taps), (0, 0)))[:, self._channels(channels)]
        return every.reshape(self.groups, GROUP, self.lanes).transpose(0, 2, 1)

    def scales(self, bias: Any, _weights: Any) -> Any:
        """The table of scales."""
        return self.requantizer.table(bias, self._channels(self.windows.channels))

    def _channels(self, channels: int) -> list[int]:
        return [lane % channels for lane in range(self.lanes)]

    def definition(self) -> Definition:
        """The same in C."""
        at, pad = self.windows, -self.requantizer.about.input_offset
        over = summed_over(kh=at.kernel[0], kw=at.kernel[1])

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            (row, column), k = over, output[-1]
            value, tap = seen(at, x, output, (row, column), k, pad), row * at.kernel[1] + column
            return te.sum(value * w[tirx.floordiv(tap, GROUP), k, tap % GROUP].astype("int32"), axis=over)

        packed = (self.groups, self.lanes, GROUP), self.lanes
        return behaviour(at, at.channels, packed, self.requantizer, terms)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, out and room."""
        at = self.windows
        with to.loop(at.batch) as image, to.loop(at.out[0]) as row:
            for tap in range(at.kernel[0]):
                for number, phase in enumerate(self.phases):
                    y = at.axes[0].at(row, tap)
                    self._copy_line(to, pointers, (image, y, phase), self._line(tap, number))
            with to.loop(ceil_div(self.run, BYTES)) as some:
                first = tirx.min(some * BYTES, max(self.run - BYTES, 0))
                result = self._outputs(to, pointers, first)
                self._store(to, pointers, (image * at.out[0] + row) * self.run + first, result)

    def _line(self, tap: int, phase: int) -> int:
        return (tap * len(self.phases) + phase) * self.line

    def _copy_line(
        self, to: Writer, pointers: tuple[Pointer, ...], of: tuple[Any, Any, int], offset: int
    ) -> None:
        """Copies the columns of a phase from a row of the input, and pads them."""
        at, pad = self.windows, -self.requantizer.about.input_offset
        (image, y, phase), channels = of, at.channels
        low = max(0, ceil_div(at.before[1] - phase, at.strides[1]))
        high = min(self.columns, (at.image[1] - 1 + at.before[1] - phase) // at.strides[1] + 1)
        target = Place(pointer=pointers[-1], offset=offset, multiple=8)
        high = max(low, high)
        for start, end in ((0, min(low, self.columns)), (high, self.columns)):
            if end > start:
                fill(to, target.plus(start * channels, channels), pad, (end - start) * channels)
        if high == low:
            return
        column = low * at.strides[1] + phase - at.before[1]
        begin = ((image * at.image[0] + y) * at.image[1] + column) * channels
        source = Place(pointer=pointers[0], offset=begin, multiple=channels)
        inner = target.plus(low * channels, channels)
        inside = tirx.all(y >= 0, y < at.image[0])
        with to.when(inside):
            self._copy_columns(to, inner, source, high - low)
        with to.when(tirx.Not(inside)):
            fill(to, inner, pad, (high - low) * channels)

    def _copy_columns(self, to: Writer, target: Place, source: Place, count: int) -> None:
        stride, channels = self.windows.strides[1], self.windows.channels
        if stride == 1:
            copy(to, target, source, count * channels)
            return
        with to.loop(count) as column:
            here, there = column * channels, column * stride * channels
            copy(to, target.plus(here, channels), source.plus(there, channels), channels)

    def _outputs(self, to: Writer, pointers: tuple[Pointer, ...], first: Any) -> Any:
        """The vector of 128 outputs from a place in a row."""
        _, w, scales, _, room = pointers
        table, lane = to.view(scales, 4), tirx.floormod(first, self.windows.channels)
        starts = [lane + number * WORDS for number in range(4)]
        sums = [of_lanes(table, 0, self.lanes, start) for start in starts]
        kept = [to.variable(WORD, WORDS) for _ in sums]
        for local, total in zip(kept, sums, strict=True):
            store_vector(to, local, 0, total)
        for group, data in enumerate(self._groups(to, room, first)):
            for local, start, values in zip(kept, starts, data, strict=True):
                weights = vector(to.view(w, 4), group * self.lanes + start)
                store_vector(to, local, 0, intrinsic("vrmpybv.acc", vector(local, 0), values, weights))
        words = [
            self.requantizer.words(
                to, vector(local, 0), *(of_lanes(table, row, self.lanes, start) for row in (1, 2))
            )
            for local, start in zip(kept, starts, strict=True)
        ]
        return packed(words)

    def _groups(self, to: Writer, room: Pointer, first: Any) -> Iterator[list[Any]]:
        """Of every four elements of the kernel, the bytes that 128 outputs read, four of each together."""
        at = self.windows
        taps = [(row, column) for row in range(at.kernel[0]) for column in range(at.kernel[1])]
        for start in range(0, len(taps), GROUP):
            some = taps[start : start + GROUP]
            some += [some[-1]] * (GROUP - len(some))
            one, two, three, four = (self._tap(to, room, first, tap) for tap in some)
            yield _interleaved(to, ((one, two), (three, four)))

    def _tap(self, to: Writer, room: Pointer, first: Any, tap: tuple[int, int]) -> Any:
        at = self.windows
        column = tap[1] * at.dilation[1]
        phase = self.phases.index(column % at.strides[1])
        start = self._line(tap[0], phase) + column // at.strides[1] * at.channels
        local = to.variable(WORD, WORDS)
        value = tirx.reinterpret(VECTOR, vector(to.view(room, 1), start + first))
        store_vector(to, local, 0, value)
        return vector(local, 0)

    def _store(self, to: Writer, pointers: tuple[Pointer, ...], offset: Any, result: Any) -> None:
        *_, out, room = pointers
        if self.run >= BYTES:
            store_vector(to, to.view(out, 1), offset, result)
            return
        kept = self.room - BYTES
        store_vector(to, to.view(room, 1), kept, result)
        target = Place(pointer=out, offset=offset, multiple=self.run)
        copy(to, target, Place(pointer=room, offset=kept, multiple=8), self.run)


def _interleaved(to: Writer, pairs: tuple[tuple[Any, Any], tuple[Any, Any]]) -> list[Any]:
    """Four vectors of bytes as four in which the bytes of every lane are together."""
    first, second = (_halves(to, one, two, -1) for one, two in pairs)
    return [half for low, high in zip(first, second, strict=True) for half in _halves(to, low, high, -2)]


def _halves(to: Writer, even: Any, odd: Any, width: int) -> list[Any]:
    """Two vectors with their bytes (width -1) or halfwords (-2) taken in turns."""
    return list(registers(to, intrinsic("vshuffvdd", odd, even, tirx.const(width, WORD), dtype=PAIR)))
