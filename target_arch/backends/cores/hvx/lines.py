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
from target_arch.backends.cores.hvx.line_layout import LineLayout
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

_WRITTEN_OUT = 64
"""The most routes of bytes that are made one after the other; more are made in loops, which are a half to a
quarter of the code and take a few percent more packets.
"""


@frozen(kw_only=True, eq=False)
class Lines:
    """Windows whose bytes are in lines. `pad` is the value outside of the image."""

    layout: LineLayout
    pad: int

    @property
    def windows(self) -> ImageWindows:
        return self.layout.windows

    @property
    def groups(self) -> int:
        """Words of an output."""
        return self.layout.groups

    @property
    def room(self) -> int:
        """Bytes of lines, and of what is read behind them."""
        return self.layout.bytes + round_up(self.loads * BYTES + self.line, BYTES)

    @cached_property
    def routes(self) -> tuple[tuple[ByteRoute, ...], ...] | None:
        """Of each vector of outputs the routes of its bytes; None where there are none."""
        return routes_of_all(self.layout.sources())

    @property
    def line(self) -> int:
        """Products of a row of a window, in whole words."""
        return self.layout.words * GROUP

    @property
    def cost(self) -> int:
        """Instructions for the words of 32 pixels: routes of bytes."""
        return self.loads * self.groups

    @cached_property
    def loads(self) -> int:
        """Vectors that one of words is made of."""
        return max(places[-1] for places in self.layout.sources()) // BYTES + 1

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
        with self._sequence(to, x, room) as first, to.loop(self.layout.tiles) as tile:
            if self.layout.vectors * self.cost > _WRITTEN_OUT:
                with to.loop(self.layout.vectors, hidden_zero()) as part:
                    self._write(to, (routes, room), (tile, part), hidden_zero())
            else:
                for part in range(self.layout.vectors):
                    self._write(to, (routes, room), (tile, part), 0)
            yield first + self._first(tile)

    @contextmanager
    def _sequence(self, to: Writer, x: Pointer, room: Pointer) -> Iterator[Any]:
        """A loop over the sequences, whose lines are copied to the room; the first output of each."""
        at = self.windows
        if at.plain:
            with to.loop(ceil_div(at.pixels, self.layout.tile)) as some:
                first = tirx.min(some * self.layout.tile, at.pixels - self.layout.tile)
                self._copy_pixels(to, x, room, first)
                yield first
            return
        with to.loop(at.batch) as image, to.loop(ceil_div(at.out[0], self.layout.rows)) as some:
            row = tirx.min(some * self.layout.rows, at.out[0] - self.layout.rows)
            self._copy_rows(to, x, room, (image, row))
            yield (image * at.out[0] + row) * at.out[1]

    def _copy_pixels(self, to: Writer, x: Pointer, room: Pointer, first: Any) -> None:
        size, channels = self.layout.tile * self.windows.channels, self.windows.channels
        source, target = to.view(x, 1), to.view(room, 1)
        for place in (min(each, size - BYTES) for each in range(0, size, BYTES)):
            store_vector(to, target, place, _stored(vector(source, first * channels + place)))

    def _copy_rows(self, to: Writer, x: Pointer, room: Pointer, of: tuple[Any, Any]) -> None:
        at, (image, row) = self.windows, of
        target = to.view(room, 1)
        padding = tirx.Broadcast(tirx.const(self.pad ^ -STORED, "int8"), BYTES)
        for phase in range(self.layout.phases):
            for place in range(0, self.layout.left, BYTES):
                store_vector(to, target, phase * self.layout.phase_bytes + place, padding)
        size = min(at.image[1] * at.channels, self.layout.pitch - self.layout.left)
        with to.loop(self.layout.lines) as line:
            y = row * at.strides[0] - at.before[0] + line
            inside = tirx.all(y >= 0, y < at.image[0])
            phase, number = tirx.floormod(line, self.layout.phases), tirx.floordiv(line, self.layout.phases)
            place = phase * self.layout.phase_bytes + number * self.layout.pitch + self.layout.left
            start = (image * at.image[0] + y) * (at.image[1] * at.channels)
            with to.when(inside):
                self._copy_row(to, (x, start), (room, place), size)
            with to.when(tirx.Not(inside)):
                for some in range(0, self.layout.pitch, BYTES):
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
        for some in range(whole + BYTES, self.layout.pitch, BYTES):
            store_vector(to, lines, place + some, tirx.reinterpret("int8x128", padding))

    def _first(self, tile: Any) -> Any:
        """The first output of a tile, in its sequence."""
        return tirx.min(tile * self.layout.tile, self.layout.last) if self.layout.tiles > 1 else 0

    def _write(self, to: Writer, pointers: tuple[Pointer, Pointer], at: tuple[Any, Any], zero: Any) -> None:
        """Makes the words of a vector of a tile, in loops of `zero` turns more."""
        routes, room = pointers
        assert self.routes is not None
        tile, part = at
        first = self._first(tile) + part * WORDS
        row, column = tirx.floordiv(first, self.layout.width), tirx.floormod(first, self.layout.width)
        begin = row * self.layout.pitch + column * self.layout.step
        control = (tile * self.layout.vectors + part) * self.loads
        with to.loop(self.windows.kernel[0], zero) as line:
            down = line * self.windows.dilation[0]
            phase, number = tirx.floormod(down, self.layout.phases), tirx.floordiv(down, self.layout.phases)
            place = begin + phase * self.layout.phase_bytes + number * self.layout.pitch
            with to.loop(self.layout.words, zero) as word:
                source = room, place + word * GROUP
                value = moved(to, routes, source, self.routes[0], control)
                word_number = line * self.layout.words + word
                at_word = self.room // GROUP + word_number * self.layout.tile + part * WORDS
                store_vector(to, to.view(room, 4), at_word, value)

    def controls(self) -> Any:
        """The controls of all tiles, one after the other, int8 [vectors, 128]."""
        assert self.routes is not None
        rows = [[each.control for each in tile] for tile in self.routes]
        return np.asarray(rows, np.uint8).view(np.int8).reshape(-1, BYTES)


def _stored(value: Any) -> Any:
    """A vector of int8 as values from 0 to 255."""
    return tirx.bitwise_xor(value, tirx.Broadcast(tirx.const(-STORED, "int8"), BYTES))
