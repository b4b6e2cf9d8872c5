"""A simulated run: when everything happens in it, and how far from the best possible that is."""

from enum import StrEnum

from attrs import field, frozen


class ActivityKind(StrEnum):
    """The kind of a busy span."""

    RUN = "run"
    COPY = "copy"


@frozen(kw_only=True)
class Activity:
    """Something that keeps an instance or a DMA channel busy. Times are seconds from the start of a run.

    `what` names the operator or the buffer that is filled, `where` the instance or the channel (a copy by the
    host is at the host).
    """

    kind: ActivityKind
    what: str
    where: str
    start: float
    end: float


@frozen(kw_only=True)
class Execution:
    """A simulated run of steps, as one host thread takes them. Times are seconds from the start of the run.

    `bound` holds for any order of the same steps: the longest way through them and the busiest instance or
    engine. `alone` is the makespan with one partition after the other, as they were placed; `overlap` lists
    the steps that run at the same time, and those that do not for lack of memory.
    """

    makespan: float
    bound: float
    alone: float
    overlap: str
    spans: tuple[Activity, ...] = field(repr=False)

    @property
    def gap(self) -> float:
        """How much longer than the bound, as a part of the bound; 0 where the bound is 0."""
        return self.makespan / self.bound - 1 if self.bound else 0.0
