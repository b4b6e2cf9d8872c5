"""Tabu search over schedules: the best move of any job the makespan hangs on, then a kick, again and again.

A move takes a job to another place between two jobs, on its machine or another. The new makespan is
estimated from the longest paths to and from every job as they are before the move (Mastrolilli, Gambardella,
"Effective neighbourhood functions for the flexible job shop problem", J. Scheduling 3, 2000), so that one
pass over all jobs evaluates all moves. A machine a job has left takes it back only some moves later. Copies
count as delays here; a Scheduler runs each candidate that looks better than the best known schedule. When
nothing better was found for some time, a few random changes of a good schedule are the next start (iterated
local search).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from random import Random

from target_arch.stages.placement.search.insertion import Delayed, Delays
from target_arch.stages.placement.search.jobs import NEVER
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.paths import Paths

PATIENCE = 60
"""Moves without a better schedule, after which the search is kicked."""
_WORSE = 0.03
"""How much worse than the start before it the next start may be at first, as a part of the makespan."""
_BACK = 0.1
"""Share of worse ones after which the best is the next start."""
_TENURE = 6
"""Moves for which a job does not return to a machine, at least; at most twice as many."""

_LOOKS = 3
"""Jobs that a look at a machine counts as."""
_OVERLOOKED = 0.7
"""Share of the jobs the makespan hangs on that a move overlooks, so that there are more moves, and others."""

SMALL = 64
"""Of more jobs all are looked at, on other machines only: the effort has too few moves for fine ones."""

_Move = tuple[int, int, int, int, int]
"""Job, machine, group, place in the order and among the jobs of the machine."""
_Row = tuple[list[int], list[int], list[int]]
"""The ends of the jobs of a machine, the time from their start to the end of all (negated), their places."""
Kick = Callable[[JobSchedule], tuple[JobSchedule, int]]
"""A schedule to another that is not far from it, and how many jobs were looked at for it."""


class Tabu:
    """Moves of one problem."""

    def __init__(self, problem: Delayed, scheduler: ListScheduler, random: Random) -> None:
        self._problem, self._scheduler, self._random = problem, scheduler, random
        self._small = len(problem.options) <= SMALL
        self._movable = [len(options) > 1 or options[0][0] >= 0 for options in problem.options]

    def search(self, start: JobSchedule, bound: int, effort: int, kick: Kick) -> JobSchedule:
        """A schedule that is no worse than the one given; stops at the bound, or when the effort is spent."""
        best = base = start
        dice = self._random.random
        found, spent = self._descend(start, bound, effort)
        while True:
            best = min(best, found, key=lambda schedule: schedule.cost)
            if best.makespan <= bound or spent >= effort:
                return best
            if found.makespan <= base.makespan * (1 + _WORSE * (1 - spent / effort)):
                base = found
            elif dice() < _BACK:
                base = best
            kicked, count = kick(base)
            found, moved = self._descend(kicked, bound, effort - spent)
            spent += count + moved

    def _descend(self, start: JobSchedule, bound: int, effort: int) -> tuple[JobSchedule, int]:
        """The best schedule met before patience ends."""
        paths = self._paths = Paths(self._problem, start)
        self._until = [[0] * (self._problem.machines + 1) for _ in paths.order]
        best, idle, spent, moves = start, 0, 2 * len(paths.order), 0
        while idle < PATIENCE and spent < effort and best.makespan > bound:
            moves += 1
            move, count = self._best_move(moves, best.makespan)
            spent += count + 2 * len(paths.order)
            idle += 1
            if move is None:
                continue
            self._forbid_return(moves, move[0])
            paths.move(*move)
            if paths.value < best.makespan:
                spent += len(paths.order)
                found = self._scheduler.run(paths.order, paths.groups)
                if found is not None and found.cost < best.cost:
                    best, idle = found, 0
        return best, spent

    def _forbid_return(self, now: int, job: int) -> None:
        """Make it tabu for some moves that a job returns to the machine that it is about to leave."""
        ends = now + _TENURE + int(self._random.random() * _TENURE)
        self._until[job][self._paths.machines[job]] = ends

    def _best_move(self, now: int, known: int) -> tuple[_Move | None, int]:
        """The move that looks best, and how many jobs that counts as.

        A tabu move is allowed only if it looks better than the best known schedule.
        """
        paths, dice = self._paths, self._random.random
        rows, critical = [self._row(row) for row in paths.rows], self._critical()
        least, chosen, spent = NEVER, None, 0
        some = [job for job in critical if dice() >= _OVERLOOKED] if self._small else []
        for job in some or critical:
            low, high, begun, after = self._around(job)
            own, until, now_at = paths.machines[job], self._until[job], paths.groups[job]
            for machine, group, time in self._problem.options[job]:
                limit = (least if until[machine] <= now or least < known else known) - time
                ready = rest = 0
                for end, delay in begun:
                    here = end + delay[group]
                    ready = here if here > ready else ready
                for end, there, delays in after:
                    here = end + delays[group][there]
                    rest = here if here > rest else rest
                if ready + rest >= limit or (machine == own and not self._small):
                    continue
                spent += _LOOKS
                if machine < 0:
                    found = (ready + rest, 0) if group != now_at else None
                elif machine == own:
                    found = self._elsewhere(job, rows[own], low, high, ready, rest, limit)
                else:
                    row = rows[machine]
                    first, last = bisect_right(row[2], low), bisect_left(row[2], high)
                    found = _slot(row, first, last, ready, rest, limit)
                if found is not None:
                    least, chosen = found[0] + time, (job, machine, group, low, found[1])
        if chosen is None:
            return None, spent
        job, machine, group, low, slot = chosen
        at = [place for place in rows[machine][2] if place != paths.places[job]]
        return (job, machine, group, max(low, at[slot - 1] if slot else -1) + 1, slot), spent

    def _critical(self) -> list[int]:
        """The jobs that the makespan hangs on, and that can move."""
        return [job for job in self._paths.critical() if self._movable[job]]

    def _around(
        self, job: int
    ) -> tuple[int, int, list[tuple[int, list[int]]], list[tuple[int, int, Delays]]]:
        """The places of the last job it waits for and of the first that waits for it.

        For the former, their ends and the delays by group; for the latter, the time from their start to the
        end of all, their groups and the delays.
        """
        paths = self._paths
        ends, rests, groups, places = paths.ends, paths.rests, paths.groups, paths.places
        low, high, begun, after = -1, len(ends), [], []
        for other, delays in self._problem.before[job]:
            begun.append((ends[other], delays[groups[other]]))
            low = places[other] if places[other] > low else low
        for other, delays in self._problem.after[job]:
            after.append((rests[other], groups[other], delays))
            high = places[other] if places[other] < high else high
        return low, high, begun, after

    def _row(self, row: list[int]) -> _Row:
        ends, rests, places = self._paths.ends, self._paths.rests, self._paths.places
        return [ends[job] for job in row], [-rests[job] for job in row], [places[job] for job in row]

    def _elsewhere(
        self, job: int, row: _Row, low: int, high: int, ready: int, rest: int, limit: int
    ) -> tuple[int, int] | None:
        """As `_slot` between two places, on the machine where the job is, as if it were not there.

        Without it, later jobs there end earlier, and earlier jobs there have a shorter path to the end.
        """
        paths, (ends, back, at) = self._paths, row
        own = bisect_left(at, paths.places[job])
        first, last = bisect_right(at, low), bisect_left(at, high) - 1
        if first == last:
            return None
        jobs, lasts = paths.rows[paths.machines[job]], paths.lasts
        time, sooner = ends[own - 1] if own else 0, []
        for other in jobs[own + 1 : last + 1]:
            for maker, delay in paths.into[other]:
                here = paths.ends[maker] + delay
                time = here if here > time else time
            time += lasts[other]
            sooner.append(time)
        time, less = -back[own + 1] if own + 1 < len(back) else 0, []
        for other in reversed(jobs[first:own]):
            for user, delay in paths.onto[other]:
                here = paths.rests[user] + delay
                time = here if here > time else time
            time += lasts[other]
            less.append(-time)
        rest_of = ends[:own] + sooner + ends[last + 1 :], back[:first] + less[::-1] + back[own + 1 :], at
        left = _slot(rest_of, first, own - 1, ready, rest, limit) if first < own else None
        right = _slot(rest_of, own + 1, last, ready, rest, left[0] if left else limit) if own < last else None
        return right or left


def _slot(row: _Row, first: int, last: int, ready: int, rest: int, limit: int) -> tuple[int, int] | None:
    """Where between two jobs of a machine a job lengthens the longest path least, if less than to the limit.

    That path without the job itself, and the slot. Neither a job that ends before this one is ready nor one
    with a shorter path to the end lengthens it: the best slot is between the last of the former and the first
    of the latter.
    """
    ends, back, _ = row
    one, two = bisect_right(ends, ready), bisect_left(back, -rest)
    begin = min(max(one if one < two else two, first), last)
    end = begin if two <= one else max(begin, min(two, last))
    chosen = -1
    for slot in range(begin, end + 1):
        path = (ends[slot - 1] if slot > one else ready) + (-back[slot] if slot < two else rest)
        if path < limit:
            limit, chosen = path, slot
    return None if chosen < 0 else (limit, chosen)
