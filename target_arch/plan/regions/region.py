"""A region: neighbouring operators of a partition as one call, and the price of it."""

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from target_arch.plan.model import Operator
from target_arch.plan.regions.cut import Axis, AxisCut


@frozen(kw_only=True)
class Region:
    """Neighbouring operators of a partition that run as one call.

    `cuts` are from the outermost to the innermost: a cut of rows, of the columns of images of one row, or of
    channels, which says how many of the first tensor between them, or of each for channels, are made at a
    time; around it there may be a cut of the output's columns into patches, made one after the other.

    `scratch` are bytes of its own in `memory`, for what of the tensors between the operators is there. The
    output may take the place of the input `over`, which has at least as many bytes: the call no longer needs
    a byte of it where it writes. `instructions` is an estimate of those it adds to a run, and `whole` the
    same estimate of its operators one after the other: 0 where there is none, and then those take no time. A
    region that is `usual` is how the backend lowers these operators anyway, without a cut.
    """

    operators: tuple[str, ...]
    cuts: tuple[AxisCut, ...] = ()
    scratch: int = 0
    memory: str = ""
    over: str | None = None
    instructions: int = 0
    whole: int = 0
    usual: bool = False

    @property
    def axis(self) -> Axis:
        """The axis of the innermost cut."""
        return self.cuts[-1].axis

    @property
    def patches(self) -> int:
        """How many parts the outer cut makes, one where there is none. What two of them need is computed in
        both.
        """
        return self.cuts[0].parts if len(self.cuts) > 1 else 1

    def seconds(self, own: float) -> float:
        """The seconds that it adds to a run in which its operators, one after the other, take `own` seconds:
        its instructions take as long as theirs.
        """
        return own * self.instructions / self.whole if self.whole else 0.0

    def __str__(self) -> str:
        names = " to ".join(dict.fromkeys((self.operators[0], self.operators[-1])))
        cut = str(self.cuts[-1]) if self.cuts else "whole"
        patches = f" in each of {self.patches} patches" if self.patches > 1 else ""
        place = f", in the place of {self.over}" if self.over else ""
        return (
            f"{names}: {cut}{patches}{place}, {self.scratch:,} B for lines, "
            f"about {self.instructions:,} instructions more"
        )


Striping = Callable[[Sequence[Operator], int, bool], Iterator[Region]]
"""The ways to run exactly these neighbours as one call, none where there is no way: those with the least
scratch, and others whose scratch has room in so many bytes. The last argument says whether ways that
compute some elements twice count, too.
"""
