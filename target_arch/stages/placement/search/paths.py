"""The longest paths to and from every job of a schedule, kept while jobs move.

Copies count as delays here, so the makespan follows from the order of the jobs, their machines and groups.
"""

from target_arch.stages.placement.search.insertion import Delayed
from target_arch.stages.placement.search.list_scheduler import JobSchedule


class Paths:
    """A schedule as an order of jobs, each on a machine on a group, with the longest paths through every job.

    A path from the start of a job to the end of all (`rests`) includes the job; `value` is the longest path.
    The lists belong to this object, and change with `move`.
    """

    def __init__(self, problem: Delayed, start: JobSchedule) -> None:
        self._problem = problem
        self.order, self.groups = list(start.by_start()), list(start.groups)
        self.machines = list(start.machines)
        jobs = range(len(self.order))
        self.rows: list[list[int]] = [[] for _ in range(problem.machines + 1)]
        """The jobs of every machine in order; the last row has those without one."""
        for job in self.order:
            self.rows[self.machines[job]].append(job)
        self.starts, self.ends, self.rests, self.places = ([0 for _ in jobs] for _ in range(4))
        self.lasts = [row[group] for row, group in zip(problem.times, self.groups, strict=True)]
        """How long every job takes on its group."""
        self.into, self.onto = [self._waits(job) for job in jobs], [self._keeps(job) for job in jobs]
        """The jobs before and after every job, with their delays."""
        self.value = 0
        self._measure(0, len(self.order))

    def critical(self) -> list[int]:
        """The jobs on a longest path, in the order in which they start."""
        starts, rests, value = self.starts, self.rests, self.value
        return [job for job in self.order if starts[job] + rests[job] == value]

    def move(self, job: int, machine: int, group: int, place: int, slot: int) -> None:
        """Move a job to a group's machine, to that place in the order and slot among the machine's jobs."""
        old = self.places[job]
        del self.order[old]
        self.order.insert(place - (old < place), job)
        self.rows[self.machines[job]].remove(job)
        self.rows[machine].insert(slot, job)
        self.machines[job] = machine
        if group != self.groups[job]:
            self._put_in_group(job, group)
        self._measure(min(old, place), max(old + 1, place))

    def _put_in_group(self, job: int, group: int) -> None:
        self.groups[job], self.lasts[job] = group, self._problem.times[job][group]
        self.into[job], self.onto[job] = self._waits(job), self._keeps(job)
        for other, _ in self.into[job]:
            self.onto[other] = self._keeps(other)
        for other, _ in self.onto[job]:
            self.into[other] = self._waits(other)

    def _waits(self, job: int) -> list[tuple[int, int]]:
        """The predecessors of a job and the delays after their ends, with every job on its present group."""
        groups, group = self.groups, self.groups[job]
        return [(other, delays[groups[other]][group]) for other, delays in self._problem.before[job]]

    def _keeps(self, job: int) -> list[tuple[int, int]]:
        """The jobs that wait for a job, and how long after its end."""
        groups, group = self.groups, self.groups[job]
        return [(other, delays[group][groups[other]]) for other, delays in self._problem.after[job]]

    def _measure(self, first: int, last: int) -> None:
        """Paths after a change of the places from `first` to before `last`; the order in which jobs start."""
        self._to_ends(first)
        self._from_starts(last)
        self.value = max(self.ends)
        self.order.sort(key=self.starts.__getitem__)
        for place, job in enumerate(self.order):
            self.places[job] = place

    def _to_ends(self, first: int) -> None:
        """The longest path to the end of every job from a place in the order on."""
        starts, ends, machines, into, lasts = (
            self.starts,
            self.ends,
            self.machines,
            self.into,
            self.lasts,
        )
        free = [0] * len(self.rows)
        for job in self.order[:first]:
            free[machines[job]] = ends[job]
        for job in self.order[first:]:
            machine = machines[job]
            time = free[machine] if machine >= 0 else 0
            for other, delay in into[job]:
                here = ends[other] + delay
                time = here if here > time else time
            starts[job] = time
            ends[job] = free[machine] = time + lasts[job]

    def _from_starts(self, last: int) -> None:
        """The longest path from the start of every job before a place in the order."""
        rests, machines, onto, lasts = self.rests, self.machines, self.onto, self.lasts
        free = [0] * len(self.rows)
        for job in self.order[: last - 1 : -1] if last else reversed(self.order):
            free[machines[job]] = rests[job]
        for job in reversed(self.order[:last]):
            machine = machines[job]
            time = free[machine] if machine >= 0 else 0
            for other, delay in onto[job]:
                here = rests[other] + delay
                time = here if here > time else time
            rests[job] = free[machine] = time + lasts[job]
