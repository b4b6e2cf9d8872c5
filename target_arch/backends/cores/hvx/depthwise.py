"""Depthwise convolutions: a vector has whole neighbouring pixels of a row, or 128 channels of one.

A column of the kernel is one instruction for 32 outputs, whose words are adjacent (`columns`). Two rows of
outputs read the same words where their windows have at most four rows together: the second has its weights
one byte further. Weights are [rows of outputs][columns of the kernel, four of its rows][lanes][4]; weights
and scales repeat the channels as often as a vector has pixels.
"""

from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.columns import Columns
from target_arch.backends.cores.hvx.copies import Place, copy, fill
from target_arch.backends.cores.hvx.instructions import GROUP, intrinsic, kept
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTE,
    BYTES,
    VECTOR,
    WORD,
    WORDS,
    Pointer,
    Writer,
    element,
    store_vector,
    vector,
)
from target_arch.relax.te.definition import Definition
from target_arch.soc.rounding import ceil_div, round_up

_QUARTERS = BYTES // WORDS
"""Vectors of words of as many bytes as a vector has."""


@frozen(kw_only=True, eq=False)
class Depthwise:
    """A depthwise convolution with as many outputs as inputs."""

    windows: ImageWindows
    requantizer: Requantizer

    @cached_property
    def columns(self) -> Columns:
        return Columns(windows=self.windows, pad=self.requantizer.pad)

    @property
    def chunks(self) -> int:
        """Vectors of the channels of a pixel."""
        return ceil_div(self.windows.channels, BYTES)

    @property
    def lanes(self) -> int:
        """Of weights and scales."""
        return self.chunks * BYTES

    @property
    def _run(self) -> int:
        """Outputs of a row."""
        return self.windows.out[1] * self.windows.channels

    @property
    def _collected(self) -> bool:
        """True where rows of outputs fill vectors: they are copied from the room."""
        return self._run >= BYTES

    @property
    def _result_bytes(self) -> int:
        return round_up(self._run + self.columns.pixels * self.windows.channels + BYTES, BYTES)

    def _result(self, number: int) -> int:
        """Where a row of outputs is in the room."""
        return self.columns.room + number * self._result_bytes

    @property
    def room(self) -> int:
        """Bytes of scratch: columns of words, rows with their padding, and rows of outputs."""
        return self._result(self.columns.rows)

    def weights(self, values: Any) -> Any:
        """Weights [elements, channels] as they are packed."""
        at, rows, groups = self.windows, self.columns.rows, self.columns.groups
        packed = np.zeros((rows, at.kernel[1], groups * GROUP, self.lanes), values.dtype)
        kernel = values.reshape(at.kernel[0], at.kernel[1], at.channels).transpose(1, 0, 2)
        channels = self._channels()
        taken = np.where(channels < 0, 0, kernel[:, :, channels])
        for row in range(rows):
            packed[row, :, row : row + at.kernel[0]] = taken
        shape = (rows, at.kernel[1] * groups, GROUP, self.lanes)
        return packed.reshape(shape).transpose(0, 1, 3, 2)

    def scales(self, bias: Any, _weights: Any) -> Any:
        """The table of scales."""
        return self.requantizer.table(bias, list(self._channels()))

    def _channels(self) -> Any:
        """Of each lane, -1 where there is none."""
        channels = self.windows.channels
        if channels <= BYTES:
            lanes = np.arange(BYTES)
            return np.where(lanes < self.columns.run, lanes % channels, -1)
        starts = [min(chunk * BYTES, channels - BYTES) for chunk in range(self.chunks)]
        return np.concatenate([start + np.arange(BYTES) for start in starts])

    def routes(self) -> Any:
        """Controls of vectors whose bytes are moved, None where there are none."""
        return self.columns.routes()

    def definition(self) -> Definition:
        """The same in C."""
        at, pad = self.windows, self.requantizer.pad
        over = summed_over(kh=at.kernel[0], kw=at.kernel[1])
        first = (self.chunks - 1) * BYTES

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            (row, column), k = over, output[-1]
            value = seen(at, x, output, (row, column), k, pad)
            lane = _lane(k)
            which = column * self.columns.groups + tirx.floordiv(row, GROUP)
            return te.sum(value * w[0, which, lane, row % GROUP].astype("int32"), axis=over)

        def _lane(k: Any) -> Any:
            return k if self.chunks == 1 else tirx.Select(k < first, k, k + self.lanes - at.channels)

        packed = (self.columns.rows, at.kernel[1] * self.columns.groups, self.lanes, GROUP), self.lanes
        return behaviour(at, at.channels, packed, self.requantizer, terms, lane=_lane)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, routes where there are any, out and
        room.
        """
        at, columns = self.windows, self.columns
        x, _, scales, *routes, out, room = pointers
        zero = self._zero(to, scales)
        fill(to, Place(pointer=room, offset=0, multiple=BYTES), columns.pad, self.room)
        with to.loop(at.batch) as image, to.loop(ceil_div(at.out[0], columns.rows)) as some:
            row = tirx.min(some * columns.rows, at.out[0] - columns.rows)
            columns.write(to, (x, *routes, room), (image, row), zero)
            steps = ceil_div(at.out[1], columns.pixels)
            with to.loop(self.chunks) as chunk, to.loop(steps, zero) as step:
                column, lane = step * columns.pixels, chunk * BYTES
                channel = tirx.min(lane, at.channels - BYTES) if self.chunks > 1 else 0
                results = self._outputs(to, pointers, (column, lane, channel), zero * step)
                for number, result in enumerate(results):
                    if self._collected:
                        place = self._result(number) + column * at.channels + channel
                        store_vector(to, to.view(room, 1), place, result)
                    else:
                        pixel = (image * at.out[0] + row) * at.out[1] + column
                        self._store(to, pointers, pixel * at.channels + channel, result)
            for number in range(columns.rows if self._collected else 0):
                place = (image * at.out[0] + row + number) * self._run
                target = Place(pointer=out, offset=place, multiple=1)
                source = Place(pointer=room, offset=self._result(number), multiple=BYTES)
                copy(to, target, source, self._run)

    def _zero(self, to: Writer, scales: Pointer) -> Any:
        """A shift without its lower bits, which is 0."""
        shift = element(to.view(scales, 4), 2 * self.lanes)
        return tirx.max(shift, 0) >> tirx.const(6, WORD)

    def _outputs(
        self, to: Writer, pointers: tuple[Pointer, ...], at: tuple[Any, Any, Any], zero: Any
    ) -> list[Any]:
        """Of each row of outputs the vector from a column on, in lanes and channels from some on. `zero` is
        0, but LLVM does not know: it would keep weights in registers that there are not.
        """
        _, w, scales, *_, room = pointers
        column, lane, channel = at
        table, weights, words = to.view(scales, 4), to.view(w, 4), to.view(room, 4)
        starts = [lane + number * WORDS for number in range(_QUARTERS)]
        sums = [[to.variable(WORD, WORDS) for _ in starts] for _ in range(self.columns.rows)]
        for number, start in enumerate(starts):
            bias = kept(to, of_lanes(table, 0, self.lanes, start + zero * WORDS))
            for row in sums:
                store_vector(to, row[number], 0, bias)
        kernel = self.windows.kernel[1]
        for tap, group in product(range(kernel), range(self.columns.groups)):
            place = self.columns.words(tap, group, column) + channel
            for number, start in enumerate(starts):
                values = kept(to, vector(words, place + number * WORDS))
                for line, row in enumerate(sums):
                    which = (line * kernel + tap) * self.columns.groups + group + zero
                    weight = vector(weights, which * self.lanes + start)
                    added = intrinsic("vrmpybv.acc", vector(row[number], 0), values, weight)
                    store_vector(to, row[number], 0, added)
        return [self._requantized(to, table, row, starts) for row in sums]

    def _requantized(self, to: Writer, table: Any, sums: list[Any], starts: list[Any]) -> Any:
        results = [
            self.requantizer.words(
                to, vector(total, 0), *(of_lanes(table, scale, self.lanes, start) for scale in (1, 2))
            )
            for total, start in zip(sums, starts, strict=True)
        ]
        return self.requantizer.in_order(results)

    def _store(self, to: Writer, pointers: tuple[Pointer, ...], place: Any, result: Any) -> None:
        """Stores the outputs of a vector. What it has too much the next one replaces; at the end, behind
        which none follows, the bytes before are stored once more.
        """
        *_, out, room = pointers
        target, value = to.view(out, 1), to.variable(BYTE, BYTES)
        store_vector(to, value, 0, result)
        if out.size < BYTES:
            store_vector(to, to.view(room, 1), self._result(0), vector(value, 0))
            source = Place(pointer=room, offset=self._result(0), multiple=BYTES)
            copy(to, Place(pointer=out, offset=place, multiple=1), source, self.columns.run)
            return
        with to.when(place + BYTES <= out.size):
            store_vector(to, target, place, vector(value, 0))
        with to.when(place + BYTES > out.size):
            first, own = out.size - BYTES, out.size - place
            before = tirx.reinterpret(VECTOR, vector(target, first))
            turned = tirx.reinterpret(VECTOR, vector(value, 0))
            turned = intrinsic("vror", turned, own)
            old = intrinsic("pred.scalar2", BYTES - own, dtype="boolx128")
            both = intrinsic("vmux", old, before, turned)
            store_vector(to, target, first, tirx.reinterpret("int8x128", both))
