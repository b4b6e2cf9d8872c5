"""Where the lines of an image are that products of 32 neighbouring outputs are made from (`lines.py`).

Outputs of some rows are a *sequence*, which is computed in tiles. Of the rows of the image that it reads,
those that are a stride apart are adjacent: they are a *phase*.
"""

from functools import cached_property

from attrs import frozen

from target_arch.backends.cores.hvx.instructions import GROUP
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import BYTES, WORDS
from target_arch.soc.rounding import ceil_div, round_up

_MOST_BYTES = 6144
"""Of the lines in the room."""


@frozen(kw_only=True, eq=False)
class LineLayout:
    """Of windows that read whole runs of bytes along a row; a tile has the outputs of so many `vectors`."""

    windows: ImageWindows
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
    def tile(self) -> int:
        """Outputs of a tile."""
        return self.vectors * WORDS

    @property
    def width(self) -> int:
        """Outputs of a row; of pixels that are their own windows those of a tile."""
        return self.tile if self.windows.plain else self.windows.out[1]

    @property
    def phases(self) -> int:
        return 1 if self.windows.plain else self.windows.strides[0]

    @property
    def left(self) -> int:
        """Bytes of padding before a row."""
        return self.windows.before[1] * self.windows.channels

    @property
    def pitch(self) -> int:
        """Bytes from a row to the next that is together with it."""
        at = self.windows
        return (self.width - 1) * self.step + (at.axes[1].reach * at.channels)

    @cached_property
    def rows(self) -> int:
        """Rows of outputs that are one sequence: the fewest that leave the fewest lanes empty."""
        at = self.windows
        if at.plain:
            return 1
        least = ceil_div(self.tile, self.width)
        counts = [
            rows
            for rows in range(least, at.out[0] + 1)
            if rows == least or self.phases * self._phase_bytes(rows) <= _MOST_BYTES
        ]
        return min(
            counts,
            key=lambda rows: (ceil_div(at.out[0], rows) * ceil_div(rows * self.width, self.tile), rows),
        )

    def _lines(self, rows: int) -> int:
        return (rows - 1) * self.phases + self.windows.axes[0].reach

    def _phase_bytes(self, rows: int) -> int:
        together = ceil_div(self._lines(rows), self.phases)
        return round_up(together * self.pitch + self.left + 2 * BYTES, BYTES)

    @property
    def lines(self) -> int:
        """Rows of the image that a sequence reads."""
        return self._lines(self.rows)

    @property
    def phase_bytes(self) -> int:
        """Bytes of the rows that are together."""
        return self._phase_bytes(self.rows)

    @property
    def bytes(self) -> int:
        """Of the lines of a sequence."""
        return self.phases * self.phase_bytes

    @property
    def tiles(self) -> int:
        """Of a sequence."""
        return ceil_div(self.rows * self.width, self.tile)

    @property
    def last(self) -> int:
        """The first output of the last tile of a sequence, which may begin in the one before."""
        return self.rows * self.width - self.tile

    def sources(self) -> list[list[int]]:
        """For each vector of outputs of a sequence, where the bytes of a word of each are, from that of the
        first on.
        """
        firsts = [min(tile * self.tile, self.last) for tile in range(self.tiles)]
        return [self._sources(first + WORDS * number) for first in firsts for number in range(self.vectors)]

    def _sources(self, first: int) -> list[int]:
        places = [
            number // self.width * self.pitch + number % self.width * self.step
            for number in range(first, first + WORDS)
        ]
        return [place - places[0] + byte for place in places for byte in range(GROUP)]
