"""A cut: how many elements of an axis a region computes at a time."""

from enum import StrEnum
from itertools import pairwise
from typing import Self

from attrs import field, frozen

from target_arch.soc.rounding import ceil_div


class Axis(StrEnum):
    """The direction in which tensors are cut."""

    ROWS = "rows"
    COLUMNS = "columns"
    CHANNELS = "channels"

    @property
    def one(self) -> str:
        """The word for one of them."""
        return self.value.removesuffix("s")


@frozen(kw_only=True)
class AxisPart:
    """Elements `start` to `end` of an axis that has `of`."""

    start: int
    end: int
    of: int

    @property
    def count(self) -> int:
        return self.end - self.start

    @property
    def range(self) -> range:
        """Their numbers."""
        return range(self.start, self.end)

    @property
    def whole(self) -> "AxisPart":
        """All elements of the axis."""
        return AxisPart(start=0, end=self.of, of=self.of)

    def joined(self, other: "AxisPart") -> "AxisPart":
        """These, others of the same axis, and all between them."""
        return AxisPart(start=min(self.start, other.start), end=max(self.end, other.end), of=self.of)

    def __str__(self) -> str:
        return f"{self.start} to {self.end} of {self.of}"


@frozen(kw_only=True)
class AxisCut:
    """At most `size` elements at a time, of an axis that has `of` in the tensor that the cut is about."""

    axis: Axis = field(converter=Axis)
    size: int
    of: int

    @classmethod
    def into(cls, axis: Axis, parts: int, of: int) -> Self:
        """The cut into so many parts, or fewer where these are enough for the same size."""
        return cls(axis=axis, size=ceil_div(of, parts), of=of)

    @property
    def parts(self) -> int:
        """How many there are."""
        return ceil_div(self.of, self.size)

    @property
    def spans(self) -> tuple[AxisPart, ...]:
        """The parts, of as equal size as there can be."""
        borders = [number * self.of // self.parts for number in range(self.parts + 1)]
        return tuple(AxisPart(start=start, end=end, of=self.of) for start, end in pairwise(borders))

    def __str__(self) -> str:
        return f"{self.size} {self.axis} at a time"
