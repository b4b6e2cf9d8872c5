"""Convolutions and dense layers with 32 pixels in a vector, four products of each in an instruction.

The products of 32 pixels become vectors [products / 4] of 32 words, one of each pixel, as values from 0 to
255: from lines of the image, or from products that are adjacent. Then four weights of an output are one
scalar for all pixels, and 128 times the sum of its weights is taken from the bias. Weights are packed
[outputs / 8][products / 4][8][4], zeros where there is none.
"""

from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.adjacent import Adjacent
from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.instructions import GROUP, STORED, exchanged, intrinsic, kept
from target_arch.backends.cores.hvx.line_layout import LineLayout
from target_arch.backends.cores.hvx.lines import Lines
from target_arch.backends.cores.hvx.products import in_blocks
from target_arch.backends.cores.hvx.requantizer import Requantizer
from target_arch.backends.cores.hvx.routes import route
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
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
from target_arch.soc.rounding import ceil_div

TILE, _HIGH = 8, 2
"""Outputs that are summed at once, and the most vectors of pixels."""
_FEWEST, _MOST = 4, 128
"""Of fewer outputs those of 32 pixels are no vector; of more, results are many vectors."""
_DEEPEST = 512
"""Products of an output, for which the scratch is small."""


def few(windows: ImageWindows, outputs: int) -> bool:
    """Whether so many outputs are few enough, for a vector of pixels and a little scratch."""
    return _FEWEST <= outputs <= _MOST and windows.pixels >= WORDS and windows.depth <= _DEEPEST


