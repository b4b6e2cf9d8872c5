"""A region: neighbouring operators of a partition as one call, and the price of it."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from attrs import field, frozen

from target_arch.plan.model import Operator


class Axis(StrEnum):
    """The direction in which a tensor is cut into stripes."""

    ROWS = "rows"
    COLUMNS = "columns"
    CHANNELS = "channels"


@frozen(kw_only=True)
class Region:
    """Neighbouring operators of a partition that run as one call, which makes `size` rows or columns of the
    first tensor between them, or channels of each of these, at a time. With several `patches` it makes so
    many parts of the output from left to right, one after the other.

    `scratch` are bytes of its own in `memory`, for what of the tensors between the operators is there. The
    output may take the place of the input `over`, which has at least as many bytes: the call no longer needs
    a byte of it where it writes. `instructions` is an estimate of those it adds to a run, and `whole` the
    same estimate of its operators one after the other: 0 where there is none, and then those take no time. A
    region that is `usual` is how the backend lowers these operators anyway.
    """

    operators: tuple[str, ...]
    axis: Axis = field(converter=Axis, default=Axis.ROWS)
    size: int = 0
    patches: int = 1
    scratch: int = 0
    memory: str = ""
    over: str | None = None
    instructions: int = 0
    whole: int = 0
    usual: bool = False

    def seconds(self, own: float) -> float:
        """The seconds that it adds to a run in which its operators, one after the other, take `own` seconds:
        its instructions take as long as theirs.
        """
        return own * self.instructions / self.whole if self.whole else 0.0

    def __str__(self) -> str:
        names = " to ".join(dict.fromkeys((self.operators[0], self.operators[-1])))
        place = f", in the place of {self.over}" if self.over else ""
        patches = f" in each of {self.patches} patches" if self.patches > 1 else ""
        return (
            f"{names}: {self.size} {self.axis} at a time{patches}{place}, {self.scratch:,} B for lines, "
            f"about {self.instructions:,} instructions more"
        )


Striping = Callable[[Sequence[Operator], int, bool], Iterator[Region]]
"""The ways to run exactly these neighbours as one call, none where there is no way: those with the least
scratch, and others whose scratch has room in so many bytes. The last argument says whether ways that
compute some elements twice count, too.
"""
