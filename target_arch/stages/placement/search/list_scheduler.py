"""List scheduling: from an order of jobs and a group for each to the time of everything.

Jobs are taken in the order given. A copy starts when its data is made and its channel is free, a job when all
its data has come and a machine of its group is free; a machine's idle time between two jobs is filled where a
later job fits (the insertion of HEFT). A copy by the host takes the host's own time. The host is assumed to
start asynchronous work without delay.
"""

from bisect import bisect_left
from collections.abc import Sequence

from attrs import field, frozen

from target_arch.stages.placement.search.jobs import UNLIMITED, Hop, Jobs, Way, Ways

GAPS = 32
"""How many idle times of a machine are remembered, the latest ones."""

Need = tuple[int, int, Ways]
"""A datum that a job needs, the job that makes it, its ways."""


@frozen(kw_only=True, eq=False)
class JobSchedule:
    """The times of all jobs and copies, in picoseconds. `work` sums the busy times of machines and
    channels.
    """

    order: tuple[int, ...] = field(repr=False)
    groups: tuple[int, ...] = field(repr=False)
    makespan: int
    work: int
    starts: tuple[int, ...] = field(repr=False)
    ends: tuple[int, ...] = field(repr=False)
    machines: tuple[int, ...] = field(repr=False)
    """The machine of every job, -1 for jobs that are no work."""
    causes: tuple[int, ...] = field(repr=False)
    """For every job the one it waited for last, -1 for none."""

    @property
    def cost(self) -> tuple[int, int]:
        """The objective to minimize: the makespan, and among equal ones the work."""
        return self.makespan, self.work

    def by_start(self) -> tuple[int, ...]:
        """The jobs in the order in which they start; a topological order."""
        rank = {job: number for number, job in enumerate(self.order)}
        return tuple(sorted(self.order, key=lambda job: (self.starts[job], rank[job])))


