"""Products of 32 neighbouring outputs as vectors of 32 words, one of each output, from lines of an image.

Some rows of the image are copied to the room, as values from 0 to 255, with the zero point in place of
padding, so that a row of outputs reads what is adjacent there: with strides, every so many rows are together.
A word has four products that are adjacent in a row of a window, and a load of vectors, whose bytes are moved
by `routes`, has those of 32 outputs. The outputs of some rows are one sequence: where the next row begins,
the routes know. Pixels that are their own window are a row without padding.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.instructions import (
    GROUP,
    STORED,
    everywhere,
    hidden_zero,
    intrinsic,
    kept,
    word_of,
)
from target_arch.backends.cores.hvx.routes import ByteRoute, moved, routes_of_all
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
from target_arch.soc.rounding import ceil_div, round_up

_MOST_BYTES = 6144
"""Of the lines in the room."""
_WRITTEN_OUT = 64
"""The most routes of bytes that are made one after the other; more are made in loops, which are a half to a
quarter of the code and take a few percent more packets.
"""


@frozen(kw_only=True, eq=False)
class Lines:
    """Windows that read whole runs of bytes along a row. `pad` is the value outside of the image; a tile has
    the outputs of so many `vectors`.
    """

    windows: ImageWindows
    pad: int
    vectors: int

    @property
    def step(self) -> int:
        """Bytes from an output to the next in a row."""
        at = self.windows
        return at.channels * (1 if at.plain else at.strides[1])

    @property
    def words(self) -> int:
        """Words of a row of a window."""
        return ceil_div(self.windows.kernel[1] * self.windows.channels, GROUP)

    @property
    def groups(self) -> int:
        """Words of an output."""
        return self.windows.kernel[0] * self.words

    @property
    def _tile(self) -> int:
        """Outputs of a tile."""
        return self.vectors * WORDS

    @property
    def _width(self) -> int:
        """Outputs of a row; of pixels that are their own windows those of a tile."""
        return self._tile if self.windows.plain else self.windows.out[1]

    @property
    def _phases(self) -> int:
        return 1 if self.windows.plain else self.windows.strides[0]

    @property
    def pitch(self) -> int:
        """Bytes from a row to the next that is together with it."""
        at = self.windows
        return (self._width - 1) * self.step + (at.axes[1].reach * at.channels)

    @cached_property
    def rows(self) -> int:
        """Rows of outputs that are one sequence: the fewest that leave the fewest lanes empty."""
        at = self.windows
        if at.plain:
            return 1
        least = ceil_div(self._tile, self._width)
        counts = [
            rows for rows in range(least, at.out[0] + 1) if rows == least or self._bytes(rows) <= _MOST_BYTES
        ]
        return min(
            counts,
            key=lambda rows: (ceil_div(at.out[0], rows) * ceil_div(rows * self._width, self._tile), rows),
        )

    def _together(self, rows: int) -> int:
        """Rows of the image that are together, for so many rows of outputs."""
        return ceil_div(self._lines(rows), self._phases)

    def _lines(self, rows: int) -> int:
        """Rows of the image for so many rows of outputs."""
        return (rows - 1) * self._phases + self.windows.axes[0].reach

    def _phase_bytes(self, rows: int) -> int:
        return round_up(self._together(rows) * self.pitch + self._left + 2 * BYTES, BYTES)

    @property
    def _left(self) -> int:
        """Bytes of padding before a row."""
        return self.windows.before[1] * self.windows.channels

    def _bytes(self, rows: int) -> int:
        return self._phases * self._phase_bytes(rows)

    @property
    def room(self) -> int:
        """Bytes of lines, and of what is read behind them."""
        return self._bytes(self.rows) + round_up(self.loads * BYTES + self.line, BYTES)

    @property
    def tiles(self) -> int:
        """Of a sequence."""
        return ceil_div(self.rows * self._width, self._tile)

    @property
    def starts(self) -> list[int]:
        """The first outputs of the vectors of all tiles of a sequence."""
        last = self.rows * self._width - self._tile
        firsts = [min(tile * self._tile, last) for tile in range(self.tiles)]
        return [first + WORDS * number for first in firsts for number in range(self.vectors)]

    @cached_property
    def routes(self) -> tuple[tuple[ByteRoute, ...], ...] | None:
        """Of each vector of outputs the routes of its bytes; None where there are none."""
        return routes_of_all([self._sources(first) for first in self.starts])

    @property
    def line(self) -> int:
        """Products of a row of a window, in whole words."""
        return self.words * GROUP

    @property
    def cost(self) -> int:
        """Instructions for the words of 32 pixels: routes of bytes."""
        return self.loads * self.groups

    @property
    def loads(self) -> int:
        """Vectors that one of words is made of."""
        return max(self._sources(first)[-1] for first in self.starts) // BYTES + 1

    def _sources(self, first: int) -> list[int]:
        """Where the bytes of a word of 32 outputs are, from that of the first of them on."""
        places = [
            (number // self._width) * self.pitch + number % self._width * self.step
            for number in range(first, first + WORDS)
        ]
        return [place - places[0] + byte for place in places for byte in range(GROUP)]

    def products(self, weights: Any) -> Any:
        """Weights [outputs, products] with zeros where words of a row have more bytes than the row."""
        at = self.windows
        rows = weights.reshape(len(weights), at.kernel[0], at.kernel[1] * at.channels)
        more = self.line - rows.shape[2]
        return np.pad(rows, ((0, 0), (0, 0), (0, more))).reshape(len(weights), -1)

    @contextmanager
    def tile(self, to: Writer, pointers: tuple[Pointer, ...]) -> Iterator[Any]:
        """Loops over tiles of outputs, whose words are made behind this room; the first output of each.
        Pointers are x, routes and the room.
        """
        x, routes, room = pointers
        with self._sequence(to, x, room) as first, to.loop(self.tiles) as tile:
            if self.vectors * self.cost > _WRITTEN_OUT:
                with to.loop(self.vectors, hidden_zero()) as part:
                    self._write(to, (routes, room), (tile, part), hidden_zero())
            else:
                for part in range(self.vectors):
                    self._write(to, (routes, room), (tile, part), 0)
            yield first + self._first(tile)

    @contextmanager
    def _sequence(self, to: Writer, x: Pointer, room: Pointer) -> Iterator[Any]:
        """A loop over the sequences, whose lines are copied to the room; the first output of each."""
        at = self.windows
        if at.plain:
            with to.loop(ceil_div(at.pixels, self._tile)) as some:
                first = tirx.min(some * self._tile, at.pixels - self._tile)
                self._copy_pixels(to, x, room, first)
                yield first
            return
        with to.loop(at.batch) as image, to.loop(ceil_div(at.out[0], self.rows)) as some:
            row = tirx.min(some * self.rows, at.out[0] - self.rows)
            self._copy_rows(to, x, room, (image, row))
            yield (image * at.out[0] + row) * at.out[1]

    def _copy_pixels(self, to: Writer, x: Pointer, room: Pointer, first: Any) -> None:
        size, channels = self._tile * self.windows.channels, self.windows.channels
        source, target = to.view(x, 1), to.view(room, 1)
        for place in (min(each, size - BYTES) for each in range(0, size, BYTES)):
            store_vector(to, target, place, _stored(vector(source, first * channels + place)))

    def _copy_rows(self, to: Writer, x: Pointer, room: Pointer, of: tuple[Any, Any]) -> None:
        at, (image, row) = self.windows, of
        target = to.view(room, 1)
        padding = tirx.Broadcast(tirx.const(self.pad ^ -STORED, "int8"), BYTES)
        for phase in range(self._phases):
            for place in range(0, self._left, BYTES):
                store_vector(to, target, phase * self._phase_bytes(self.rows) + place, padding)
        size = min(at.image[1] * at.channels, self.pitch - self._left)
        with to.loop(self._lines(self.rows)) as line:
            y = row * at.strides[0] - at.before[0] + line
            inside = tirx.all(y >= 0, y < at.image[0])
            phase, number = tirx.floormod(line, self._phases), tirx.floordiv(line, self._phases)
            place = phase * self._phase_bytes(self.rows) + number * self.pitch + self._left
            start = (image * at.image[0] + y) * (at.image[1] * at.channels)
            with to.when(inside):
                self._copy_row(to, (x, start), (room, place), size)
            with to.when(tirx.Not(inside)):
                for some in range(0, self.pitch, BYTES):
                    store_vector(to, target, place + some, padding)

    def _copy_row(
        self, to: Writer, source: tuple[Pointer, Any], target: tuple[Pointer, Any], size: int
    ) -> None:
        """Copies a row, and behind it what is padding: a later row replaces what is too much of that."""
        (x, start), (room, place) = source, target
        data, lines = to.view(x, 1), to.view(room, 1)
        whole = size // BYTES * BYTES
        for some in range(0, whole, BYTES):
            store_vector(to, lines, place + some, _stored(vector(data, start + some)))
        last = tirx.min(start + whole, x.size - BYTES)
        words = tirx.reinterpret(VECTOR, _stored(vector(data, last)))
        turned = kept(to, intrinsic("vror", words, start + whole - last))
        inside = intrinsic("pred.scalar2", tirx.const(size - whole, WORD), dtype="boolx128")
        padding = everywhere(word_of(self.pad + STORED))
        value = intrinsic("vmux", inside, turned, padding)
        store_vector(to, lines, place + whole, tirx.reinterpret("int8x128", value))
        for some in range(whole + BYTES, self.pitch, BYTES):
            store_vector(to, lines, place + some, tirx.reinterpret("int8x128", padding))

    def _first(self, tile: Any) -> Any:
        """The first output of a tile, in its sequence."""
        return tirx.min(tile * self._tile, self.rows * self._width - self._tile) if self.tiles > 1 else 0

    def _write(self, to: Writer, pointers: tuple[Pointer, Pointer], at: tuple[Any, Any], zero: Any) -> None:
        """Makes the words of a vector of a tile, in loops of `zero` turns more."""
        routes, room = pointers
        assert self.routes is not None
        tile, part = at
        first = self._first(tile) + part * WORDS
        row, column = tirx.floordiv(first, self._width), tirx.floormod(first, self._width)
        begin = row * self.pitch + column * self.step
        control = (tile * self.vectors + part) * self.loads
        with to.loop(self.windows.kernel[0], zero) as line:
            down = line * self.windows.dilation[0]
            phase, number = tirx.floormod(down, self._phases), tirx.floordiv(down, self._phases)
            place = begin + phase * self._phase_bytes(self.rows) + number * self.pitch
            with to.loop(self.words, zero) as word:
                source = room, place + word * GROUP
                value = moved(to, routes, source, self.routes[0], control)
                at_word = self.room // GROUP + (line * self.words + word) * self._tile + part * WORDS
                store_vector(to, to.view(room, 4), at_word, value)

    def controls(self) -> Any:
        """The controls of all tiles, one after the other, int8 [vectors, 128]."""
        assert self.routes is not None
        rows = [[each.control for each in tile] for tile in self.routes]
        return np.asarray(rows, np.uint8).view(np.int8).reshape(-1, BYTES)


def _stored(value: Any) -> Any:
    """A vector of int8 as values from 0 to 255."""
    return tirx.bitwise_xor(value, tirx.Broadcast(tirx.const(-STORED, "int8"), BYTES))
