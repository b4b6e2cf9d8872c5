"""Placement as an assignment: what every resource has to do for one frame, whatever the order.

With frames in flight the time from one result to the next is that of the busiest resource: the times of the
jobs on it, and of the copies that it makes. A copy is made once for all that need the data where it lands.
Times are whole picoseconds, or whatever whole unit a benchmark poses its problem in.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from target_arch.soc.rounding import ceil_div
from target_arch.stages.placement.search.jobs import UNLIMITED, Jobs, Ways

Work = tuple[tuple[int, int], ...]
"""What is to do, by resource."""


@frozen(kw_only=True)
class Spot:
    """A place that a job can have: a machine (-1: none) of a group, and what is to do for it then."""

    group: int
    machine: int
    work: Work


@frozen(kw_only=True, eq=False)
class Spread:
    """How data gets from where it is made to where it is needed, by group: `copies` has the numbers of the
    copies that each pair of groups needs, None where no way leads there; `work` what each of these is to do.
    """

    copies: tuple[tuple[tuple[int, ...] | None, ...], ...]
    work: tuple[Work, ...]


@frozen(kw_only=True, eq=False)
class Flow:
    """Data of one job that others need."""

    producer: int
    users: tuple[int, ...]
    spread: Spread = field(repr=False)


@frozen(kw_only=True, eq=False, slots=False)
class AssignmentProblem:
    """Jobs with the spots that each can have, and the flows between them.

    `widths` is how many things each resource does at once. Resources in `most` have no time to fill but a
    room: their work is at most so much, and counts for no period.
    """

    spots: tuple[tuple[Spot, ...], ...] = field(repr=False)
    flows: tuple[Flow, ...] = field(repr=False)
    widths: tuple[int, ...]
    most: Mapping[int, int] = field(factory=dict)

    @cached_property
    def touched(self) -> tuple[tuple[int, ...], ...]:
        """The flows of every job: that it makes or needs."""
        found: list[dict[int, None]] = [{} for _ in self.spots]
        for number, flow in enumerate(self.flows):
            for job in (flow.producer, *flow.users):
                found[job][number] = None
        return tuple(map(tuple, found))

    @cached_property
    def timed(self) -> tuple[int, ...]:
        """The resources whose time counts."""
        return tuple(number for number in range(len(self.widths)) if number not in self.most)

    def copied(self, flow: Flow, choice: Sequence[int]) -> set[int] | None:
        """The copies of a flow where every job has the spot of that number; None where no way leads."""
        row = flow.spread.copies[self.spots[flow.producer][choice[flow.producer]].group]
        found: set[int] = set()
        for user in flow.users:
            copies = row[self.spots[user][choice[user]].group]
            if copies is None:
                return None
            found.update(copies)
        return found

    def work(self, choice: Sequence[int]) -> list[int] | None:
        """The work of every resource; None where a way is missing."""
        total = [0] * len(self.widths)
        for job, spot in enumerate(choice):
            _add(total, self.spots[job][spot].work)
        for flow in self.flows:
            copies = self.copied(flow, choice)
            if copies is None:
                return None
            for copy in copies:
                _add(total, flow.spread.work[copy])
        return total

    def period(self, work: Sequence[int]) -> int:
        """The time in which the busiest resource has done that."""
        return max((ceil_div(work[number], self.widths[number]) for number in self.timed), default=0)

    def busiest(self, work: Sequence[int]) -> int:
        """The resource that takes longest; -1 where none has anything to do."""
        times = {number: ceil_div(work[number], self.widths[number]) for number in self.timed}
        number = max(times, key=times.__getitem__, default=-1)
        return number if number >= 0 and times[number] else -1

    def fits(self, work: Sequence[int]) -> bool:
        """Whether no room is exceeded."""
        return all(work[number] <= most for number, most in self.most.items())


def assignment_problem(jobs: Jobs) -> AssignmentProblem:
    """The assignment behind a scheduling problem. A machine is busy while it computes, not while tiles of it
    are moved: other frames compute meanwhile.
    """
    users: list[list[int]] = [[] for _ in jobs.data]
    for job, needed in enumerate(jobs.needs):
        for datum in needed:
            users[datum].append(job)
    spreads = {id(ways): _spread(ways) for ways in jobs.tables}
    flows = (
        Flow(producer=datum.producer, users=tuple(using), spread=spreads[id(datum.ways)])
        for datum, using in zip(jobs.data, users, strict=True)
        if using
    )
    return AssignmentProblem(
        spots=tuple(tuple(_spots(jobs, job)) for job in range(len(jobs.stays))),
        flows=tuple(flows),
        widths=(*(1 for _ in jobs.machines), *(width for _, width in jobs.channels)),
    )


def _spots(jobs: Jobs, job: int) -> Iterator[Spot]:
    for group, stay in enumerate(jobs.stays[job]):
        if stay is None:
            continue
        moved = (*stay.before, *stay.after)
        for machine in stay.machines or (-1,):
            own = ((machine, stay.time),) if machine >= 0 else ()
            yield Spot(group=group, machine=machine, work=_summed((*own, *moved)))


def _spread(ways: Ways) -> Spread:
    """One copy for each pair of the group where data is made and the landing."""
    numbers: dict[tuple[int, int], int] = {}
    work: list[Work] = []
    rows: list[tuple[tuple[int, ...] | None, ...]] = []
    for group, row in enumerate(ways):
        copies: list[tuple[int, ...] | None] = []
        for way in row:
            if way is None or not way.hops:
                copies.append(None if way is None else ())
                continue
            key = (group, way.landing)
            if key not in numbers:
                numbers[key] = len(work)
                work.append(_summed(way.hops))
            copies.append((numbers[key],))
        rows.append(tuple(copies))
    return Spread(copies=tuple(rows), work=tuple(work))


def _summed(hops: Iterable[tuple[int, int]]) -> Work:
    total = Counter[int]()
    for resource, time in hops:
        if resource != UNLIMITED:
            total[resource] += time
    return tuple(sorted(total.items()))


def _add(total: list[int], work: Work) -> None:
    for resource, time in work:
        total[resource] += time
