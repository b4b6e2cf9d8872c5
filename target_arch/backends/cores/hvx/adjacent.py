"""Products of 32 pixels as vectors of 32 words, one of each pixel, from products that are adjacent.

Those of a pixel are adjacent in the input, or copied to the room so. Vectors with some words of some pixels
each are exchanged with one another, until each has one word of every pixel.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.gathering import Gathering
from target_arch.backends.cores.hvx.instructions import (
    GROUP,
    STORED,
    everywhere,
    exchanged,
    hidden_zero,
    kept,
    word_of,
)
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTES,
    VECTOR,
    WORDS,
    Pointer,
    Writer,
    store_vector,
    vector,
)
from target_arch.soc.rounding import ceil_div, round_up


@frozen(kw_only=True, eq=False)
class Adjacent:
    """Windows whose products are adjacent, or are made so. `pad` is the value outside of the image; so many
    `vectors` of pixels are made at once.
    """

    windows: ImageWindows
    pad: int
    vectors: int

    @property
    def groups(self) -> int:
        """Words of a pixel."""
        return ceil_div(self.windows.depth, GROUP)

    @property
    def line(self) -> int:
        """Products of a row of a window."""
        return self.windows.kernel[1] * self.windows.channels

    @property
    def cost(self) -> int:
        """Instructions for the words of 32 pixels: exchanges of vectors, and copies."""
        exchanges = ceil_div(self.groups, WORDS) * self._words // 2 * (self._words.bit_length() - 1)
        return exchanges + (WORDS * self.windows.kernel[0] * 2 if self.gathers else 0)

    @property
    def _words(self) -> int:
        """Words of a pixel in the vectors that become vectors of one word of each pixel."""
        return min(1 << (self.groups - 1).bit_length(), WORDS)

    @property
    def gathers(self) -> bool:
        """Whether products are copied to the room."""
        return not self.windows.plain or self._words * GROUP != self.windows.depth

    @property
    def _gathering(self) -> Gathering:
        row = self._words * GROUP if self.groups <= WORDS else round_up(self.groups * GROUP, 8)
        return Gathering(windows=self.windows, pad=self.pad, row=row)

    @property
    def room(self) -> int:
        """Bytes of copied products."""
        return round_up(WORDS * self._gathering.row + BYTES, BYTES) if self.gathers else 0

    def products(self, weights: Any) -> Any:
        """Weights [outputs, products], of which all are words."""
        return weights

    def controls(self) -> Any:
        """The controls of routes, of which there are none, int8 [0, 128]."""
        return np.zeros((0, BYTES), np.int8)

    @contextmanager
    def tile(self, to: Writer, pointers: tuple[Pointer, ...]) -> Iterator[Any]:
        """A loop over tiles of pixels, whose words are made behind this room; the first pixel of each.
        Pointers are x and the room.
        """
        (x, *_, room), pixels, width = pointers, self.windows.pixels, self.vectors * WORDS
        with to.loop(ceil_div(pixels, width)) as some:
            first = tirx.min(some * width, pixels - width)
            with to.loop(self.vectors) as number:
                begin = first + number * WORDS
                if self.gathers:
                    with to.loop(WORDS) as pixel:
                        self._gathering.write(to, (x, room), begin + pixel, pixel)
                place = (room, 0) if self.gathers else (x, begin * self.windows.depth)
                with to.loop(ceil_div(self.groups, WORDS), hidden_zero()) as turn:
                    chunk = tirx.min(turn * WORDS, max(self.groups - WORDS, 0))
                    self._turn(to, place, room, (chunk, number))
            yield first

    def _turn(self, to: Writer, place: tuple[Pointer, Any], room: Pointer, of: tuple[Any, Any]) -> None:
        """Makes of vectors with words of some pixels those with one word of 32 pixels."""
        (pointer, offset), (chunk, which) = place, of
        source = to.view(pointer, 1)
        step = BYTES if self.groups <= WORDS else self._gathering.row
        words = []
        for number in range(self._words):
            value = vector(source, offset + number * step + chunk * GROUP)
            words.append(kept(to, tirx.reinterpret(VECTOR, value)))
        for bit in range(len(words).bit_length() - 1):
            exchanged(to, words, bit, ("vdealvdd", -GROUP))
        target = to.view(room, 4)
        for number, word in enumerate(words[: self.groups]):
            at = self.room // GROUP + ((chunk + number) * self.vectors + which) * WORDS
            store_vector(to, target, at, tirx.bitwise_xor(word, everywhere(word_of(STORED))))
