"""Columns of the kernel of a depthwise convolution as words: the elements of four rows, one for each lane.

Four rows of the image are shuffled together, and stored in the room with the zero point in place of padding.
With strides, the columns of the image that the same elements of windows read are together: rows are copied
to the room first, and taken apart by `routes`.
"""

from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.instructions import (
    GROUP,
    PAIR,
    everywhere,
    intrinsic,
    kept,
    registers,
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


@frozen(kw_only=True, eq=False)
class Columns:
    """The words that rows of outputs read. `pad` is the value outside of the image."""

    windows: ImageWindows
    pad: int

    @property
    def pixels(self) -> int:
        """Of a vector."""
        return max(1, min(BYTES // self.windows.channels, self.windows.out[1]))

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
    def count(self) -> int:
        """Columns of words that are beside one another."""
        at = self.windows
        return ceil_div((at.out[1] - 1) * at.strides[1] + at.axes[1].reach, self.apart)

    @property
    def phases(self) -> tuple[int, ...]:
        """Which columns of the image are read, modulo `apart`."""
        at = self.windows
        return tuple(sorted({tap * at.dilation[1] % self.apart for tap in range(at.kernel[1])}))

    @property
    def _column_bytes(self) -> int:
        """Of columns of words that are beside one another, and of what is stored behind them."""
        return round_up((self.count + self.pixels) * self.windows.channels * GROUP + BYTES * GROUP, BYTES)

    @property
    def _line_bytes(self) -> int:
        """Of a row with its padding, where columns that are together are taken out of it."""
        at = self.windows
        if self.apart == 1:
            return 0
        read = (self.count + self.pixels) * self.apart * at.channels
        return round_up(max(read, (at.before[1] + at.image[1]) * at.channels) + self.apart * BYTES, BYTES)

    @property
    def _lines(self) -> int:
        """Where rows with their padding are in the room."""
        return self.groups * len(self.phases) * self._column_bytes

    @property
    def room(self) -> int:
        """Bytes of scratch: columns of words, and rows with their padding."""
        return self._lines + self.read * self._line_bytes

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

    def write(self, to: Writer, pointers: tuple[Pointer, ...], of: tuple[Any, Any], zero: Any) -> None:
        """Stores columns of words of the rows that a row of outputs reads, or two. Pointers are x, routes
        where there are any, and the room. `zero` is 0, but LLVM does not know: it would write loops out.
        """
        at, (image, row) = self.windows, of
        ys = [at.axes[0].at(row, tap) for tap in range(self.read)]
        size = at.image[1] * at.channels
        x, *routes, room = pointers
        if self.apart == 1:
            with to.loop(ceil_div(size, BYTES), zero) as block:
                self.write_block(to, (x, room), of, tirx.min(block * BYTES, max(size - BYTES, 0)))
            return
        lines = to.view(room, 1)
        for number, y in enumerate(ys):
            start = self._lines + number * self._line_bytes + at.before[1] * at.channels
            with to.loop(ceil_div(size, BYTES), zero) as block:
                place = tirx.min(block * BYTES, max(size - BYTES, 0))
                value = self._row(to, x, (image, y), place)
                store_vector(to, lines, start + place, tirx.reinterpret("int8x128", value))
        with to.loop(ceil_div(self.count, self.pixels), zero) as block:
            column = block * self.pixels
            for number, phase in enumerate(self.phases):
                begin = (column * self.apart + phase) * at.channels
                values = [
                    moved(to, routes[0], (room, self._lines + n * self._line_bytes + begin), self._routes)
                    for n in range(self.read)
                ]
                self._shuffle(to, room, values, (number, column * at.channels))

    def write_block(
        self, to: Writer, pointers: tuple[Pointer, Pointer], of: tuple[Any, Any], place: Any
    ) -> None:
        """Stores the columns of words of 128 places of rows, where columns are together."""
        (x, room), (image, row), at = pointers, of, self.windows
        ys = [at.axes[0].at(row, tap) for tap in range(self.read)]
        values = [self._row(to, x, (image, y), place) for y in ys]
        self._shuffle(to, room, values, (0, at.before[1] * at.channels + place))

    def _row(self, to: Writer, x: Pointer, of: tuple[Any, Any], place: Any) -> Any:
        """128 bytes of a row of the image, the zero point outside of it."""
        at, (image, y) = self.windows, of
        size, padding = at.image[1] * at.channels, everywhere(word_of(self.pad))
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

    def words(self, tap: int, group: int, column: Any) -> Any:
        """Where the words of a column of the kernel are in the room, of outputs from a column on."""
        at = self.windows
        right = tap * at.dilation[1]
        phase = self.phases.index(right % self.apart)
        start = (group * len(self.phases) + phase) * self._column_bytes // GROUP
        across = column * (at.strides[1] // self.apart) + right // self.apart
        return start + across * at.channels


def _interleaved(to: Writer, pairs: tuple[tuple[Any, Any], tuple[Any, Any]]) -> list[Any]:
    """Four vectors of bytes as four in which the bytes of every lane are together."""
    first, second = (_halves(to, one, two, -1) for one, two in pairs)
    return [half for low, high in zip(first, second, strict=True) for half in _halves(to, low, high, -2)]


def _halves(to: Writer, even: Any, odd: Any, width: int) -> list[Any]:
    """Two vectors with their bytes (width -1) or halfwords (-2) taken in turns."""
    return list(registers(to, intrinsic("vshuffvdd", odd, even, tirx.const(width, WORD), dtype=PAIR)))
