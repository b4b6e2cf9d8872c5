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
"""

from collections.abc import Collection, Sequence

from attrs import evolve, frozen

from target_arch.plan.workloads.answers import Analysis, Response
from target_arch.plan.workloads.tasks import TaskTimes, TimedTask
from target_arch.plan.workloads.workload import Schedule
from target_arch.stages.workloads.alone import task_times
from target_arch.stages.workloads.waiting import group_of, waits_of

_MOST_JOBS = 10_000
"""Jobs of a task in a busy period that are looked at; a longer one counts as endless."""
_ROUNDS = 50
"""How often the responses of tasks that run at once are taken for each other's."""


@frozen(kw_only=True)
class _Member:
    """A task of a group: its `cost` for each job, the most that a job of it finds in flight of the group
    (`held`) and of others (`met`), the most that a job loses when it is preempted (`drained`), and in all
    (`serial`).
    """

    number: int
    priority: int
    period: int
    jitter: int
    cost: int
    held: int
    met: int
    drained: int
    serial: int
    pauses: int

    def begun(self, until: int) -> int:
        """The number of its jobs that are released before or at a time, the first one at 0."""
        return (until + self.jitter) // self.period + 1

    def before(self, until: int) -> int:
        """The number of its jobs that are released before a time."""
        return -(-(until + self.jitter) // self.period)


@frozen(kw_only=True)
class _Beside:
    """A task that runs at once with a group: a job is over `limit` after it was due, and needs the host, or
    timelines of the group, for `takes`.
    """

    period: int
    limit: int
    takes: int

    def within(self, time: int) -> int:
        """The time that its jobs need in any span of that length."""
        late = self.limit - self.takes if self.limit <= self.period else self.limit
        return -(-(time + late) // self.period) * self.takes


@frozen(kw_only=True)
class _Group:
    """A task in its group, and what others do to it."""

    itself: _Member
    last: int
    higher: tuple[_Member, ...]
    equal: tuple[_Member, ...]
    blocked: int
    blocker: str
    urgent: tuple[_Beside, ...]
    idle: tuple[_Beside, ...]
    idle_step: int
    holders: tuple[_Beside, ...]

    def beside(self, jobs: Sequence[tuple[_Member, int]], time: int) -> int:
        """The host time of all that run at once, while there are so many jobs of the group."""
        pauses = 1 + sum(count * each.pauses for each, count in jobs)
        idle = sum(each.within(time) for each in self.idle)
        return sum(each.within(time) for each in self.urgent) + min(idle, pauses * self.idle_step)

    def demand(self, jobs: Sequence[tuple[_Member, int]], time: int) -> int:
        """The time of so many jobs of each task, with what they lose to each other, and of the host's steps
        of others: each job preempts one at most, and loses its serial time at most.
        """
        cost = sum(count * each.cost for each, count in jobs)
        held = sum(each.within(time) for each in self.holders)
        met = min(held, sum(count * each.met for each, count in jobs))
        by_job = sum(count * each.held for each, count in jobs)
        by_task = 0
        for each, count in jobs:
            above = sum(there for other, there in jobs if other.priority > each.priority)
            by_task += min(count * each.serial, above * each.drained)
        return cost + min(by_job, by_task) + met + self.beside(jobs, time)


def analysis(
    tasks: Sequence[TimedTask],
    known: Sequence[TaskTimes] = (),
    waits: Sequence[frozenset[int]] = (),
) -> Analysis:
    """The worst response of every task, by the worst times of their steps, or by `known` ones; and by who
    waits for whom, else for those only for which it has to.
    """
    times = known or [task_times(task) for task in tasks]
    waits = tuple(waits or waits_of(tasks))
    groups = [group_of(waits, number) for number in range(len(tasks))]
    limits = [each.cost for each in times]
    for _ in range(_ROUNDS):
        responses = tuple(
            _response(tasks, times, waits, group, limits, number) for number, group in enumerate(groups)
        )
        found = [each.worst for each in responses]
        if found == limits:
            return Analysis(schedule=Schedule.PRIORITIES, responses=responses, waits=waits)
        if not all(each.met for each in responses):
            break
        limits = [max(limit, worst or 0) for limit, worst in zip(limits, found, strict=True)]
    else:
        responses = tuple(evolve(each, worst=None) for each in responses)
    return Analysis(schedule=Schedule.PRIORITIES, responses=responses, waits=waits)


def _response(
    tasks: Sequence[TimedTask],
    times: Sequence[TaskTimes],
    waits: Sequence[frozenset[int]],
    numbers: frozenset[int],
    limits: Sequence[int],
    number: int,
) -> Response:
    group = _group(tasks, times, waits, numbers, limits, number)
    worst, beside = _worst(group)
    return Response(
        task=tasks[number],
        times=times[number],
        worst=worst,
        blocked=group.blocked,
        blocker=group.blocker,
        beside=beside,
    )


def _group(
    tasks: Sequence[TimedTask],
    times: Sequence[TaskTimes],
    waits: Sequence[frozenset[int]],
    numbers: frozenset[int],
    limits: Sequence[int],
    number: int,
) -> _Group:
    level = tasks[number].timing.priority
    others = [other for other in range(len(tasks)) if other not in numbers]
    idle = [other for other in others if tasks[other].timing.priority < level]
    kept_off = [other for other in idle if numbers <= waits[other]]
    free = [other for other in others if other not in kept_off]

    def member(one: int) -> _Member:
        timing, own = tasks[one].timing, times[one]
        below = [other for other in range(len(tasks)) if tasks[other].timing.priority < timing.priority]
        return _Member(
            number=one,
            priority=timing.priority,
            period=timing.period,
            jitter=timing.jitter,
            cost=own.cost,
            held=max((min(times[o].drained, _met(times[o], own)) for o in below if o in numbers), default=0),
            met=max((_met(times[o], own) for o in below if o in free), default=0),
            drained=own.drained,
            serial=own.serial,
            pauses=own.pauses,
        )

    def beside(one: int, takes: int) -> _Beside:
        return _Beside(period=tasks[one].timing.period, limit=limits[one], takes=takes)

    def held(one: int) -> int:
        return sum(takes for line, takes in times[one].flown.items() if line in lines)

    members = {one: member(one) for one in sorted(numbers)}
    lines = frozenset[str]().union(*(times[one].flights for one in numbers))
    blocked, blocker = max(((_blocks(times[o], lines), tasks[o].name) for o in kept_off), default=(0, ""))
    return _Group(
        itself=members[number],
        last=times[number].last,
        higher=tuple(each for each in members.values() if each.priority > level),
        equal=tuple(each for one, each in members.items() if each.priority == level and one != number),
        blocked=blocked,
        blocker=blocker,
        urgent=tuple(beside(other, times[other].hosted) for other in free if other not in idle),
        idle=tuple(beside(other, times[other].hosted) for other in free if other in idle),
        idle_step=max((times[other].hosted_step for other in free if other in idle), default=0),
        holders=tuple(beside(other, held(other)) for other in free if waits[other] & numbers),
    )


def _met(other: TaskTimes, own: TaskTimes) -> int:
    """The most that a job may find in flight of another on its timelines."""
    return max((takes for line, takes in other.flights.items() if line in own.flights), default=0)


def _blocks(other: TaskTimes, lines: Collection[str]) -> int:
    """The longest step of a task that keeps others from the host, or from these timelines."""
    return max((other.hosted_step, *(takes for line, takes in other.flights.items() if line in lines)))


def _worst(group: _Group) -> tuple[int | None, int]:
    """The worst response, and how much of it is the host's part of others."""
    itself, every = group.itself, (*group.higher, *group.equal, group.itself)
    load = sum(each.cost / each.period for each in every)
    load += sum(each.takes / each.period for each in group.urgent)
    if load >= 1:
        return None, 0
    period, most = group.blocked + itself.cost, _MOST_JOBS * itself.period
    while True:
        longer = group.blocked + group.demand([(each, each.before(period)) for each in every], period)
        if longer <= period:
            break
        if longer > most:
            return None, 0
        period = longer
    worst = beside = begins = 0
    for job in range(itself.before(period)):
        begins = _begun(group, [(itself, job)], (*group.higher, *group.equal), group.blocked, begins)
        fixed = [(itself, job + 1), *((each, each.begun(begins)) for each in group.equal)]
        end = _begun(group, fixed, group.higher, group.blocked - group.last, begins) + group.last
        response = end - job * itself.period + itself.jitter
        if response > worst:
            jobs = [*fixed, *((each, each.begun(end - group.last)) for each in group.higher)]
            worst, beside = response, group.beside(jobs, end - group.last)
    return worst, beside


def _begun(
    group: _Group,
    fixed: Sequence[tuple[_Member, int]],
    others: Sequence[_Member],
    more: int,
    least: int,
) -> int:
    """The first time, `least` or later, at which so many jobs of some tasks, all jobs of others that were
    released until then, and `more` time are over.
    """
    now = least
    while (then := more + group.demand([*fixed, *((each, each.begun(now)) for each in others)], now)) > now:
        now = then
    return now
