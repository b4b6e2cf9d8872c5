"""Depthwise convolutions: a vector has whole neighbouring pixels of a row, or 128 channels of one.

Four rows of the image are shuffled together, so that a word has the elements of a column of the kernel, and
stored in the room as columns of words, with the zero point in place of padding: a column of the kernel is
then one instruction for 32 outputs, whose words are adjacent. Two rows of outputs read the same words where
their windows have at most four rows together: the second has its weights one byte further. With strides,
columns that the same elements of windows read are together. Weights are [rows of outputs][columns of the
kernel, four of its rows][lanes][4]; weights and scales repeat the channels as often as a vector has pixels.
"""

from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.copies import Place, copy, fill
from target_arch.backends.cores.hvx.instructions import PAIR, everywhere, intrinsic, kept, registers
from target_arch.backends.cores.hvx.products import GROUP
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes
from target_arch.backends.cores.hvx.routes import ByteRoute, moved, routes_of_all
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

    @property
    def pixels(self) -> int:
        """Of a vector."""
        return max(1, min(BYTES // self.windows.channels, self.windows.out[1]))

    @property
    def chunks(self) -> int:
        """Vectors of the channels of a pixel."""
        return ceil_div(self.windows.channels, BYTES)

    @property
    def run(self) -> int:
        """Outputs of a vector."""
        return min(self.pixels * self.windows.channels, BYTES)

    @property
    def rows(self) -> int:
        """Rows of outputs that read the same words."""
        at = self.windows
        close = at.strides[0] == at.dilation[0] == 1 and at.kernel[0] < GROUP
        return 2 if close and at.out[0] > 1 and at.out[1] * at.channels >= BYTES else 1

    @property
    def read(self) -> int:
        """Rows of the image in words."""
        return self.windows.kernel[0] + self.rows - 1

    @property
    def groups(self) -> int:
        """Words of a column of the kernel."""
        return ceil_div(self.read, GROUP)

    @property
    def apart(self) -> int:
        """How many columns of the image further the next column of words is that is beside one."""
        return self.windows.strides[1] if self.pixels > 1 else 1

    @property
    def columns(self) -> int:
        """Columns of words that are beside one another."""
        at = self.windows
        return ceil_div((at.out[1] - 1) * at.strides[1] + at.axes[1].reach, self.apart)

    @property
    def phases(self) -> tuple[int, ...]:
        """Which columns of the image are read, modulo `apart`."""
        at = self.windows
        return tuple(sorted({tap * at.dilation[1] % self.apart for tap in range(at.kernel[1])}))

    @property
    def lanes(self) -> int:
        """Of weights and scales."""
        return self.chunks * BYTES

    @property
    def _column_bytes(self) -> int:
        """Of columns of words that are beside one another, and of what is stored behind them."""
        return round_up((self.columns + self.pixels) * self.windows.channels * GROUP + BYTES * GROUP, BYTES)

    @property
    def _line_bytes(self) -> int:
        """Of a row with its padding, where columns that are together are taken out of it."""
        at = self.windows
        if self.apart == 1:
            return 0
        read = (self.columns + self.pixels) * self.apart * at.channels
        return round_up(max(read, (at.before[1] + at.image[1]) * at.channels) + self.apart * BYTES, BYTES)

    @property
    def _lines(self) -> int:
        """Where rows with their padding are in the room."""
        return self.groups * len(self.phases) * self._column_bytes

    @property
    def _run(self) -> int:
        """Outputs of a row."""
        return self.windows.out[1] * self.windows.channels

    @property
    def _collected(self) -> bool:
        """True where rows of outputs fill vectors: they are copied from the room."""
        return self._run >= BYTES

    @property
    def _results(self) -> int:
        """Where rows of outputs are in the room."""
        return self._lines + self.read * self._line_bytes

    @property
    def _result_bytes(self) -> int:
        return round_up(self._run + self.pixels * self.windows.channels + BYTES, BYTES)

    @property
    def room(self) -> int:
        """Bytes of scratch: columns of words, rows with their padding, and rows of outputs."""
        return self._results + self.rows * self._result_bytes

    def weights(self, values: Any) -> Any:
        """Weights [elements, channels] as they are packed."""
        at = self.windows
        packed = np.zeros((self.rows, at.kernel[1], self.groups * GROUP, self.lanes), values.dtype)
        kernel = values.reshape(at.kernel[0], at.kernel[1], at.channels).transpose(1, 0, 2)
        for row in range(self.rows):
            channels = self._channels()
            taken = np.where(channels < 0, 0, kernel[:, :, channels])
            packed[row, :, row : row + at.kernel[0]] = taken
        shape = (self.rows, at.kernel[1] * self.groups, GROUP, self.lanes)
        return packed.reshape(shape).transpose(0, 1, 3, 2)

    def scales(self, bias: Any, _weights: Any) -> Any:
        """The table of scales."""
        return self.requantizer.table(bias, list(self._channels()))

    def _channels(self) -> Any:
        """Of each lane, -1 where there is none."""
        channels = self.windows.channels
        if channels <= BYTES:
            lanes = np.arange(BYTES)
            return np.where(lanes < self.run, lanes % channels, -1)
        starts = [min(chunk * BYTES, channels - BYTES) for chunk in range(self.chunks)]
        return np.concatenate([start + np.arange(BYTES) for start in starts])

    @cached_property
    def _routes(self) -> tuple[ByteRoute, ...]:
        """Routes that take columns that are together out of a row."""
        channels = self.windows.channels
        places = [byte // channels * self.apart * channels + byte % channels for byte in range(self.run)]
        made = routes_of_all([places])
        assert made is not None
        return made[0]

    def routes(self) -> Any:
        """Their controls, None where columns are together."""
        if self.apart == 1:
            return None
        return np.asarray([each.control for each in self._routes], np.uint8).view(np.int8)

    def definition(self) -> Definition:
        """The same in C."""
        at, pad = self.windows, -self.requantizer.about.input_offset
        over = summed_over(kh=at.kernel[0], kw=at.kernel[1])
        first = (self.chunks - 1) * BYTES

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            (row, column), k = over, output[-1]
            value = seen(at, x, output, (row, column), k, pad)
            lane = _lane(k)
            which = column * self.groups + tirx.floordiv(row, GROUP)
            return te.sum(value * w[0, which, lane, row % GROUP].astype("int32"), axis=over)

        def _lane(k: Any) -> Any:
            return k if self.chunks == 1 else tirx.Select(k < first, k, k + self.lanes - at.channels)

        packed = (self.rows, at.kernel[1] * self.groups, self.lanes, GROUP), self.lanes
        return behaviour(at, at.channels, packed, self.requantizer, terms, lane=_lane)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, routes where there are any, out and
        room.
        """
        at = self.windows
        *_, out, room = pointers
        fill(to, Place(pointer=room, offset=0, multiple=BYTES), self._pad, self.room)
        with to.loop(at.batch) as image, to.loop(ceil_div(at.out[0], self.rows)) as some:
            row = tirx.min(some * self.rows, at.out[0] - self.rows)
            self._write_words(to, pointers, (image, row))
            steps, zero = ceil_div(at.out[1], self.pixels), self._zero(to, pointers)
            with to.loop(self.chunks) as chunk, to.loop(steps, zero) as step:
                column, lane = step * self.pixels, chunk * BYTES
                channel = tirx.min(lane, at.channels - BYTES) if self.chunks > 1 else 0
                results = self._outputs(to, pointers, (column, lane, channel), zero * step)
                for number, result in enumerate(results):
                    if self._collected:
                        place = self._results + number * self._result_bytes + column * at.channels + channel
                        store_vector(to, to.view(room, 1), place, result)
                    else:
                        pixel = (image * at.out[0] + row) * at.out[1] + column
                        self._store(to, pointers, pixel * at.channels + channel, result)
            for number in range(self.rows if self._collected else 0):
                place = (image * at.out[0] + row + number) * self._run
                target = Place(pointer=out, offset=place, multiple=1)
                source = Place(
                    pointer=room, offset=self._results + number * self._result_bytes, multiple=BYTES
                )
                copy(to, target, source, self._run)

    def _zero(self, to: Writer, pointers: tuple[Pointer, ...]) -> Any:
        """A shift without its lower bits, which is 0."""
        shift = element(to.view(pointers[2], 4), 2 * self.lanes)
        return tirx.max(shift, 0) >> tirx.const(6, WORD)

    @property
    def _pad(self) -> int:
        return -self.requantizer.about.input_offset

    @property
    def _padding(self) -> int:
        """The zero point as four bytes of a word."""
        return int.from_bytes(self._pad.to_bytes(1, "little", signed=True) * GROUP, "little", signed=True)

    def _write_words(self, to: Writer, pointers: tuple[Pointer, ...], of: tuple[Any, Any]) -> None:
        """Stores columns of words of the rows that a row of outputs reads, or two."""
        at, (image, row) = self.windows, of
        ys = [at.axes[0].at(row, tap) for tap in range(self.read)]
        size = at.image[1] * at.channels
        x, room = pointers[0], pointers[-1]
        if self.apart == 1:
            begin = at.before[1] * at.channels
            with to.loop(ceil_div(size, BYTES), self._zero(to, pointers)) as block:
                place = tirx.min(block * BYTES, max(size - BYTES, 0))
                values = [self._row(to, x, (image, y), place) for y in ys]
                self._shuffle(to, room, values, (0, begin + place))
            return
        lines = to.view(room, 1)
        for number, y in enumerate(ys):
            start = self._lines + number * self._line_bytes + at.before[1] * at.channels
            with to.loop(ceil_div(size, BYTES), self._zero(to, pointers)) as block:
                place = tirx.min(block * BYTES, max(size - BYTES, 0))
                value = self._row(to, x, (image, y), place)
                store_vector(to, lines, start + place, tirx.reinterpret("int8x128", value))
        with to.loop(ceil_div(self.columns, self.pixels), self._zero(to, pointers)) as block:
            column = block * self.pixels
            for number, phase in enumerate(self.phases):
                begin = (column * self.apart + phase) * at.channels
                values = [
                    moved(to, pointers[3], (room, self._lines + n * self._line_bytes + begin), self._routes)
                    for n in range(self.read)
                ]
                self._shuffle(to, room, values, (number, column * at.channels))

    def _row(self, to: Writer, x: Pointer, of: tuple[Any, Any], place: Any) -> Any:
        """128 bytes of a row of the image, the zero point outside of it."""
        at, (image, y) = self.windows, of
        size, padding = at.image[1] * at.channels, everywhere(self._padding)
        inside = tirx.max(tirx.min(y, at.image[0] - 1), 0)
        start = (image * at.image[0] + inside) * size + place
        if size >= BYTES:
            value = tirx.reinterpret(VECTOR, vector(to.view(x, 1), start))
        else:
            first = tirx.min(start, x.size - BYTES)
            turned = tirx.reinterpret(VECTOR, vector(to.view(x, 1), first))
            turned = intrinsic("vror", turned, start - first)
            own = intrinsic("pred.scalar2", tirx.const(size, WORD), dtype="boolx128")
            value = intrinsic("vmux", own, turned, padding)
        return kept(to, tirx.Select(tirx.all(y >= 0, y < at.image[0]), kept(to, value), padding))

    def _shuffle(self, to: Writer, room: Pointer, rows: list[Any], at: tuple[int, Any]) -> None:
        """Stores the words of 128 places of rows, behind so many places of the columns of a phase."""
        (phase, place), words = at, to.view(room, 4)
        for group in range(self.groups):
            some = rows[group * GROUP : (group + 1) * GROUP]
            one, two, three, four = (*some, *(some[-1],) * (GROUP - len(some)))
            start = (group * len(self.phases) + phase) * self._column_bytes // GROUP + place
            for number, word in enumerate(_interleaved(to, ((one, two), (three, four)))):
                store_vector(to, words, start + number * WORDS, word)

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
        sums = [[to.variable(WORD, WORDS) for _ in starts] for _ in range(self.rows)]
        for number, start in enumerate(starts):
            bias = kept(to, of_lanes(table, 0, self.lanes, start + zero * WORDS))
            for row in sums:
                store_vector(to, row[number], 0, bias)
        kernel = self.windows.kernel[1]
        for tap, group in product(range(kernel), range(self.groups)):
            place = self._words(tap, group, column) + channel
            for number, start in enumerate(starts):
                values = kept(to, vector(words, place + number * WORDS))
                for line, row in enumerate(sums):
                    which = (line * kernel + tap) * self.groups + group + zero
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

    def _words(self, tap: int, group: int, column: Any) -> Any:
        """Where the words of a column of the kernel are, of outputs from a column on."""
        at = self.windows
        right = tap * at.dilation[1]
        phase = self.phases.index(right % self.apart)
        start = (group * len(self.phases) + phase) * self._column_bytes // GROUP
        across = column * (at.strides[1] // self.apart) + right // self.apart
        return start + across * at.channels

    def _store(self, to: Writer, pointers: tuple[Pointer, ...], place: Any, result: Any) -> None:
        """Stores the outputs of a vector. What it has too much the next one replaces; at the end, behind
        which none follows, the bytes before are stored once more.
        """
        *_, out, room = pointers
        target, value = to.view(out, 1), to.variable(BYTE, BYTES)
        store_vector(to, value, 0, result)
        if out.size < BYTES:
            store_vector(to, to.view(room, 1), self._results, vector(value, 0))
            source = Place(pointer=room, offset=self._results, multiple=BYTES)
            copy(to, Place(pointer=out, offset=place, multiple=1), source, self.run)
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


def _interleaved(to: Writer, pairs: tuple[tuple[Any, Any], tuple[Any, Any]]) -> list[Any]:
    """Four vectors of bytes as four in which the bytes of every lane are together."""
    first, second = (_halves(to, one, two, -1) for one, two in pairs)
    return [half for low, high in zip(first, second, strict=True) for half in _halves(to, low, high, -2)]


def _halves(to: Writer, even: Any, odd: Any, width: int) -> list[Any]:
    """Two vectors with their bytes (width -1) or halfwords (-2) taken in turns."""
    return list(registers(to, intrinsic("vshuffvdd", odd, even, tirx.const(width, WORD), dtype=PAIR)))
