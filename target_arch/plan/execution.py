"""A simulated run: when everything happens in it, and how far from the best possible that is."""

from enum import StrEnum

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError


class ActivityKind(StrEnum):
    """The kind of a span: an instance or a channel is busy, or the host waits, starts work of others, or sees
    that it is over.
    """

    RUN = "run"
    COPY = "copy"
    WAIT = "wait"
    ORDER = "order"
    SETTLE = "settle"


@frozen(kw_only=True)
class Activity:
    """Something that keeps an instance or a DMA channel busy, or the host from work of its own. Times are
    seconds from the start of a run.

    `step` is the number of the step that it is, or that is ordered or settled. `what` names the operator, the
    buffer that is filled, or the event that is waited for; `where` the instance or the channel (a copy by the
    host is at the host).
    """

    step: int
    kind: ActivityKind
    what: str
    where: str
    start: float
    end: float


@frozen(kw_only=True)
class Execution:
    """A simulated run of steps, as one host thread takes them. Times are seconds from the start of the run.

    `bound` holds for any order of the same steps: the longest way through them and the busiest instance or
    engine. `division_bound` holds for any division of the same operators over the instances that accept them
    or slices of them, with copies for nothing: 0 where no costs are known. Both are 0 where nobody asked for
    bounds. `busy` of the `instances` of the
    chip compute at a time, on average over the run. `alone` is the makespan with one partition after the
    other, as they were placed; `undivided` that of the run before operators were divided, 0 where none is;
    `copied` that of the run which copies all constants, 0 where none is resident, and `filling` the time in
    which `init` copies those that are; `overlap` lists the steps that run at the same time, and those that do
    not for lack of memory. `spans` are those in which something is busy, `waits` those in which the host
    waits, and those in which it starts and settles what others do: the latter are parts of waits, too.

    Raises DiagnosticError for a run that takes less than a bound: one of the two is wrong.
    """

    makespan: float
    bound: float
    alone: float
    overlap: str
    division_bound: float = 0.0
    busy: float = 0.0
    instances: int = 1
    undivided: float = 0.0
    copied: float = 0.0
    filling: float = 0.0
    spans: tuple[Activity, ...] = field(repr=False)
    waits: tuple[Activity, ...] = field(default=(), repr=False)

    def __attrs_post_init__(self) -> None:
        said = below_bound(self.makespan, max(self.bound, self.division_bound))
        if said is not None:
            raise DiagnosticError([Diagnostic(rule="below-bound", place="simulated run", message=said)])

    @property
    def gap(self) -> float:
        """How much longer than the bound, as a part of the bound; 0 where the bound is 0."""
        return self.makespan / self.bound - 1 if self.bound else 0.0


def below_bound(makespan: float, bound: float) -> str | None:
    """The fault of a run that takes less than its bound; None for one that does not."""
    if makespan >= bound:
        return None
    return f"it takes {makespan * 1e6:.9g} us, and its lower bound is {bound * 1e6:.9g} us"
