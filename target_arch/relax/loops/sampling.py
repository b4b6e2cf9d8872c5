"""Images read at computed places between their pixels, as warps and spatial transformers do, as a function
of C.

The pixels that count for a place and their weights are computed once for all channels, which are innermost.
What is beside the image is zero, its nearest pixel, or its mirror image.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import reduce
from operator import mul
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

_SHARPNESS = -0.75
"""The parameter of the cubic kernel."""

_Tap = tuple[Any, Any]
"""The place of a pixel along a dimension, a whole number in floating point, and its weight."""


class Interpolation(StrEnum):
    """How a value between pixels comes from them."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"


class Outside(StrEnum):
    """The value of a pixel beside the image."""

    ZEROS = "zeros"
    BORDER = "border"
    REFLECTION = "reflection"


_TAPS = {Interpolation.NEAREST: 1, Interpolation.LINEAR: 2, Interpolation.CUBIC: 4}
"""Pixels along each dimension."""


@frozen(kw_only=True)
class Sampling:
    """An image of some `sizes`, its dimensions without batch and channels, read in floats of one type.

    A place is between -1 and 1, the outer edges of the outermost pixels, or their middles with `corners`.
    It is padded before the pixels are chosen, but for a cubic kernel, which pads the place of every pixel,
    and for the nearest pixel where that `rounds_first`: a place in the middle of two pixels falls otherwise.
    """

    sizes: Sequence[int]
    dtype: str
    interpolation: Interpolation
    outside: Outside
    corners: bool
    rounds_first: bool

    def write(self, out: Any, x: Any, grid: Any) -> None:
        """Channels of `x` [N, sizes, C] at the places `grid` [N, places, dimensions], the last dimension
        first, as `out` [N, places, C].
        """
        taps, rank = _TAPS[self.interpolation], len(self.sizes)
        index, weight = local("index", (rank * taps,), "int32"), local("weight", (rank * taps,), self.dtype)
        place = local("place", (1,), self.dtype)
        with ib.grid(*grid.shape[:-1]) as at:
            for axis, size in enumerate(self.sizes):
                ib.buffer_store(place, self._place(grid[(*at, rank - 1 - axis)], size), [0])
                for step, (pixel, share) in enumerate(self._taps(place[0], size)):
                    ib.buffer_store(index, self._index(pixel, size), [axis * taps + step])
                    ib.buffer_store(weight, share, [axis * taps + step])
            if taps == 1:
                self._copy(out, x, at, index)
            else:
                self._add(out, x, at, index, weight)

    def _copy(self, out: Any, x: Any, at: Sequence[Any], index: Any) -> None:
        pixel = [index[axis] for axis in range(len(self.sizes))]
        with ib.If(self._is_inside(pixel)):
            with ib.Then(), ib.serial(0, out.shape[-1]) as channel:
                ib.buffer_store(out, x[(at[0], *pixel, channel)], [*at, channel])
            with ib.Else(), ib.serial(0, out.shape[-1]) as channel:
                ib.buffer_store(out, self._number(0), [*at, channel])

    def _add(self, out: Any, x: Any, at: Sequence[Any], index: Any, weight: Any) -> None:
        """The pixels times their weights. What is beside the image counts nothing."""
        taps = _TAPS[self.interpolation]
        with ib.serial(0, out.shape[-1]) as channel:
            ib.buffer_store(out, self._number(0), [*at, channel])
        with ib.grid(*[taps] * len(self.sizes)) as steps:
            numbers = [axis * taps + step for axis, step in enumerate(steps)]
            pixel = [index[number] for number in numbers]
            with ib.If(self._is_inside(pixel)), ib.Then(), ib.serial(0, out.shape[-1]) as channel:
                share = reduce(mul, (weight[number] for number in numbers))
                value = out[(*at, channel)] + x[(at[0], *pixel, channel)] * share
                ib.buffer_store(out, value, [*at, channel])

    def _index(self, pixel: Any, size: int) -> Any:
        """The index of a pixel, -1 or the size for one beside the image."""
        return tirx.max(tirx.min(pixel, self._number(size)), self._number(-1)).astype("int32")

    def _is_inside(self, pixel: Sequence[Any]) -> Any:
        ends = ((at >= 0, at < size) for at, size in zip(pixel, self.sizes, strict=True))
        return tirx.all(*(end for both in ends for end in both))

    def _place(self, given: Any, size: int) -> Any:
        """In pixels, padded where it is not the pixels that are."""
        one = given + self._number(1)
        if self.corners:
            place = one * self._number((size - 1) / 2)
        else:
            place = one * self._number(size / 2) - self._number(0.5)
        if self.interpolation is Interpolation.CUBIC:
            return place
        if self.interpolation is Interpolation.NEAREST and self.rounds_first:
            place = tirx.nearbyint(place)
        return self._padded(place, size)

    def _padded(self, place: Any, size: int) -> Any:
        """A place inside of the image in place of one beside it."""
        if self.outside is Outside.ZEROS:
            return place
        inside = place if self.outside is Outside.BORDER else self._reflected(place, size)
        return tirx.min(tirx.max(inside, self._number(0)), self._number(size - 1))

    def _reflected(self, place: Any, size: int) -> Any:
        """Mirrored at the middle of the outermost pixels, or at their outer edge."""
        low = 0.0 if self.corners else -0.5
        span = float(size - 1 if self.corners else size)
        if span == 0:
            return self._number(0)
        far = tirx.abs(place - self._number(low))
        turns = tirx.floor(far / self._number(span))
        rest = far - turns * self._number(span)
        even = tirx.EQ(tirx.floor(turns / self._number(2)) * self._number(2), turns)
        return tirx.Select(even, rest, self._number(span) - rest) + self._number(low)

    def _taps(self, place: Any, size: int) -> list[_Tap]:
        """The pixels that count along a dimension."""
        one, two = self._number(1), self._number(2)
        if self.interpolation is Interpolation.NEAREST:
            return [(tirx.nearbyint(place), one)]
        first = tirx.floor(place)
        part = place - first
        if self.interpolation is Interpolation.LINEAR:
            return [(first, one - part), (first + one, part)]
        weights = [self._far(part + one), self._near(part), self._near(one - part), self._far(two - part)]
        return [
            (self._padded(first + self._number(step - 1), size), share) for step, share in enumerate(weights)
        ]

    def _near(self, x: Any) -> Any:
        """The cubic kernel up to a distance of one pixel."""
        number = self._number
        return ((number(_SHARPNESS + 2) * x - number(_SHARPNESS + 3)) * x) * x + number(1)

    def _far(self, x: Any) -> Any:
        """The cubic kernel from a distance of one pixel on."""
        number = self._number
        slope = (number(_SHARPNESS) * x - number(5 * _SHARPNESS)) * x + number(8 * _SHARPNESS)
        return slope * x - number(4 * _SHARPNESS)

    def _number(self, value: float) -> Any:
        return tirx.const(value, self.dtype)
