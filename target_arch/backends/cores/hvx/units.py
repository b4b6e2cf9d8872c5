"""Rows of outputs of a depthwise convolution that are short: every 32 of them are a unit, written out.

The units of one row, or of two, are one sequence in the output, four of them a vector. While products of a
vector are summed the sums before it are requantized, and the words of the next columns are made: the
instructions of all of them are packed together.
"""

from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.columns import Columns
from target_arch.backends.cores.hvx.instructions import GROUP, intrinsic, kept
from target_arch.backends.cores.hvx.requantizer import Requantizer, of_lanes
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import (
    BYTES,
    WORD,
    WORDS,
    Pointer,
    Writer,
    store_vector,
    vector,
)

_MOST = 24
"""Units that are written out."""
_HELD = 6
"""Vectors of weights that stay in registers, beside scales and two vectors of sums."""


@frozen(kw_only=True, eq=False)
class Units:
    """The units of the rows that read the same columns; the table of scales has so many lanes."""

    windows: ImageWindows
    requantizer: Requantizer
    columns: Columns
    lanes: int

    @property
    def fit(self) -> bool:
        """True where rows are short, of whole units, and fill vectors."""
        at, columns = self.windows, self.columns
        whole = at.channels % WORDS == 0 and at.channels <= BYTES and self.count % GROUP == 0
        held = at.kernel[1] * columns.groups * (at.channels // WORDS) <= _HELD
        return whole and held and columns.apart == 1 and self.count <= _MOST

    @property
    def _run(self) -> int:
        """Outputs of a row."""
        return self.windows.out[1] * self.windows.channels

    @property
    def count(self) -> int:
        """Of units."""
        return self.columns.rows * self._run // WORDS

    def write(self, to: Writer, pointers: tuple[Pointer, ...], of: tuple[Any, Any]) -> None:
        """Writes the rows from a row of an image on; pointers are x, weights, scales, out and room."""
        (image, row), done, before = of, 0, None
        start = (image * self.windows.out[0] + row) * self._run
        for first in range(0, self.count, GROUP):
            done = self._columns(to, pointers, of, (done, first))
            sums = [self._sum(to, pointers, first + number) for number in range(GROUP)]
            if before is not None:
                self._finish(to, pointers, before, (start, first - GROUP))
            before = sums
        self._finish(to, pointers, before or [], (start, self.count - GROUP))

    def _columns(
        self, to: Writer, pointers: tuple[Pointer, ...], of: tuple[Any, Any], at: tuple[int, int]
    ) -> int:
        """Makes the words that the units of a vector read and that are not made; how many are made then."""
        done, first = at
        reach = (self.windows.axes[1].reach - 1) * self.windows.channels
        end = max((first + n) * WORDS % self._run for n in range(GROUP)) + WORDS + reach
        end -= self.windows.before[1] * self.windows.channels
        size = self.windows.image[1] * self.windows.channels
        while done < min(end, size):
            self.columns.write_block(to, (pointers[0], pointers[-1]), of, min(done, max(size - BYTES, 0)))
            done += BYTES
        return done

    def _lane(self, unit: int) -> tuple[int, int, int]:
        """Row, place in the row, and lane of a unit."""
        row, place = divmod(unit * WORDS, self._run)
        return row, place, place % self.windows.channels

    def _sum(self, to: Writer, pointers: tuple[Pointer, ...], unit: int) -> Any:
        """The sums of a unit."""
        _, weights, scales, _, room = pointers
        row, place, lane = self._lane(unit)
        total = kept(to, of_lanes(to.view(scales, 4), 0, self.lanes, lane))
        words, table = to.view(room, 4), to.view(weights, 4)
        for tap in range(self.windows.kernel[1]):
            for group in range(self.columns.groups):
                which = tap * self.columns.groups + group
                value = kept(to, vector(words, self.columns.words(tap, group, 0) + place))
                weight = kept(to, vector(table, which * self.lanes + lane))
                own = intrinsic("vaslw", weight, tirx.const(8 * row, WORD)) if row else weight
                total = kept(to, intrinsic("vrmpybv.acc", total, value, own))
        return total

    def _finish(
        self, to: Writer, pointers: tuple[Pointer, ...], sums: list[Any], at: tuple[Any, int]
    ) -> None:
        """Stores the outputs of four units."""
        start, first = at
        table, out = to.view(pointers[2], 4), to.view(pointers[3], 1)
        lanes = [self._lane(first + number)[2] for number in range(GROUP)]
        scales = [[of_lanes(table, row, self.lanes, lane) for lane in lanes] for row in (1, 2)]
        result = self.requantizer.by_lanes(to, sums, *scales)
        store_vector(to, out, start + first * WORDS, result)
