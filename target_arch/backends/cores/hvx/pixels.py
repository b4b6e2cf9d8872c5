"""Convolutions and dense layers of few outputs: 32 pixels in a vector, four products of each in an
instruction.

The products of 32 pixels are words, and become vectors [products / 4] of 32 words, one of each pixel, as
values from 0 to 255: then four weights of an output are one scalar for all pixels, and 128 times the sum of
its weights is taken from the bias. Weights are packed [outputs / 8][products / 4][8][4], zeros where there is
none.
"""

from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.copies import Place, common, copy
from target_arch.backends.cores.hvx.gathering import Gathering
from target_arch.backends.cores.hvx.instructions import PAIR, everywhere, intrinsic, kept, registers
from target_arch.backends.cores.hvx.products import GROUP, in_blocks
from target_arch.backends.cores.hvx.requantizer import Requantizer, packed
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
from target_arch.soc.rounding import ceil_div, round_up

TILE = 8
"""Outputs that are summed at once."""
_MOST = 16
"""Of more outputs, vectors of outputs take no more instructions."""
_DEEPEST = 512
"""Products of an output, for which the scratch is small."""
_STORED, _ZERO = 128, -0x7F7F7F80
"""What is added to a value, and four times that as bytes of a word: by exclusive or."""


def few(windows: ImageWindows, outputs: int) -> bool:
    """Whether so many outputs are few enough, for a vector of pixels and a little scratch."""
    return outputs <= _MOST and windows.pixels >= WORDS and windows.depth <= _DEEPEST


