"""A placement problem as a scheduler sees it: jobs, machines, channels and ways, all by number.

A *machine* is an instance, a *channel* a DMA engine with a width. Interchangeable machines are one *group*; a
job is given a group, and runs on the machine of the group that is free first. Times are whole picoseconds.
Jobs are independent of tensors and memories, so that benchmarks can pose problems of their own.
"""

from collections import Counter
from functools import cached_property

import attrs
from attrs import field, frozen

UNLIMITED = -1
"""The resource of a hop that never waits for another."""

NEVER = 1 << 62
"""Infinity: later than any schedule, in picoseconds."""

Hop = tuple[int, int]
"""Resource (machines come first, then channels; or UNLIMITED) and picoseconds."""


@frozen(kw_only=True, slots=False)
class Way:
    """The way of data from one group to another: hops one after the other, and the landing.

    Two groups whose ways end in one `landing` share one copy. Without hops the data is there already.
    """

    landing: int = -1
    hops: tuple[Hop, ...] = ()

    @cached_property
    def time(self) -> int:
        return sum(time for _, time in self.hops)


HERE = Way()

Ways = tuple[tuple[Way | None, ...], ...]
"""By the group where data is made and the group where it is needed; None where no way leads there."""


@frozen(kw_only=True, slots=False)
class Stay:
    """A job on a group: the machines of the group that may take it, moves before, computing, moves after.

    The machine is taken for all three; `before` and `after` also take their channels.
    """

    machines: tuple[int, ...]
    time: int
    before: tuple[Hop, ...] = ()
    after: tuple[Hop, ...] = ()

    @cached_property
    def total(self) -> int:
        """Picoseconds from begin to end, without waits."""
        return self.time + sum(time for _, time in self.before) + sum(time for _, time in self.after)


@frozen(kw_only=True, cache_hash=True)
class Datum:
    """A result of one job that others need. Data that are alike may share their ways."""

    name: str
    producer: int
    ways: Ways = field(repr=False)


@frozen(kw_only=True, eq=False, slots=False)
class Jobs:
    """Everything to be scheduled. Jobs are numbered topologically: data is made before it is needed.

    `stays[job][group]` is None where the job cannot go there. A job without work (a source of data, the
    caller that reads the results) has a stay of no time on no machine. Data of the job `early` exists from
    the start, but is copied to a job only after the makers of its other data have begun (ended, on the group
    `host`): no step orders a copy for a later job before that.
    """

    names: tuple[str, ...] = field(repr=False)
    machines: tuple[str, ...]
    channels: tuple[tuple[str, int], ...]
    stays: tuple[tuple[Stay | None, ...], ...] = field(repr=False)
    data: tuple[Datum, ...] = field(repr=False)
    needs: tuple[tuple[int, ...], ...] = field(repr=False)
    """For every job the data it needs."""
    host: int = 0
    early: int = -1

    @property
    def content(self) -> tuple[object, ...]:
        """Everything that a search depends on: problems of equal content have equal results."""
        return attrs.astuple(self, recurse=False)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.stays[0]) if self.stays else 0

    @cached_property
    def contended(self) -> bool:
        """Whether a copy may have to wait for another, or for a machine."""
        hops = [hop for table in self.tables for row in table for way in row if way for hop in way.hops]
        moves = [stay for row in self.stays for stay in row if stay and (stay.before or stay.after)]
        return bool(moves) or any(resource != UNLIMITED for resource, _ in hops)

    @cached_property
    def choices(self) -> tuple[tuple[int, ...], ...]:
        """For every job the groups it can take."""
        rows = {id(row): row for row in self.stays}
        known = {key: tuple(n for n, s in enumerate(row) if s is not None) for key, row in rows.items()}
        return tuple([known[id(row)] for row in self.stays])

    @cached_property
    def users(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """By job, the users of its data: pairs of datum and job."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.names]
        for job, needed in enumerate(self.needs):
            for datum in needed:
                found[self.data[datum].producer].append((datum, job))
        return tuple(map(tuple, found))

    @cached_property
    def usages(self) -> tuple[int, ...]:
        """For every datum how many jobs need it."""
        counted = Counter(datum for needed in self.needs for datum in needed)
        return tuple([counted[datum] for datum in range(len(self.data))])

    @cached_property
    def tables(self) -> tuple[Ways, ...]:
        """The ways of all data, each shared one once."""
        return tuple({id(datum.ways): datum.ways for datum in self.data}.values())

    @cached_property
    def table(self) -> tuple[int, ...]:
        """For every datum the number of its ways among `tables`."""
        numbers = {id(ways): number for number, ways in enumerate(self.tables)}
        return tuple([numbers[id(datum.ways)] for datum in self.data])

    @cached_property
    def delays(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """For every one of `tables` the picoseconds from group to group, NEVER where no way leads there."""
        return tuple(
            tuple(tuple(NEVER if way is None else way.time for way in row) for row in ways)
            for ways in self.tables
        )
