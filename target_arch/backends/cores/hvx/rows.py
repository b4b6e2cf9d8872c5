"""Convolutions of pixels that are their own windows, and dense layers: 32 outputs in a vector, four products
of a pixel are one scalar for all of them.

The instruction that takes a scalar takes the vector as bytes from 0 to 255, so weights are stored with 128
added, and 128 times the sum of the pixel is taken from its outputs. Those sums are made before, of up to 128
pixels. The sums of a tile are scaled after the next tile's are made, while those before are stored.
"""

from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.behaviour import behaviour, seen, summed_over
from target_arch.backends.cores.hvx.instructions import (
    GROUP,
    PAIR,
    STORED,
    everywhere,
    intrinsic,
    kept,
    registers,
    word_of,
)
from target_arch.backends.cores.hvx.products import in_blocks
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes, unknown_zero
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTES,
    VECTOR,
    WORD,
    WORDS,
    Pointer,
    Writer,
    element,
    store,
    store_vector,
    vector,
)
from target_arch.relax.te.definition import Definition
from target_arch.soc.rounding import ceil_div, round_up

_SUMS = 8
"""Vectors of sums in a tile."""
_BEHIND = 2
"""By how many tiles outputs are behind products: a tile is scaled while the one before is stored."""
_SPAN = 128
"""The most pixels whose sums are made at once."""
_NARROW = 32
"""The most channels for 128 outputs: a tile has two pixels of those, and loads all weights for them."""


def fills(windows: ImageWindows, outputs: int) -> bool:
    """Whether pixels are parts of vectors, and their outputs whole vectors of words."""
    at = windows
    pixels = at.plain and at.channels % (2 * GROUP) == 0 and BYTES % at.channels == 0 and at.pixels >= WORDS
    return pixels and (outputs in (WORDS, 2 * WORDS) or (outputs == BYTES and at.channels <= _NARROW))