@frozen(kw_only=True, eq=False)
class PixelProducts:
    """A convolution or dense layer with so many outputs."""

    windows: ImageWindows
    outputs: int
    requantizer: Requantizer

    @property
    def groups(self) -> int:
        return ceil_div(self.windows.depth, GROUP)

    @property
    def rows(self) -> int:
        """Outputs, rounded up to 8 or 16."""
        return round_up(self.outputs, TILE)

    @property
    def words(self) -> int:
        """Words of a pixel in the vectors that become vectors of one word of each pixel."""
        return min(1 << (self.groups - 1).bit_length(), WORDS)

    @property
    def gathers(self) -> bool:
        return not self.windows.plain or self.words * GROUP != self.windows.depth

    @property
    def gathering(self) -> Gathering:
        pad = -self.requantizer.about.input_offset
        row = self.words * GROUP if self.groups <= WORDS else round_up(self.groups * GROUP, 8)
        return Gathering(windows=self.windows, pad=pad, row=row)

    @property
    def start(self) -> int:
        """Where vectors of words are in the room: behind gathered products, later results of 32 pixels."""
        return max(WORDS * self.gathering.row + BYTES if self.gathers else 0, WORDS * self.rows)

    @property
    def room(self) -> int:
        """Bytes of scratch."""
        return self.start + self.groups * BYTES

    def weights(self, values: Any) -> Any:
        """Weights [outputs, products] as they are packed."""
        return in_blocks(values, TILE)

    def scales(self, bias: Any, weights: Any) -> Any:
        """The table of scales, whose biases are for values from 0 to 255."""
        bias = bias - _STORED * weights.astype(np.int64).sum(axis=1)
        return self.requantizer.table(bias, [*range(self.outputs), *[-1] * (self.rows - self.outputs)])

    def definition(self) -> Definition:
        """The same in C."""
        at, pad = self.windows, -self.requantizer.about.input_offset
        over = summed_over(kh=at.kernel[0], kw=at.kernel[1], c=at.channels)

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            row, column, channel = over
            value, k = seen(at, x, output, (row, column), channel, pad), output[-1]
            index = (row * at.kernel[1] + column) * at.channels + channel
            weight = w[tirx.floordiv(k, TILE), tirx.floordiv(index, GROUP), k % TILE, index % GROUP]
            return te.sum((value + _STORED) * weight.astype("int32"), axis=over)

        packed = (self.rows // TILE, self.groups, TILE, GROUP), self.rows
        return behaviour(at, self.outputs, packed, self.requantizer, terms)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, out and room."""
        x, *_, out, room = pointers
        with to.loop(ceil_div(self.windows.pixels, WORDS)) as some:
            first = tirx.min(some * WORDS, self.windows.pixels - WORDS)
            if self.gathers:
                with to.loop(WORDS) as pixel:
                    self.gathering.write(to, (x, room), first + pixel, pixel)
            place = (room, 0) if self.gathers else (x, first * self.windows.depth)
            for chunk in range(0, self.groups, WORDS):
                self._turn(to, place, room, chunk)
            results = [
                result for tile in range(self.rows // TILE) for result in self._results(to, pointers, tile)
            ]
            self._store(to, (out, room), _by_pixel(to, results), first)

    def _turn(self, to: Writer, place: tuple[Pointer, Any], room: Pointer, chunk: int) -> None:
        """Makes of vectors with words of some pixels those with one word of 32 pixels."""
        pointer, offset = place
        source = to.view(pointer, 1)
        step = BYTES if self.groups <= WORDS else self.gathering.row
        words = []
        for number in range(self.words):
            value = vector(source, offset + number * step + chunk * GROUP)
            words.append(kept(to, tirx.reinterpret(VECTOR, value)))
        for bit in range(len(words).bit_length() - 1):
            _exchanged(to, words, bit, ("vdealvdd", -GROUP))
        target = to.view(room, 4)
        for number, word in enumerate(words[: self.groups - chunk]):
            at = self.start // GROUP + (chunk + number) * WORDS
            store_vector(to, target, at, tirx.bitwise_xor(word, everywhere(_ZERO)))

    def _results(self, to: Writer, pointers: tuple[Pointer, ...], tile: int) -> list[Any]:
        """Two vectors with four results of 32 pixels each."""
        _, w, scales, _, room = pointers
        table, numbers = to.view(scales, 4), range(tile * TILE, (tile + 1) * TILE)

        def scale(row: int, number: int) -> Any:
            return tirx.Broadcast(element(table, row * self.rows + number), WORDS)

        sums = [to.variable(WORD, WORDS) for _ in numbers]
        for total, number in zip(sums, numbers, strict=True):
            store_vector(to, total, 0, scale(0, number))
        weights, data = to.view(w, 8), to.view(room, 4)
        with to.loop(self.groups) as group:
            values = kept(to, vector(data, self.start // GROUP + group * WORDS))
            for pair in range(TILE // 2):
                two = element(weights, (tile * self.groups + group) * (TILE // 2) + pair)
                for total, four in zip(sums[2 * pair :], (two, two >> tirx.const(32, "int64")), strict=False):
                    added = intrinsic("vrmpybus.acc", vector(total, 0), values, four.astype(WORD))
                    store_vector(to, total, 0, added)
        words = [
            self.requantizer.words(to, vector(total, 0), scale(1, number), scale(2, number))
            for total, number in zip(sums, numbers, strict=True)
        ]
        return [kept(to, tirx.reinterpret(VECTOR, packed(words[at : at + 4]))) for at in (0, 4)]

    def _store(self, to: Writer, pointers: tuple[Pointer, Pointer], results: list[Any], first: Any) -> None:
        """Stores the results of 32 pixels, each of which has `rows` of them."""
        out, room = pointers
        whole = self.rows == self.outputs
        target, start = (to.view(out, 1), first * self.outputs) if whole else (to.view(room, 1), 0)
        for number, result in enumerate(results):
            store_vector(to, target, start + number * BYTES, tirx.reinterpret("int8x128", result))
        if whole:
            return
        with to.loop(WORDS) as pixel:
            source = Place(pointer=room, offset=pixel * self.rows, multiple=TILE)
            place = Place(
                pointer=out, offset=(first + pixel) * self.outputs, multiple=common(8, self.outputs)
            )
            copy(to, place, source, self.outputs)


def _exchanged(to: Writer, vectors: list[Any], bit: int, by: tuple[str, int]) -> None:
    """Replaces each two vectors whose numbers differ in a bit by the two registers of an exchange of them."""
    name, width = by
    for number in range(len(vectors)):
        other = number | 1 << bit
        if other != number:
            pair = intrinsic(name, vectors[other], vectors[number], tirx.const(width, WORD), dtype=PAIR)
            vectors[number], vectors[other] = registers(to, pair)


def _by_pixel(to: Writer, vectors: list[Any]) -> list[Any]:
    """Bytes [outputs][32 pixels] as [32 pixels][outputs]: bits of the output become the lowest of an address,
    the highest first, and each time the then highest bit of a lane the bit of the vector's number.
    """
    bits = len(vectors).bit_length() - 1
    found = list(vectors)
    order = [*reversed(range(bits))]
    for step in range(bits + 2):
        _exchanged(to, found, order[step % bits], ("vshuffvdd", -1))
    return found
