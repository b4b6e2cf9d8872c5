"""Response-time analysis: the worst time of jobs under fixed priorities, with preemption between steps.

A task has a *group*: those for which it waits, those for which these wait, and so on. They have the chip in
turn as on one processor, with preemption between steps: of the most urgent job of a group that is not over,
no step waits for another of the group, but for those that were in flight when it was released. So the worst
response is in the busy period that begins when a job is released together with all others of its group, just
after the longest step of a less urgent one began (R. J. Bril, J. J. Lukkien, W. F. J. Verhaegh, "Worst-case
response time analysis of real-time tasks under fixed-priority scheduling with deferred preemption", Real-Time
Systems 42, 2009): a last step that is the host's cannot be preempted, so the jobs of one task in that period
are looked at one by one.

Steps in flight go on while their job is preempted, and may keep a timeline from the more urgent one: each of
its jobs costs as much as the others may have in flight there (as cache-related preemption delays do: J. V.
Busquets-Mataix et al., "Adding instruction cache effect to schedulability analysis of preemptive real-time
systems", RTAS 1996). Jobs of equal priority run in the order of their release, and do not preempt each other.

Tasks that are not in the group run at once with it and share the host alone, one step after the other. Those
as urgent or more take as much host time as their jobs have that may fall into the period; these are over
within their own worst responses, so that all are found together (K. Tindell, J. Clark, "Holistic
schedulability analysis for distributed hard real-time systems", Microprocessing and Microprogramming 40,
1994). Less urgent ones take that at most too, and a step each time the host had nothing else to do. Where
they wait for some of the group, each job of that may find a step of theirs in flight.

Those that run at once may copy on the same channel. The most urgent one that waits goes first there, as on
the host: it waits for one copy of less urgent ones each time that it copies, and for all copies of more
urgent ones, after each of which the host may have begun a step of somebody else.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import neg

from attrs import evolve, frozen

from target_arch.plan.workloads.answers import Analysis, Response
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.plan.workloads.workload import Schedule
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.waiting import group_of, waits_of

_MOST_JOBS = 10_000
"""Jobs of a task in a busy period that are looked at; a longer one counts as endless."""
_LEAST = 10**5
"""Picoseconds by which a time that is looked for grows at least: a host that others keep busy would let it
grow by one at a time.
"""
_ROUNDS = 50
"""How often the responses of tasks that run at once are taken for each other's."""


