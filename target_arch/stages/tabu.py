"""Tabu search over schedules: the best move of any job the makespan hangs on, then a kick, again and again.

A move takes a job to another place between two jobs, on its machine or another. What the makespan becomes is
estimated from the longest paths to and from every job as they are before the move (Mastrolilli,
Gambardella, "Effective neighbourhood functions for the flexible job shop problem", J. Scheduling 3, 2000),
so that one pass over all jobs tells about all moves. A machine a job has left takes it back only some moves
later. Copies count as delays here; what looks better than what is known, a Scheduler runs. When nothing
better was found for some time, a few random changes of a good schedule are the next start (iterated local
search).
"""

from bisect import bisect_right
from collections.abc import Callable
from random import Random

from target_arch.stages.reinsert import NEVER, Delayed, from_starts, to_ends
from target_arch.stages.schedule import Schedule, Scheduler

PATIENCE = 60
"""Moves without a better schedule, after which the search is kicked."""
_WORSE = 0.03
"""How much worse than the start before it the next start may be at first, as a part of the makespan."""
_BACK = 0.1
"""Share of worse ones after which the best is the next start."""
_TENURE = 6
"""Moves for which a job does not return to a machine, at least; at most twice as many."""

_Move = tuple[int, int, int, int]
"""Job, machine, seat and place in the order."""
Kick = Callable[[Schedule], tuple[Schedule, int]]
"""A schedule to another that is not far from it, and how many jobs were looked at for it."""


class Tabu:
    """Moves of one problem."""

    def __init__(self, problem: Delayed, scheduler: Scheduler, random: Random) -> None:
        self._problem, self._scheduler, self._random = problem, scheduler, random
        self._movable = [len(options) > 1 or options[0][0] >= 0 for options in problem.options]

    def search(self, start: Schedule, bound: int, effort: int, kick: Kick) -> Schedule:
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

    def _descend(self, start: Schedule, bound: int, effort: int) -> tuple[Schedule, int]:
        """The best schedule met before patience ends."""
        self._take(start)
        best, idle, spent, moves = start, 0, 2 * len(self._order), 0
        while idle < PATIENCE and spent < effort and best.makespan > bound:
            moves += 1
            move, count = self._best_move(moves, best.makespan)
            spent += count + 2 * len(self._order)
            if move is None:
                break
            self._make(moves, *move)
            idle += 1
            if self._value < best.makespan:
                spent += len(self._order)
                found = self._scheduler.run(self._order, self._seats)
                if found is not None and found.cost < best.cost:
                    best, idle = found, 0
        return best, spent

    def _take(self, start: Schedule) -> None:
        self._order, self._seats, self._machines = (
            list(start.by_start()),
            list(start.seats),
            list(start.machines),
        )
        self._until = [[0] * (self._problem.machines + 1) for _ in self._order]
        self._measure()

    def _measure(self) -> None:
        """The longest paths to the end of every job and from its start, and the order in which jobs start."""
        seats, times = self._seats, self._problem.times
        self._ends = ends = to_ends(self._problem, self._order, seats, self._machines)
        self._rests = rests = from_starts(self._problem, self._order, seats, self._machines)
        self._value = max(ends)
        starts = [end - row[seat] for end, row, seat in zip(ends, times, seats, strict=True)]
        self._order.sort(key=starts.__getitem__)
        self._critical = [
            job for job in self._order if starts[job] + rests[job] == self._value and self._movable[job]
        ]

    def _make(self, now: int, job: int, machine: int, seat: int, place: int) -> None:
        old = self._order.index(job)
        del self._order[old]
        self._order.insert(place - (old < place), job)
        self._until[job][self._machines[job]] = now + _TENURE + int(self._random.random() * _TENURE)
        self._machines[job], self._seats[job] = machine, seat
        self._measure()

    def _best_move(self, now: int, known: int) -> tuple[_Move | None, int]:
        """The move that looks best, and how many places were seen.

        What is tabu has to look better than what is known.
        """
        problem, order, ends, rests, seats = self._problem, self._order, self._ends, self._rests, self._seats
        busy, places = self._by_machine(), self._places
        least, chosen, spent = NEVER, None, 0
        for job in self._critical:
            before, after = problem.before[job], problem.after[job]
            low = max([places[other] for other, _ in before], default=-1)
            high = min([places[other] for other, _ in after], default=len(order))
            until = self._until[job]
            for machine, seat, time in problem.options[job]:
                limit = least if until[machine] <= now or least < known else known
                ready = max([ends[other] + delays[seats[other]][seat] for other, delays in before], default=0)
                rest = max([rests[other] + delays[seat][seats[other]] for other, delays in after], default=0)
                if ready + time + rest < limit:
                    row, at = busy[machine]
                    path, place, count = self._slot(row, at, job, (low, high), ready, rest)
                    spent += count
                    if path + time < limit:
                        least, chosen = path + time, (job, machine, seat, place)
        return chosen, spent

    def _slot(
        self, row: list[int], at: list[int], job: int, window: tuple[int, int], ready: int, rest: int
    ) -> tuple[int, int, int]:
        """Where between two jobs of a machine a job lengthens the longest path least.

        That path without the job itself, the place in the order, and how many places were seen.
        """
        ends, rests, (low, high) = self._ends, self._rests, window
        first = number = bisect_right(at, low)
        end, last = (ends[row[number - 1]], at[number - 1]) if number else (0, -1)
        least, chosen = NEVER, 0
        while last < high and number < len(row):
            following = row[number]
            if following == job:
                # Right before and right after itself a job is where it was.
                number += 1
                if number == len(row):
                    return least, chosen, number - first
                following = row[number]
            else:
                path, after = end if end > ready else ready, rests[following]
                path += after if after > rest else rest
                if path < least:
                    least, chosen = path, (last if last > low else low) + 1
            end, last = ends[following], at[number]
            number += 1
        if last < high:
            path = (end if end > ready else ready) + rest
            if path < least:
                least, chosen = path, (last if last > low else low) + 1
        return least, chosen, number - first + 1

    def _by_machine(self) -> list[tuple[list[int], list[int]]]:
        """For every machine the jobs on it, and their places in the order."""
        busy: list[tuple[list[int], list[int]]] = [([], []) for _ in range(self._problem.machines + 1)]
        machines = self._machines
        self._places = places = [0] * len(machines)
        for place, job in enumerate(self._order):
            places[job] = place
            row, at = busy[machines[job]]
            row.append(job)
            at.append(place)
        return busy
