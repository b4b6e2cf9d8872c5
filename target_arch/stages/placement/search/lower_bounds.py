"""Lower bounds on the makespan: no schedule is shorter."""

from collections import Counter
from collections.abc import Sequence
from operator import gt

from attrs import define

from target_arch.soc.rounding import ceil_div
from target_arch.stages.placement.search.jobs import NEVER, Jobs, Way


def lower_bound(jobs: Jobs) -> int:
    """The larger of the critical path and the busiest set of machines, in picoseconds."""
    return max(critical_path(jobs), busiest(jobs))


def critical_path(jobs: Jobs) -> int:
    """The longest path with every job on the group that is best for the jobs after it, without waits for
    machines, nor for channels but those for other data of the same job.
    """
    copies = _Copies(jobs)
    ends: list[list[int]] = []
    longest = 0
    for job, needed in enumerate(jobs.needs):
        readies = _readies(jobs, copies, needed, ends)
        ends.append(
            [
                NEVER if stay is None else min(NEVER, ready + stay.total)
                for ready, stay in zip(readies, jobs.stays[job], strict=True)
            ]
        )
        longest = max(longest, min(ends[job]))
    return longest


def _readies(
    jobs: Jobs, copies: "_Copies", needed: Sequence[int], ends: Sequence[Sequence[int]]
) -> list[int]:
    """For every group the least time at which data comes there. `ends` are those of jobs, by group."""
    readies, own = [0] * jobs.groups, _OwnCopies([0] * jobs.groups)
    for datum in reversed(needed):
        if jobs.data[datum].producer != jobs.early:
            readies = list(map(max, readies, copies.arrivals(datum, own, ends)))
        elif jobs.usages[datum] == 1:
            own.add(datum, jobs)
    return readies


@define
class _OwnCopies:
    """Early data of a job that nothing else needs: what comes behind some other data of the job. `longest` is
    by group the time of the slowest of these copies, `tables` are those of their ways.
    """

    longest: list[int]
    tables: tuple[int, ...] = ()

    def add(self, datum: int, jobs: Jobs) -> None:
        table = jobs.table[datum]
        self.tables += (table,)
        self.longest = list(map(max, self.longest, jobs.delays[table][jobs.choices[jobs.early][0]]))


class _Copies:
    """The least times of copies to a job. Early data that nothing else needs is copied after the makers of
    the job's other data have begun; and, on a channel of one lane, after that other data, where that is
    copied for this job alone.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        first = len(jobs.machines)
        self._lanes = {first + number for number, (_, width) in enumerate(jobs.channels) if width == 1}
        self._toward = [tuple(zip(*delays, strict=True)) for delays in jobs.delays]
        # By the tables of a datum and of the early data behind it.
        self._delays: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]] = {}
        # By data of several jobs and by group: when it has come, and what its copy and its maker hide.
        self._shared: dict[int, tuple[list[int], list[int]]] = {}

    def arrivals(self, datum: int, own: _OwnCopies, ends: Sequence[Sequence[int]]) -> list[int]:
        """By group the least time at which a datum of another job has come, and the job's own copies behind
        it. `ends` are those of jobs, by group.
        """
        jobs = self._jobs
        if jobs.usages[datum] == 1:
            behind = self._with_behind(jobs.table[datum], own.tables)
            return [end for end, _ in self._after(datum, behind, own.longest, ends)]
        delays = self._toward[jobs.table[datum]]
        if datum not in self._shared:
            alone = self._after(datum, delays, [0] * jobs.groups, ends)
            self._shared[datum] = [end for end, _ in alone], [end - begun for end, begun in alone]
        shared, hidden = self._shared[datum]
        if any(map(gt, own.longest, hidden)):
            return [end for end, _ in self._after(datum, delays, own.longest, ends)]
        return shared

    def _after(
        self,
        datum: int,
        delays: Sequence[Sequence[int]],
        copies: Sequence[int],
        ends: Sequence[Sequence[int]],
    ) -> list[tuple[int, int]]:
        """By group the least time at which the datum has come, that long after the end of its maker, and so
        have the copies that begin with the maker; and the beginning of the maker for that.
        """
        jobs, maker = self._jobs, self._jobs.data[datum].producer
        makers: list[tuple[int, int, int]] = []
        for group in jobs.choices[maker]:
            stay, end = jobs.stays[maker][group], ends[maker][group]
            assert stay is not None
            makers.append((group, end, end if group == jobs.host else end - stay.total))
        found: list[tuple[int, int]] = []
        for column, copy in zip(delays, copies, strict=True):
            best = NEVER, NEVER
            for group, end, start in makers:
                come, late = end + column[group], start + copy
                come = come if come > late else late
                if come < best[0] or (come == best[0] and start < best[1]):
                    best = come, start
            found.append(best)
        return found

    def _with_behind(self, table: int, early: tuple[int, ...]) -> list[tuple[int, ...]]:
        """By group and the group of the maker: the time of data, and of early data behind it."""
        key = (table, early)
        if key not in self._delays:
            behind = (self._waiting(table, each) for each in early)
            columns = zip(self._toward[table], *behind, strict=True)
            self._delays[key] = [tuple(map(max, zip(*column, strict=True))) for column in columns]
        return self._delays[key]

    def _waiting(self, table: int, early: int) -> list[list[int]]:
        """By group and the group of the maker: the time of early data behind other data on its channel."""
        ways, source = self._jobs.tables, self._jobs.choices[self._jobs.early][0]
        return [
            [self._behind_it(row[group], ways[early][source][group]) for row in ways[table]]
            for group in range(self._jobs.groups)
        ]

    def _behind_it(self, way: Way | None, early: Way | None) -> int:
        if way is None or early is None:
            return 0
        longest = passed = 0
        for resource, time in way.hops:
            passed += time
            rest = early.time
            for other, long in early.hops if resource in self._lanes else ():
                if other == resource:
                    longest = max(longest, passed + rest)
                rest -= long
        return longest


def busiest(jobs: Jobs) -> int:
    """For every set of groups, the jobs that can run nowhere else, at their fastest, shared evenly by the
    machines.
    """
    work: dict[frozenset[int], int] = {}
    members: dict[int, set[int]] = {}
    rows = {id(row): row for row in jobs.stays}
    for row, count in Counter(map(id, jobs.stays)).items():
        stays = [(group, stay) for group, stay in enumerate(rows[row]) if stay is not None]
        if any(not stay.machines for _, stay in stays):
            continue
        for group, stay in stays:
            members.setdefault(group, set()).update(stay.machines)
        key = frozenset(group for group, _ in stays)
        work[key] = work.get(key, 0) + count * min(stay.total for _, stay in stays)
    best = 0
    for groups in work:
        total = sum(time for inside, time in work.items() if inside <= groups)
        machines = {machine for group in groups for machine in members[group]}
        best = max(best, ceil_div(total, len(machines)))
    return best