@frozen(kw_only=True, eq=False)
class RowProducts:
    """A convolution or dense layer with so many outputs."""

    windows: ImageWindows
    outputs: int
    requantizer: Requantizer

    @property
    def groups(self) -> int:
        """Words of a pixel."""
        return self.windows.depth // GROUP

    @property
    def wide(self) -> int:
        """Vectors of the outputs of a pixel."""
        return self.outputs // WORDS

    @property
    def high(self) -> int:
        """Pixels of a tile."""
        return _SUMS // self.wide

    @property
    def room(self) -> int:
        """Bytes of scratch: the sums of pixels."""
        return round_up(self.span * GROUP, BYTES)

    @property
    def span(self) -> int:
        """Pixels whose sums are made at once: as many as fit, the same number each time."""
        pixels = self.windows.pixels
        return min(pixels, round_up(ceil_div(pixels, ceil_div(pixels, _SPAN)), self.high))

    def weights(self, values: Any) -> Any:
        """Weights [outputs, products] as they are packed, with 128 added, which is a bit of int8."""
        return in_blocks(values ^ -STORED, WORDS)

    def scales(self, bias: Any, _weights: Any) -> Any:
        """The table of scales."""
        return self.requantizer.table(bias, list(range(self.outputs)))

    def definition(self) -> Definition:
        """The same in C."""
        at, pad = self.windows, self.requantizer.pad
        over = summed_over(c=at.channels)

        def terms(x: Any, w: Any, output: tuple[Any, ...]) -> Any:
            (channel,), k = over, output[-1]
            value = seen(at, x, output, (0, 0), channel, pad)
            stored = w[tirx.floordiv(k, WORDS), tirx.floordiv(channel, GROUP), k % WORDS, channel % GROUP]
            weight = stored ^ tirx.const(-STORED, "int8")
            return te.sum(value * weight.astype("int32"), axis=over)

        packed = (self.wide, self.groups, WORDS, GROUP), self.outputs
        return behaviour(at, self.outputs, packed, self.requantizer, terms)

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, weights, scales, out and room. What is stored before
        there are sums is replaced by the first pixels' outputs.
        """
        x, _, scales, _, room = pointers
        pixels, places = self.windows.pixels, [to.variable(WORD) for _ in range(_BEHIND)]
        zero = unknown_zero(to.view(scales, 4), 2 * self.outputs)
        sums, highs = ([to.variable(WORD, WORDS) for _ in range(_SUMS)] for _ in range(2))
        for value in (*sums, *highs):
            store_vector(to, value, 0, everywhere(0))
        for place in places:
            store(to, place, 0, tirx.const(0, WORD))
        with to.loop(ceil_div(pixels, self.span)) as block:
            begin = tirx.min(block * self.span, pixels - self.span)
            with to.loop(ceil_div(self.span, WORDS), zero) as some:
                self._pixel_sums(to, x, room, (begin, tirx.min(some * WORDS, self.span - WORDS)))
            with to.loop(ceil_div(self.span, self.high)) as tile:
                first = tirx.min(tile * self.high, self.span - self.high)
                self._finish(to, pointers, (sums, highs), places)
                self._begin(to, pointers, sums, first)
                self._add(to, pointers, sums, (begin + first, zero * tile))
                store(to, places[0], 0, begin + first)
        for _ in range(_BEHIND):
            self._finish(to, pointers, (sums, highs), places)

    def _pixel_sums(self, to: Writer, x: Pointer, room: Pointer, at: tuple[Any, Any]) -> None:
        """Stores 128 times the sum of each of 32 pixels, from one on behind that with which sums begin."""
        begin, place = at
        data, start = to.view(x, 1), (begin + place) * self.windows.channels
        values = [vector(data, start + byte) for byte in range(0, WORDS * self.windows.channels, BYTES)]
        ones = everywhere(word_of(1))
        some = [kept(to, intrinsic("vrmpybv", tirx.reinterpret(VECTOR, value), ones)) for value in values]
        while len(some) > 1:
            pairs = [
                registers(to, intrinsic("vdealvdd", odd, even, tirx.const(-GROUP, WORD), dtype=PAIR))
                for even, odd in zip(some[::2], some[1::2], strict=True)
            ]
            some = [kept(to, low + high) for low, high in pairs]
        store_vector(to, to.view(room, 4), place, some[0] * everywhere(STORED))

    def _begin(self, to: Writer, pointers: tuple[Pointer, ...], sums: list[Any], first: Any) -> None:
        """Sets the sums of a tile to their biases, without the share of what is added to weights."""
        table, shares = to.view(pointers[2], 4), to.view(pointers[-1], 4)
        for pixel in range(self.high):
            share = kept(to, tirx.Broadcast(element(shares, first + pixel), WORDS))
            for number in range(self.wide):
                bias = of_lanes(table, 0, self.outputs, number * WORDS)
                store_vector(to, sums[pixel * self.wide + number], 0, bias - share)

    def _add(self, to: Writer, pointers: tuple[Pointer, ...], sums: list[Any], at: tuple[Any, Any]) -> None:
        """Adds the products of pixels from one on. The other number is 0, but LLVM does not know: it would
        load weights once, for which there are no registers.
        """
        x, w = to.view(pointers[0], 8), to.view(pointers[1], 4)
        first, zero = at
        for group in range(0, self.groups, 2):
            words = [
                element(x, (first + pixel) * (self.groups // 2) + group // 2) for pixel in range(self.high)
            ]
            for half in (0, 1):
                for number in range(self.wide):
                    which = number * self.groups + group + half + zero
                    weights = kept(to, vector(w, which * WORDS))
                    for pixel, two in enumerate(words):
                        four = (two >> tirx.const(32, "int64") if half else two).astype(WORD)
                        total = sums[pixel * self.wide + number]
                        added = intrinsic("vrmpybus.acc", vector(total, 0), weights, four)
                        store_vector(to, total, 0, added)

    def _finish(
        self, to: Writer, pointers: tuple[Pointer, ...], of: tuple[list[Any], list[Any]], places: list[Any]
    ) -> None:
        """Stores the outputs of the sums that are scaled, and scales those of the next tile."""
        table, out = to.view(pointers[2], 4), to.view(pointers[3], 1)
        (sums, highs), (behind, before) = of, places
        for some in range(0, _SUMS, GROUP):
            lanes = [(some + number) % self.wide * WORDS for number in range(GROUP)]
            multipliers, shifts = (
                [of_lanes(table, row, self.outputs, lane) for lane in lanes] for row in (1, 2)
            )
            each = slice(some, some + GROUP)
            result = self.requantizer.outputs(to, [vector(high, 0) for high in highs[each]], shifts)
            store_vector(to, out, element(before, 0) * self.outputs + some * WORDS, result)
            scaled = self.requantizer.scaled(to, [vector(total, 0) for total in sums[each]], multipliers)
            for high, value in zip(highs[each], scaled, strict=True):
                store_vector(to, high, 0, value)
        store(to, before, 0, element(behind, 0))