@frozen(kw_only=True, eq=False)
class PixelProducts:
    """A convolution or dense layer with so many outputs."""

    windows: ImageWindows
    outputs: int
    requantizer: Requantizer

    @cached_property
    def source(self) -> Lines | Adjacent:
        """Where the words of pixels come from: from lines of the image, where that takes less."""
        at = self.windows
        adjacent = Adjacent(windows=at, pad=self.requantizer.pad, vectors=self.high)
        lines = Lines(layout=LineLayout(windows=at, vectors=self.high), pad=self.requantizer.pad)
        fills = at.batch * prod(at.image) * at.channels >= BYTES
        if at.plain:
            able = adjacent.gathers and at.channels >= GROUP
        else:
            able = at.out[0] * at.out[1] >= self.high * WORDS
        if not (fills and able and at.dilation[1] == 1):
            return adjacent
        return lines if lines.cost < adjacent.cost and lines.routes is not None else adjacent

    @property
    def high(self) -> int:
        """Vectors of pixels that are summed at once."""
        return min(self.windows.pixels // WORDS, _HIGH)

    @property
    def groups(self) -> int:
        """Words of a pixel."""
        return self.source.groups

    @property
    def tiles(self) -> int:
        return ceil_div(self.outputs, TILE)

    @property
    def rows(self) -> int:
        """Bytes of a pixel in vectors of results: outputs, rounded up to a power of two."""
        return max(TILE, 1 << (self.outputs - 1).bit_length())

    @property
    def whole(self) -> bool:
        """True where results are whole vectors, which then are in the output before they are in order."""
        return self.rows == self.outputs

    @property
    def results(self) -> int:
        """Where other vectors of results are in the room."""
        return self.source.room + self.groups * self.high * BYTES

    @property
    def room(self) -> int:
        """Bytes of scratch."""
        return self.results + (0 if self.whole else self.high * WORDS * self.rows)

    def weights(self, values: Any) -> Any:
        """Weights [outputs, products] as they are packed."""
        return in_blocks(self.source.products(values), TILE)

    def scales(self, bias: Any, weights: Any) -> Any:
        """The table of scales, whose biases are for values from 0 to 255."""
        bias = bias - STORED * weights.astype(np.int64).sum(axis=1)
        return self.requantizer.table(bias, [*range(self.outputs), *[-1] * (self._lanes - self.outputs)])

    @property
    def _lanes(self) -> int:
        return self.tiles * TILE

    def routes(self) -> Any:
        """Controls of vectors whose bytes are moved: of lines, and of results that are no whole vectors."""
        controls = [self.source.controls()]
        if not self.whole:
            places = [
                byte // self.outputs * self.rows + byte % self.outputs if byte < self._run else None
                for byte in range(BYTES)
            ]
            controls.append(route(places, "vrdelta").view(np.int8).reshape(1, BYTES))
        every = np.concatenate(controls)
        return every if len(every) else None

    @property
    def _run(self) -> int:
        """Outputs in a vector of results."""
        return BYTES // self.rows * self.outputs

    def definition(self) -> Definition:
        """The same in C."""
        at = self.windows
        over = summed_over(kh=at.kernel[0], kw=at.kernel[1], c=at.channels)
        line, pad = self.source.line, self.requantizer.pad

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            row, column, channel = over
            value, k = seen(at, x, output, (row, column), channel, pad), output[-1]
            index = row * line + column * at.channels + channel
            weight = w[tirx.floordiv(k, TILE), tirx.floordiv(index, GROUP), k % TILE, index % GROUP]
            return te.sum((value + STORED) * weight.astype("int32"), axis=over)

        packed = (self.tiles, self.groups, TILE, GROUP), self._lanes
        return behaviour(at, self.outputs, packed, self.requantizer, terms)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, routes where there are any, out and
        room.
        """
        x, w, scales, *routes, out, room = pointers
        with self.source.tile(to, (x, *routes, room)) as first:
            self._outputs(to, (w, scales, *routes, out, room), first)

    def _word(self, group: Any, number: int) -> Any:
        """Where the words of a vector of pixels are."""
        return self.source.room // GROUP + (group * self.high + number) * WORDS

    def _outputs(self, to: Writer, pointers: tuple[Pointer, ...], first: Any) -> None:
        """The outputs of some pixels, whose words are in the room."""
        w, scales, *routes, out, room = pointers
        with to.loop(self.tiles) as tile:
            self._tile(to, (w, scales, out, room), (first, tile))
        stored = to.view(out if self.whole else room, 1)
        for high in range(self.high):
            places = [self._result(first, high, number) for number in range(self._results)]
            vectors = [kept(to, tirx.reinterpret(VECTOR, vector(stored, place))) for place in places]
            for bit in reversed(range(self._results.bit_length() - 1)):
                exchanged(to, vectors, bit, ("vshuffvdd", -GROUP))
            place = (first + high * WORDS) * self.outputs
            self._store(to, (routes[0] if routes else None, out), vectors, place)

    @property
    def _results(self) -> int:
        """Vectors of results of 32 pixels."""
        return WORDS * self.rows // BYTES

    def _result(self, first: Any, high: int, number: Any) -> Any:
        """Where a vector of results is, in the output or in the room."""
        begin = first * self.outputs if self.whole else self.results
        return begin + (high * self._results + number) * BYTES

    def _tile(
        self, to: Writer, pointers: tuple[Pointer, Pointer, Pointer, Pointer], at: tuple[Any, Any]
    ) -> None:
        """Stores vectors with four results of 32 pixels each."""
        (w, scales, out, room), (first, tile) = pointers, at
        stored = to.view(out if self.whole else room, 1)
        table, numbers = to.view(scales, 4), [tile * TILE + number for number in range(TILE)]

        def scale(row: int, number: Any) -> Any:
            return element(table, row * self._lanes + number)

        def everywhere_scale(row: int, number: Any) -> Any:
            return kept(to, tirx.Broadcast(scale(row, number), WORDS))

        sums = [[to.variable(WORD, WORDS) for _ in numbers] for _ in range(self.high)]
        for totals in zip(*sums, numbers, strict=True):
            *some, number = totals
            bias = everywhere_scale(0, number)
            for total in some:
                store_vector(to, total, 0, bias)
        with to.loop(self.groups) as group:
            self._add(to, (w, room), (tile, group), sums)
        for half in range(0, TILE, GROUP):
            some = numbers[half : half + GROUP]
            multipliers = [everywhere_scale(1, number) for number in some]
            shifts = [scale(2, number) for number in some]
            for high, row in enumerate(sums):
                four = [vector(total, 0) for total in row[half : half + GROUP]]
                result = self.requantizer.interleaved(to, four, multipliers, shifts)
                place = self._result(first, high, tile * (TILE // GROUP) + half // GROUP)
                store_vector(to, stored, place, result)

    def _add(
        self, to: Writer, pointers: tuple[Pointer, Pointer], at: tuple[Any, Any], sums: list[list[Any]]
    ) -> None:
        """Adds the products of a word of each pixel."""
        (w, room), (tile, group) = pointers, at
        weights, data = to.view(w, 8), to.view(room, 4)
        values = [kept(to, vector(data, self._word(group, number))) for number in range(self.high)]
        for pair in range(TILE // 2):
            two = element(weights, (tile * self.groups + group) * (TILE // 2) + pair)
            for number, four in enumerate((two, two >> tirx.const(32, "int64"))):
                for row, value in zip(sums, values, strict=True):
                    total = row[2 * pair + number]
                    added = intrinsic("vrmpybus.acc", vector(total, 0), value, four.astype(WORD))
                    store_vector(to, total, 0, added)

    def _store(
        self, to: Writer, pointers: tuple[Pointer | None, Pointer], vectors: list[Any], place: Any
    ) -> None:
        """Stores the outputs of 32 pixels: where they do not fill vectors each replaces what the one before
        has too much, and the last one has the end of it before its own.
        """
        routes, out = pointers
        target = to.view(out, 1)
        if routes is None or self.whole:
            for number, each in enumerate(vectors):
                store_vector(to, target, place + number * BYTES, tirx.reinterpret("int8x128", each))
            return
        control = vector(to.view(routes, 4), (routes.size // BYTES - 1) * WORDS)
        runs = [kept(to, intrinsic("vrdelta", each, control)) for each in vectors]
        for number, each in enumerate(runs[:-1]):
            store_vector(to, target, place + number * self._run, tirx.reinterpret("int8x128", each))
        before = intrinsic("vror", runs[-2], tirx.const(self._run, WORD))
        last = intrinsic("vlalignb", runs[-1], before, tirx.const(BYTES - self._run, WORD))
        end = place + WORDS * self.outputs - BYTES
        store_vector(to, target, end, tirx.reinterpret("int8x128", last))
