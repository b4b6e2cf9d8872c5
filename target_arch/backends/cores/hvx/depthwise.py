"""Depthwise convolutions: a vector has whole neighbouring pixels of a row, or 128 channels of one.

A column of the kernel is one instruction for 32 outputs, whose words are adjacent (`columns`). Two rows of
outputs read the same words where their windows have at most four rows together: for the second, weights are
shifted by a byte. Weights are [columns of the kernel, four of its rows][lanes][4]; weights and scales repeat
the channels as often as a vector has pixels.
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
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes, unknown_zero
from target_arch.backends.cores.hvx.units import Units
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTE,
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

_QUARTERS = BYTES // WORDS
"""Vectors of words of as many bytes as a vector has."""
_HELD = 12
"""The most vectors of weights that stay in registers, beside sums of two rows of outputs."""


@frozen(kw_only=True, eq=False)
class Depthwise:
    """A depthwise convolution with as many outputs as inputs."""

    windows: ImageWindows
    requantizer: Requantizer

    @cached_property
    def columns(self) -> Columns:
        return Columns(windows=self.windows, pad=self.requantizer.pad)

    @cached_property
    def units(self) -> Units:
        return Units(
            windows=self.windows, requantizer=self.requantizer, columns=self.columns, lanes=self.lanes
        )

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
        return self.columns.room if self.units.fit else self._result(self.columns.rows)

    def weights(self, values: Any) -> Any:
        """Weights [elements, channels] as they are packed."""
        at, groups = self.windows, self.columns.groups
        packed = np.zeros((at.kernel[1], groups * GROUP, self.lanes), values.dtype)
        kernel = values.reshape(at.kernel[0], at.kernel[1], at.channels).transpose(1, 0, 2)
        channels = self._channels()
        packed[:, : at.kernel[0]] = np.where(channels < 0, 0, kernel[:, :, channels])
        return packed.reshape(self._words, GROUP, self.lanes).transpose(0, 2, 1)

    @property
    def _words(self) -> int:
        """Words of weights of an output."""
        return self.windows.kernel[1] * self.columns.groups

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
            return te.sum(value * w[which, lane, row % GROUP].astype("int32"), axis=over)

        def _lane(k: Any) -> Any:
            return k if self.chunks == 1 else tirx.Select(k < first, k, k + self.lanes - at.channels)

        packed = (self._words, self.lanes, GROUP), self.lanes
        return behaviour(at, at.channels, packed, self.requantizer, terms, lane=_lane)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, routes where there are any, out and
        room.
        """
        at, columns, scales, room = self.windows, self.columns, pointers[2], pointers[-1]
        zero = unknown_zero(to.view(scales, 4), 2 * self.lanes)
        held = [] if self.units.fit else self._held(to, pointers)
        fill(to, Place(pointer=room, offset=0, multiple=BYTES), columns.pad, self.room)
        with to.loop(at.batch) as image, to.loop(ceil_div(at.out[0], columns.rows)) as some:
            row = tirx.min(some * columns.rows, at.out[0] - columns.rows)
            if self.units.fit:
                self.units.write(to, pointers, (image, row))
            else:
                self._rows(to, pointers, (image, row), (zero, held))

    def _rows(
        self,
        to: Writer,
        pointers: tuple[Pointer, ...],
        of: tuple[Any, Any],
        about: tuple[Any, list[list[Any]]],
    ) -> None:
        """Writes the rows of outputs that read the same columns, from a row of an image on."""
        (image, row), (zero, held), at, columns = of, about, self.windows, self.columns
        x, _, _, *routes, out, room = pointers
        columns.write(to, (x, *routes, room), (image, row), zero)
        steps = ceil_div(at.out[1], columns.pixels)
        with to.loop(self.chunks) as chunk, to.loop(steps, zero) as step:
            column, lane = step * columns.pixels, chunk * BYTES
            channel = tirx.min(lane, at.channels - BYTES) if self.chunks > 1 else 0
            results = self._outputs(to, pointers, (column, lane, channel), (zero * step, held))
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

    def _held(self, to: Writer, pointers: tuple[Pointer, ...]) -> list[list[Any]]:
        """Weights that stay in registers, by word and by quarter of the lanes; none where there are more."""
        if self.chunks > 1 or self._words * _QUARTERS > _HELD:
            return []
        return [self._weights(to, pointers, word, 0) for word in range(self._words)]

    def _weights(self, to: Writer, pointers: tuple[Pointer, ...], word: Any, lane: Any) -> list[Any]:
        """A word of the weights of the lanes of a vector."""
        weights, first = to.view(pointers[1], 4), word * self.lanes + lane
        return [kept(to, vector(weights, first + number * WORDS)) for number in range(_QUARTERS)]

    def _outputs(
        self, to: Writer, pointers: tuple[Pointer, ...], at: tuple[Any, Any, Any], known: tuple[Any, Any]
    ) -> list[Any]:
        """Of each row of outputs the vector from a column on, in lanes and channels from some on. What is
        known are a zero and the weights that are held: LLVM does not know that it is 0, and so does not keep
        others, shifted ones and scales in registers that there are not.
        """
        _, _, scales, *_, room = pointers
        (column, lane, channel), (zero, held) = at, known
        table, words = to.view(scales, 4), to.view(room, 4)
        starts = [lane + zero * WORDS + number * WORDS for number in range(_QUARTERS)]
        sums = [[to.variable(WORD, WORDS) for _ in starts] for _ in range(self.columns.rows)]
        for number, start in enumerate(starts):
            bias = kept(to, of_lanes(table, 0, self.lanes, start))
            for row in sums:
                store_vector(to, row[number], 0, bias)
        for tap, group in product(range(self.windows.kernel[1]), range(self.columns.groups)):
            which = tap * self.columns.groups + group
            weights = held[which] if held else self._weights(to, pointers, which + zero, lane)
            place = self.columns.words(tap, group, column) + channel
            for number, weight in enumerate(weights):
                value = kept(to, vector(words, place + number * WORDS))
                for line, row in enumerate(sums):
                    own = intrinsic("vaslw", weight, 8 * line + zero) if line else weight
                    added = intrinsic("vrmpybv.acc", vector(row[number], 0), value, own)
                    store_vector(to, row[number], 0, added)
        return [self._requantized(to, table, row, starts) for row in sums]

    def _requantized(self, to: Writer, table: Any, sums: list[Any], starts: list[Any]) -> Any:
        scales = [[of_lanes(table, row, self.lanes, start) for start in starts] for row in (1, 2)]
        return self.requantizer.by_lanes(to, [vector(total, 0) for total in sums], *scales)

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
