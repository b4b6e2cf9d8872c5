"""Convolutions and dense layers: 32 outputs in a vector, four products of each in an instruction.

Weights are packed [outputs / 32][products / 4][32][4], zeros where there is none. A tile is some pixels times
some such blocks of outputs, four vectors of sums, that become one vector of bytes. Where the products of a
pixel are not adjacent in the input they are gathered first, with the zero point of the input in place of
padding; the sums of weights times that zero point are in the bias.
"""

from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.copies import Place, common, copy
from target_arch.backends.cores.hvx.gathering import Gathering
from target_arch.backends.cores.hvx.instructions import GROUP, intrinsic
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTES,
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

_SUMS = 8
"""The most vectors of sums in a tile."""
_RESULTS = BYTES // WORDS
"""Vectors of sums that become one of results."""


def in_blocks(weights: Any, outputs: int) -> Any:
    """Weights [outputs, products] in blocks of so many outputs, four products of each together, zeros where
    there is none.
    """
    blocks, groups = ceil_div(weights.shape[0], outputs), ceil_div(weights.shape[1], GROUP)
    padding = (blocks * outputs - weights.shape[0], groups * GROUP - weights.shape[1])
    every = np.pad(weights, ((0, padding[0]), (0, padding[1])))
    return every.reshape(blocks, outputs, groups, GROUP).transpose(0, 2, 1, 3)


