"""The division of a model: which operators are computed in slices, and by which instances.

A slice is a range of an operator's result along one axis: the outermost one that has more than one element,
so that its bytes follow each other, or that of channels, where cores that share a cache would both read large
weights. The slices of an operator are operators of the divided model
(`stages.division.rewriting`), and `SliceOf` says of which: a claim, which the checker proves
(`stages.check.meaning.division`).
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from target_arch.soc.words import member_or_text


class Divide(StrEnum):
    """Whether operators may be divided: where that makes the simulated run shorter, those of the host alone,
    piece by piece, where that makes results of frames in flight come faster, or never.
    """

    AUTO = "auto"
    HOST = "host"
    NEVER = "never"


def divide(text: str) -> Divide:
    """Converter: the choice of that text."""
    return member_or_text(Divide, text)


@frozen(kw_only=True)
class PlaceRange:
    """Places along the axis of a division: from `start` up to `stop`, exclusive."""

    start: int
    stop: int

    @property
    def places(self) -> range:
        """The same as a range."""
        return range(self.start, self.stop)


@frozen(kw_only=True)
class SliceOf(PlaceRange):
    """A part of an operator's result along an axis."""

    operator: str
    axis: int

    def __str__(self) -> str:
        return f"{self.operator}[{self.start}:{self.stop}]"


@frozen(kw_only=True)
class Share(PlaceRange):
    """A slice and the instance that computes it."""

    instance: str


@frozen(kw_only=True)
class Cut:
    """An operator in shares along an axis, which cover it from one end to the other and may overlap: then the
    whole result is nowhere, as the slices that read it have each what they need.
    """

    operator: str
    axis: int
    shares: tuple[Share, ...]

    def __str__(self) -> str:
        return f"{self.operator} along axis {self.axis}: {self.words}"

    @property
    def words(self) -> str:
        """Places by instance, as 6 on `dsp_cpu`, 2 in 2 slices on `host_cpu`."""
        lengths: dict[str, list[int]] = {}
        for share in self.shares:
            lengths.setdefault(share.instance, []).append(len(share.places))
        return ", ".join(
            f"{sum(each)}{f' in {len(each)} slices' if len(each) > 1 else ''} on `{instance}`"
            for instance, each in lengths.items()
        )


@frozen(kw_only=True)
class ShareRun:
    """The seconds of the expected run with an operator in these shares, or whole without any. `run` is None
    where an instance does not take its share.
    """

    cut: Cut | None
    run: float | None

    @property
    def words(self) -> str:
        """The shares as text."""
        return "whole" if self.cut is None else self.cut.words


@frozen(kw_only=True)
class ShareChoice:
    """An operator that may be divided along `axis`, which has `extent` places: the run as it is, and with
    other shares of this operator alone, some of them along another axis, of channels.
    """

    operator: str
    axis: int
    extent: int
    chosen: ShareRun
    others: tuple[ShareRun, ...]


@frozen(kw_only=True)
class DivisionProof:
    """A proof over all divisions that a search chooses from: so many, of which `asked` were replayed.
    With `proven`, no expected run of one is shorter than `run` seconds by more than a nanosecond; else there
    are more than the `most` that are gone through.
    """

    divisions: int
    proven: bool
    asked: int
    run: float
    most: int


Division = Mapping[str, Cut]
"""The operators that are divided, by id."""

UNDIVIDED: Division = {}