class ListScheduler:
    """Schedules one problem again and again."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        data: list[Need] = [(number, datum.producer, datum.ways) for number, datum in enumerate(jobs.data)]
        self.needs = [tuple([data[datum] for datum in needed]) for needed in jobs.needs]
        rows = {id(row): row for row in jobs.stays}
        known = {
            key: tuple(None if s is None else (s.machines, s.time, s.before, s.after) for s in row)
            for key, row in rows.items()
        }
        self.stays = [known[id(row)] for row in jobs.stays]

    def run(self, order: Sequence[int], groups: Sequence[int]) -> JobSchedule | None:
        """The schedule; None where a job cannot be on its group, or no way leads to it."""
        progress = Progress(self)
        put = progress.put
        for job in order:
            if not put(job, groups[job]):
                return None
        return progress.schedule(order)

    def within(
        self, limit: int, tails: Sequence[Sequence[int]], order: Sequence[int], groups: Sequence[int]
    ) -> tuple[JobSchedule | None, int]:
        """As `run`, but None once the makespan is sure to exceed a limit; and the number of jobs scheduled.

        `tails` are, for every job and group, the least time that follows its end.
        """
        progress = Progress(self)
        put, ends, count = progress.put, progress.ends, 0
        for job in order:
            count += 1
            group = groups[job]
            if not put(job, group) or ends[job] + tails[job][group] > limit:
                return None, count
        return progress.schedule(order), count


class Progress:
    """A schedule that grows job by job."""

    def __init__(self, scheduler: ListScheduler) -> None:
        jobs = scheduler.jobs
        self._needs, self._stays = scheduler.needs, scheduler.stays
        self._host, self._early = jobs.host, jobs.early
        self.board = Resources(jobs)
        count = len(jobs.names)
        self.groups, self.starts, self.ends = [0] * count, [0] * count, [0] * count
        self.machines, self.causes = [-1] * count, [-1] * count
        self.arrived: dict[tuple[int, int], int] = {}
        """Landed copies: datum and landing to the time."""

    def put(self, job: int, group: int) -> bool:
        """Schedule the next job on a group; False where that is impossible."""
        stay = self._stays[job][group]
        if stay is None:
            return False
        ready = self._bring(job, group)
        if ready < 0:
            return False
        members, takes, before, after = stay
        start, end = ready, ready + takes
        if members:
            board = self.board
            machine = members[0] if len(members) == 1 else board.soonest(members, ready)
            if before or after:
                start, end = board.moves(machine, ready, takes, before, after)
            else:
                start = board.take(machine, ready, takes)
                end = start + takes
            self.machines[job] = machine
            if start > ready:
                self.causes[job] = board.last[machine]
            board.last[machine] = job
        self.groups[job], self.starts[job], self.ends[job] = group, start, end
        return True

    def ordered(self, needs: Sequence[Need]) -> int:
        """From when on early data is brought to a job with these other needs: once they are being made."""
        groups, starts, ends, host = self.groups, self.starts, self.ends, self._host
        times = [ends[maker] if groups[maker] == host else starts[maker] for _, maker, _ in needs]
        return max(times, default=0)

    def schedule(self, order: Sequence[int]) -> JobSchedule:
        """The scheduled jobs, in the order in which they were."""
        return JobSchedule(
            order=tuple(order),
            groups=tuple(self.groups),
            makespan=max(self.ends, default=0),
            work=self.board.work,
            starts=tuple(self.starts),
            ends=tuple(self.ends),
            machines=tuple(self.machines),
            causes=tuple(self.causes),
        )

    def _bring(self, job: int, group: int) -> int:
        """The arrival of all data of a job, -1 where no way leads there; notes the maker of the last to
        arrive.
        """
        groups, ends, needs, early = self.groups, self.ends, self._needs[job], self._early
        ready, cause = 0, -1
        for number, (datum, producer, ways) in enumerate(needs):
            way = ways[groups[producer]][group]
            if way is None:
                return -1
            time = ends[producer]
            if way.hops:
                if producer == early:
                    time = self.ordered(needs[:number])
                time = self._copied(datum, way, time)
            if time > ready:
                ready, cause = time, producer
        self.causes[job] = cause
        return ready

    def _copied(self, datum: int, way: Way, time: int) -> int:
        """When a datum that is made at `time` has come; one copy serves all groups where it lands."""
        key = (datum, way.landing)
        if key in self.arrived:
            return self.arrived[key]
        take = self.board.take
        for resource, takes in way.hops:
            time = take(resource, time, takes) + takes
        self.arrived[key] = time
        return time


class Resources:
    """The times at which machines and channels are free.

    A fast variant of `stages.steps.simulation.clock.Clock` for the search: resources by number, idle times
    that are filled afterwards, and no host that must begin everything.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._machines = len(jobs.machines)
        self.free = [0] * self._machines
        self.busy = [0] * self._machines
        self.last = [-1] * self._machines
        """The job each machine took last."""
        self._gaps: list[list[int]] = [[] for _ in jobs.machines]
        """When the idle times of each machine that may be filled begin; they follow one another."""
        self._over: list[list[int]] = [[] for _ in jobs.machines]
        """When they end."""
        self._lanes = [[0] * width for _, width in jobs.channels]
        self.work = 0

    def take(self, resource: int, ready: int, takes: int) -> int:
        """Take a resource from `ready` on for so long; when it begins."""
        self.work += takes
        if resource == UNLIMITED:
            return ready
        if resource >= self._machines:
            lanes = self._lanes[resource - self._machines]
            lane = lanes.index(min(lanes))
            begin = max(ready, lanes[lane])
            lanes[lane] = begin + takes
            return begin
        self.busy[resource] += takes
        free = self.free[resource]
        if ready < free:
            gap = self._gap(resource, ready, takes)
            if gap >= 0:
                return self._fill(resource, gap, ready, takes)
            begin = free
        else:
            begin = ready
            if ready > free:
                self._idle(resource, free, ready)
        self.free[resource] = begin + takes
        return begin

    def soonest(self, members: Sequence[int], ready: int) -> int:
        """The machine with the earliest start; ties go to the least busy, then to the lowest number."""
        free, busy = self.free, self.busy
        return min([(max(ready, free[machine]), busy[machine], machine) for machine in members])[2]

    def moves(
        self, machine: int, ready: int, takes: int, before: Sequence[Hop], after: Sequence[Hop]
    ) -> tuple[int, int]:
        """Take a machine for moves, computing and moves; from when to when. It waits for channels, idle."""
        start = time = max(ready, self.free[machine])
        for resource, long in before:
            time = self.take(resource, time, long) + long
        time += takes
        for resource, long in after:
            time = self.take(resource, time, long) + long
        if start > self.free[machine]:
            self._idle(machine, self.free[machine], start)
        self.free[machine] = time
        self.busy[machine] += time - start
        self.work += takes
        return start, time

    def ready_at(self, resource: int, ready: int, takes: int) -> int:
        """When `take` would begin, but for gaps; nothing is taken."""
        if resource == UNLIMITED:
            return ready
        if resource >= self._machines:
            return max(ready, min(self._lanes[resource - self._machines]))
        free = self.free[resource]
        if ready < free:
            gap = self._gap(resource, ready, takes)
            return free if gap < 0 else max(ready, self._gaps[resource][gap])
        return ready

    def _gap(self, machine: int, ready: int, takes: int) -> int:
        """The first idle time of a machine that has room for so long from `ready` on, -1 where none has."""
        starts, ends = self._gaps[machine], self._over[machine]
        for gap in range(bisect_left(ends, ready + takes), len(ends)):
            if starts[gap] + takes <= ends[gap]:
                return gap
        return -1

    def _fill(self, machine: int, gap: int, ready: int, takes: int) -> int:
        """Take a part of an idle time; when it begins."""
        start, end = self._gaps[machine][gap], self._over[machine][gap]
        begin = max(ready, start)
        left = [(one, two) for one, two in ((start, begin), (begin + takes, end)) if two > one]
        self._gaps[machine][gap : gap + 1] = [one for one, _ in left]
        self._over[machine][gap : gap + 1] = [two for _, two in left]
        return begin

    def _idle(self, machine: int, start: int, end: int) -> None:
        self._gaps[machine].append(start)
        self._over[machine].append(end)
        if len(self._gaps[machine]) > GAPS:
            del self._gaps[machine][0], self._over[machine][0]