@frozen(kw_only=True, eq=False)
class Products:
    """A convolution or dense layer with so many outputs."""

    windows: ImageWindows
    outputs: int
    requantizer: Requantizer

    @property
    def groups(self) -> int:
        return ceil_div(self.windows.depth, GROUP)

    @property
    def blocks(self) -> int:
        return ceil_div(self.outputs, WORDS)

    @property
    def wide(self) -> int:
        """Blocks of outputs in a tile."""
        return next(count for count in (4, 2, 1) if self.blocks % count == 0)

    @property
    def high(self) -> int:
        """Pixels in a tile."""
        most = min(_SUMS // self.wide, self.windows.pixels)
        return next(count for count in (8, 4, 2, 1) if count <= most)

    @property
    def together(self) -> int:
        """Pixels in a vector of results."""
        return min(_RESULTS // self.wide, self.high)

    @property
    def gathers(self) -> bool:
        return not self.windows.plain or self.windows.channels % GROUP != 0

    @property
    def _gathering(self) -> Gathering:
        row = round_up(self.groups * GROUP, 8)
        return Gathering(windows=self.windows, pad=self.requantizer.pad, row=row)

    @property
    def whole(self) -> bool:
        """True where the outputs in a vector of results are adjacent, and fill it."""
        run = self.wide * WORDS
        full = self.together * run == BYTES and self.outputs % run == 0
        return full and self.together in (1, BYTES // self.outputs)

    @property
    def room(self) -> int:
        """Bytes of scratch: gathered products, and a vector, of outputs or of what is copied too much."""
        gathered = self.high * self._gathering.row if self.gathers else 0
        return gathered + (0 if self.whole and not gathered else BYTES)

    def weights(self, values: Any) -> Any:
        """Weights [outputs, products] as they are packed."""
        return in_blocks(values, WORDS)

    def scales(self, bias: Any, _weights: Any) -> Any:
        """The table of scales."""
        channels = [*range(self.outputs), *[-1] * (self.blocks * WORDS - self.outputs)]
        return self.requantizer.table(bias, channels)

    def definition(self) -> Definition:
        """The same in C."""
        at, pad = self.windows, self.requantizer.pad
        over = summed_over(kh=at.kernel[0], kw=at.kernel[1], c=at.channels)

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            row, column, channel = over
            value, k = seen(at, x, output, (row, column), channel, pad), output[-1]
            index = (row * at.kernel[1] + column) * at.channels + channel
            weight = w[tirx.floordiv(k, WORDS), tirx.floordiv(index, GROUP), k % WORDS, index % GROUP]
            return te.sum(value * weight.astype("int32"), axis=over)

        packed = (self.blocks, self.groups, WORDS, GROUP), self.blocks * WORDS
        return behaviour(at, self.outputs, packed, self.requantizer, terms)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, out and room."""
        with to.loop(-(-self.windows.pixels // self.high)) as tile:
            first = tirx.min(tile * self.high, self.windows.pixels - self.high)
            if self.gathers:
                with to.loop(self.high) as pixel:
                    self._gathering.write(to, (pointers[0], pointers[-1]), first + pixel, pixel)
            with to.loop(self.blocks // self.wide) as some:
                sums = self._sums(to, pointers, first, some * self.wide)
                self._finish(to, pointers, sums, (first, some * self.wide))

    def _sums(self, to: Writer, pointers: tuple[Pointer, ...], first: Any, block: Any) -> list[list[Any]]:
        """Local vectors with the sums of a tile, by pixel and block."""
        x, w, scales, _, room = pointers
        lanes = self.blocks * WORDS
        sums = [[to.variable(WORD, WORDS) for _ in range(self.wide)] for _ in range(self.high)]
        for row in sums:
            for number, total in enumerate(row):
                bias = of_lanes(to.view(scales, 4), 0, lanes, (block + number) * WORDS)
                store_vector(to, total, 0, bias)
        data = to.view(room if self.gathers else x, 4)
        step = self._gathering.row // 4 if self.gathers else self.groups
        start = 0 if self.gathers else first * step
        with to.loop(self.groups) as group:
            for number in range(self.wide):
                weights = to.variable(WORD, WORDS)
                at = ((block + number) * self.groups + group) * WORDS
                store_vector(to, weights, 0, vector(to.view(w, 4), at))
                for pixel, row in enumerate(sums):
                    four = tirx.Broadcast(element(data, start + pixel * step + group), WORDS)
                    total = row[number]
                    added = intrinsic("vrmpybv.acc", vector(total, 0), vector(weights, 0), four)
                    store_vector(to, total, 0, added)
        return sums

    def _finish(
        self, to: Writer, pointers: tuple[Pointer, ...], sums: list[list[Any]], at: tuple[Any, Any]
    ) -> None:
        """Stores the outputs of a tile."""
        _, _, scales, out, room = pointers
        (first, block), lanes, table = at, self.blocks * WORDS, to.view(scales, 4)
        words = [
            [
                self.requantizer.words(
                    to,
                    vector(total, 0),
                    *(of_lanes(table, row, lanes, (block + number) * WORDS) for row in (1, 2)),
                )
                for number, total in enumerate(each)
            ]
            for each in sums
        ]
        for pixel in range(0, self.high, self.together):
            some = [word for each in words[pixel : pixel + self.together] for word in each]
            result = self.requantizer.in_order([some[n % len(some)] for n in range(_RESULTS)])
            self._store(to, (out, room), result, (first + pixel, block))

    def _store(self, to: Writer, pointers: tuple[Pointer, Pointer], result: Any, at: tuple[Any, Any]) -> None:
        """Stores a vector of results, from a pixel and a block of outputs on."""
        (out, room), (first, block) = pointers, at
        run = self.wide * WORDS
        if self.whole:
            store_vector(to, to.view(out, 1), first * self.outputs + block * WORDS, result)
            return
        kept = self.room - BYTES
        store_vector(to, to.view(room, 1), kept, result)
        for pixel in range(self.together):
            source = Place(pointer=room, offset=kept + pixel * run, multiple=common(8, run))
            offset = (first + pixel) * self.outputs + block * WORDS
            target = Place(pointer=out, offset=offset, multiple=self.outputs)
            self._copy_run(to, target, source, block)

    def _copy_run(self, to: Writer, target: Place, source: Place, block: Any) -> None:
        """The outputs of a pixel in a tile: fewer in the last one, where they are not whole blocks."""
        run, left = self.wide * WORDS, self.outputs % (self.wide * WORDS)
        if left == 0:
            copy(to, target, source, run)
            return
        last = self.blocks - self.wide
        if last:
            with to.when(block < last):
                copy(to, target, source, run)
            with to.when(block >= last):
                copy(to, target, source, left)
        else:
            copy(to, target, source, left)