@frozen(kw_only=True, slots=False)
class _Member:
    """A task of a group: its `cost` for each job, the most that a job is longer by what it finds in flight of
    the group (`held`) and of others that are less urgent (`met`), what a job loses when it is preempted
    (`losses`) and by whom, as no more than a job of these is longer by it (`losing`, the most first), and how
    often it waits for a timeline (`pauses`). A job is over `limit` after it was due.
    """

    number: int
    priority: int
    period: int
    jitter: int
    limit: int
    cost: int
    held: int
    met: int
    losses: tuple[int, ...]
    losing: tuple[tuple[int, int], ...]
    pauses: int

    @cached_property
    def _sums(self) -> tuple[int, ...]:
        """The sums of so many of the losses."""
        return tuple(accumulate(self.losses, initial=0))

    @cached_property
    def _as_long(self) -> tuple[int, ...]:
        """For each of the losing, how many losses are as long."""
        return tuple(bisect_right(self.losses, -wait, key=neg) for wait, _ in self.losing)

    def lost(self, jobs: int, others: Mapping[int, int]) -> int:
        """The most that so many jobs of it lose by so many of each of the others together."""
        total, at, last = 0, 0, jobs * len(self.losses)
        for (wait, other), longer in zip(self.losing, self._as_long, strict=True):
            if at == last:
                break
            until, shorter = min(at + others[other], last), jobs * longer
            total += max(0, min(until, shorter) - at) * wait
            if until > shorter:
                total += self._first(until, jobs) - self._first(max(at, shorter), jobs)
            at = until
        return total

    def _first(self, count: int, jobs: int) -> int:
        """The sum of the first so many losses of as many jobs, the largest first."""
        whole, part = divmod(count, jobs)
        return jobs * self._sums[whole] + (part * self.losses[whole] if part else 0)

    def begun(self, until: int) -> int:
        """The number of its jobs that are released before or at a time, the first one at 0."""
        return (until + self.jitter) // self.period + 1

    def after(self, begin: int, until: int) -> int:
        """The number of these that are not over at a time before."""
        return min(self.begun(until), max(0, until - begin + self.limit) // self.period + 1)

    def before(self, until: int) -> int:
        """The number of its jobs that are released before a time."""
        return -(-(until + self.jitter) // self.period)


@frozen(kw_only=True)
class _Beside:
    """A task that runs at once with a group: a job is over `limit` after it was due, and needs the host, or
    a timeline of the group, for `takes`, in so many `steps`.
    """

    period: int
    limit: int
    takes: int
    steps: int

    @property
    def _late(self) -> int:
        """How long after it was due a job may begin with all that it needs; so long as jobs do not queue."""
        return self.limit - self.takes if self.limit <= self.period else self.limit

    def jobs(self, time: int) -> int:
        """The number of its jobs that are open at some time of any span of that length."""
        return (time + self.limit) // self.period + 1

    def needed(self, time: int) -> int:
        """The time that its jobs need there in any span of that length (M. Bertogna, M. Cirinei, "Response-
        time analysis for globally scheduled symmetric multiprocessor platforms", RTSS 2007).
        """
        whole, part = divmod(time + self._late, self.period)
        return whole * self.takes + min(self.takes, part)


@frozen(kw_only=True)
class _Found:
    """A timeline that a job may find busy `until` a time: it is longer by `more` then, if nothing else made
    it wait.
    """

    until: int
    more: int


@frozen(kw_only=True)
class _Group:
    """A task in its group, and what others do to it. `idle_steps` are the host's steps of the `idle` ones,
    each with its number in these, the longest first.

    The group is `blocked` at most; for the `others` of it and on the host, and for the task itself on the
    timelines that are `found` busy longer than that. Of those that run at once, the `copying` ones are as
    urgent as the task and use channels of the group; the `holders` are less urgent, and some of the group may
    find them on its timelines.
    """

    itself: _Member
    last: int
    higher: tuple[_Member, ...]
    equal: tuple[_Member, ...]
    blocked: int
    blocker: str
    others: int
    found: tuple[_Found, ...]
    urgent: tuple[_Beside, ...]
    idle: tuple[_Beside, ...]
    idle_steps: tuple[tuple[int, int], ...]
    copying: tuple[_Beside, ...]
    holders: tuple[_Beside, ...]

    def beside(self, jobs: Sequence[tuple[_Member, int]], time: int) -> int:
        """The time in which the host and timelines work for all that run at once, while there are so many
        jobs of the group.
        """
        met = min(sum(each.needed(time) for each in self.holders), sum(n * each.met for each, n in jobs))
        return self._hosted(jobs, time) + sum(each.needed(time) for each in self.copying) + met

    def _hosted(self, jobs: Sequence[tuple[_Member, int]], time: int) -> int:
        pauses = 1 + sum(count * each.pauses for each, count in jobs)
        pauses += sum(each.jobs(time) * each.steps for each in self.copying)
        idle = sum(each.needed(time) for each in self.idle)
        return sum(each.needed(time) for each in self.urgent) + min(idle, self._longest(pauses, time))

    def _longest(self, count: int, time: int) -> int:
        """The time of the longest so many steps of the idle ones, each as often as there are jobs with it."""
        jobs, total = [each.jobs(time) for each in self.idle], 0
        for step, idle in self.idle_steps:
            times = min(count, jobs[idle])
            total, count = total + times * step, count - times
            if not count:
                break
        return total

    def demand(self, jobs: Sequence[tuple[_Member, int]], time: int, blocked: int) -> int:
        """The time of so many jobs of each task, with what they lose to each other, and of the host's steps
        of others, until a time: each job preempts one at most. While the group is blocked, nobody else
        delays it.
        """
        open_for = max(0, time - blocked)
        cost = sum(count * each.cost for each, count in jobs)
        by_job = sum(count * each.held for each, count in jobs)
        there = {each.number: count for each, count in jobs}
        lost = 0
        for each, count in jobs:
            if lost < by_job:
                lost += each.lost(count, there)
        return cost + min(by_job, lost) + self.beside(jobs, open_for)


@frozen(kw_only=True)
class _System:
    """All tasks with their worst times, who waits for whom, and when jobs are over, as far as known."""

    tasks: tuple[TimedTask, ...]
    times: tuple[TaskTimes, ...]
    waits: tuple[frozenset[int], ...]
    limits: tuple[int, ...]

    def response(self, number: int) -> Response:
        """The worst response of a task."""
        group = self._group(number)
        worst, beside = _worst(group)
        return Response(
            task=self.tasks[number],
            times=self.times[number],
            worst=worst,
            blocked=group.blocked,
            blocker=group.blocker,
            beside=beside,
        )

    def _priority(self, number: int) -> int:
        return self.tasks[number].timing.priority

    def _group(self, number: int) -> _Group:
        group, level = sorted(group_of(self.waits, number)), self._priority(number)
        others = [other for other in range(len(self.tasks)) if other not in group]
        kept_off = [o for o in others if self._priority(o) < level and self.waits[o].issuperset(group)]
        free = [other for other in others if other not in kept_off]
        idle = [other for other in free if self._priority(other) < level]
        members = {one: self._member(one, group, free) for one in group}
        blocked, blocker = max(
            ((self._blocks(other, one), self.tasks[other].name) for other in kept_off for one in group),
            default=(0, ""),
        )
        steps = (step for other in kept_off for step in self.times[other].hosted_steps[:1])
        before = (self._longer(one, other) for other in kept_off for one in group if one != number)
        blocked_before = max((0, *steps, *before))
        return _Group(
            itself=members[number],
            last=self.times[number].last,
            higher=tuple(each for each in members.values() if each.priority > level),
            equal=tuple(each for one, each in members.items() if each.priority == level and one != number),
            blocked=blocked,
            blocker=blocker,
            others=blocked_before,
            found=tuple(each for each in self._found(number, kept_off) if each.more > blocked_before),
            urgent=tuple(self._on_host(other) for other in free if other not in idle),
            idle=tuple(map(self._on_host, idle)),
            idle_steps=tuple(sorted(self._steps(idle), reverse=True)),
            copying=tuple(
                self._on_lines(group, [o for o in free if o not in idle and self._copies(o, group)])
            ),
            holders=tuple(self._on_lines(group, [o for o in free if self._holds(o, group, idle)])),
        )

    def _member(self, number: int, group: Collection[int], free: Collection[int]) -> _Member:
        timing, own = self.tasks[number].timing, self.times[number]
        below = [other for other in range(len(self.tasks)) if self._priority(other) < timing.priority]
        lines = frozenset[str]().union(*(self.times[other].flights for other in below))
        waiting = (own.longer(self.times[o].flights) for o in below if o in free and number in self.waits[o])
        copies = self._found_copies(number, [other for other in below if other in free])
        return _Member(
            number=number,
            priority=timing.priority,
            period=timing.period,
            jitter=timing.jitter,
            limit=self.limits[number],
            cost=own.cost,
            held=max(
                (min(self._longer(number, o), self.times[o].loss) for o in below if o in group), default=0
            ),
            met=max(waiting, default=0) + sum(count * takes for count, takes in copies),
            losses=own.losses,
            losing=tuple(sorted(self._losing(number, group), reverse=True)),
            pauses=own.pauses + len(lines & own.flights.keys()) + sum(count for count, _ in copies),
        )

    def _at_once(self, one: int, other: int) -> bool:
        return one not in self.waits[other] and other not in self.waits[one]

    def _copies(self, number: int, group: Collection[int]) -> bool:
        """Whether a task uses a channel at once with one of a group."""
        lines = self.times[number].flights.keys()
        return any(self._at_once(number, one) and lines & self.times[one].flights.keys() for one in group)

    def _holds(self, number: int, group: Collection[int], idle: Collection[int]) -> bool:
        """Whether some of a group may find a task on a timeline: it waits for them, or is less urgent."""
        return bool(self.waits[number] & set(group)) or (number in idle and self._copies(number, group))

    def _found_copies(self, number: int, below: Collection[int]) -> list[tuple[int, int]]:
        """By channel how often a job of a task may find a copy of less urgent ones there, as these do not
        wait for it, and how long that takes at most.
        """
        own, there = self.times[number], [self.times[o].flights for o in below if self._at_once(number, o)]
        longest = ((line, max((each.get(line, 0) for each in there), default=0)) for line in own.counts)
        return [(own.counts[line], takes) for line, takes in longest if takes]

    def _longer(self, number: int, below: int) -> int:
        """The most that a job of a task is longer by what it finds in flight of a less urgent one."""
        return self.times[number].longer(self.times[below].flights)

    def _found(self, number: int, below: Collection[int]) -> Iterator[_Found]:
        """The timelines that a job of a task may find busy."""
        own = self.times[number]
        for line, tail in own.tails.items():
            until = max((self.times[other].flights.get(line, 0) for other in below), default=0)
            yield _Found(until=until, more=until + tail - own.cost)

    def _losing(self, number: int, group: Collection[int]) -> Iterator[tuple[int, int]]:
        """The tasks of a group that are more urgent than one and find something of it in flight, with the
        most that they are longer by it.
        """
        for other in group:
            if self._priority(other) > self._priority(number) and (longer := self._longer(other, number)):
                yield longer, other

    def _on_host(self, number: int) -> _Beside:
        """The time that jobs of a task need of the host."""
        times = self.times[number]
        return self._beside(number, times.hosted, len(times.hosted_steps))

    def _on_lines(self, group: Collection[int], others: Collection[int]) -> Iterator[_Beside]:
        """The time that jobs of some tasks need of each timeline of a group."""
        lines = frozenset[str]().union(*(self.times[one].flights for one in group))
        for number in others:
            times = self.times[number]
            for line in sorted(lines & times.flown.keys()):
                yield self._beside(number, times.flown[line], times.counts[line])

    def _beside(self, number: int, takes: int, steps: int) -> _Beside:
        period = self.tasks[number].timing.period
        return _Beside(period=period, limit=self.limits[number], takes=takes, steps=steps)

    def _steps(self, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The host's steps of some tasks, with their places in these."""
        for place, number in enumerate(numbers):
            yield from ((step, place) for step in self.times[number].hosted_steps)

    def _blocks(self, other: int, number: int) -> int:
        """The most by which a step of a task that was just begun makes a job of another one longer."""
        steps, own = self.times[other].hosted_steps, self.times[number]
        return max(own.longer(self.times[other].flights), *steps[:1], 0)


def analysis(
    tasks: Sequence[TimedTask],
    known: Sequence[TaskTimes] = (),
    waits: Sequence[frozenset[int]] = (),
) -> Analysis:
    """The worst response of every task, by the worst times of their steps, or by `known` ones; and by who
    waits for whom, else for those only for which it has to.
    """
    times = tuple(known or map(task_times, tasks))
    waits = tuple(waits or waits_of(tasks))
    limits = tuple(each.cost for each in times)
    for _ in range(_ROUNDS):
        system = _System(tasks=tuple(tasks), times=times, waits=waits, limits=limits)
        responses = tuple(map(system.response, range(len(tasks))))
        found = tuple(each.worst for each in responses)
        if found == limits:
            return Analysis(schedule=Schedule.PRIORITIES, responses=responses, waits=waits)
        if not all(each.met for each in responses):
            break
        limits = tuple(max(limit, worst or 0) for limit, worst in zip(limits, found, strict=True))
    else:
        responses = tuple(evolve(each, worst=None) for each in responses)
    return Analysis(schedule=Schedule.PRIORITIES, responses=responses, waits=waits)


def _worst(group: _Group) -> tuple[int | None, int]:
    """The worst response, and how much of it is the host's part of others."""
    itself, every = group.itself, (*group.higher, *group.equal, group.itself)
    load = sum(each.cost / each.period for each in every)
    load += sum(each.takes / each.period for each in group.urgent)
    if load >= 1:
        return None, 0
    period, most = group.blocked + itself.cost, _MOST_JOBS * itself.period
    while True:
        jobs = [(each, each.before(period)) for each in every]
        longer = group.blocked + group.demand(jobs, period, group.blocked)
        if longer <= period:
            break
        if longer > most:
            return None, 0
        period = max(longer, period + _LEAST)
    worst = beside = begins = 0
    for job in range(itself.before(period)):
        blocked = group.blocked if job else group.others
        begins = _begun(group, [(itself, job)], (*group.higher, *group.equal), blocked, begins)
        fixed = [(itself, job + 1), *((each, each.begun(begins)) for each in group.equal)]
        end = _ended(group, fixed, begins)
        response = end - job * itself.period + itself.jitter
        if response > worst:
            jobs = [*fixed, *((each, each.begun(end - group.last)) for each in group.higher)]
            worst, beside = response, group.beside(jobs, end - group.last)
    return worst, beside


def _begun(
    group: _Group,
    fixed: Sequence[tuple[_Member, int]],
    others: Sequence[_Member],
    blocked: int,
    least: int,
) -> int:
    """The first time, `least` or later, at which so many jobs of some tasks and all jobs of others that were
    released until then are over, for a group that was blocked for so long.
    """
    now = least
    while (then := blocked + group.demand(_until(now, fixed, others), now, blocked)) > now:
        now = max(then, now + _LEAST)
    return now


def _ended(group: _Group, fixed: Sequence[tuple[_Member, int]], least: int) -> int:
    """When the last of these jobs of the task itself is over, of which the first begins `least` or later.

    It is late by what others of its group found, or by a timeline that it finds busy itself: then what was
    done before that was free did not delay it. (Its first job begins when those of equal priority are over.)
    """
    own = fixed if fixed[0][1] > 1 else fixed[:1]
    now = least
    while True:
        then = group.others + group.demand(_until(now, fixed, group.higher), now, group.others)
        for found in group.found:
            jobs = [*own, *((each, each.after(found.until, now)) for each in group.higher)]
            then = max(then, found.more + group.demand(jobs, now, 0))
        if then - group.last <= now:
            return now + group.last
        now = max(then - group.last, now + _LEAST)


def _until(
    now: int, fixed: Sequence[tuple[_Member, int]], others: Sequence[_Member]
) -> list[tuple[_Member, int]]:
    """So many jobs of some tasks, and all of others that were released until now."""
    return [*fixed, *((each, each.begun(now)) for each in others)]
