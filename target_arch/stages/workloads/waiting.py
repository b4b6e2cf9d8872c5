"""The rules of who waits for whom: a task takes no step while a job of one of these is released and not over.

A task waits for those that are more urgent and have a device in common with it, so that none of them finds
its device busy again and again; for more urgent ones that are the host's alone, as that is never free while
they are there, or that are to be `alone`; and for all of its own priority, with which it shares memory. Those
that have DMA channels alone in common run at once, and their copies take turns: unless copies are to be
`in_turn`, too, or some task waits for both, as these have the chip as one task after the other. Where waiting
is `linked`, a task waits for all for which these wait, too, as it could have a timeline that they are about
to need. Others run at once with it.
"""

from collections.abc import Collection, Sequence
from itertools import permutations

from target_arch.plan.workloads.tasks import TimedTask


def waits_of(
    tasks: Sequence[TimedTask], alone: Collection[int] = (), *, linked: bool = False, in_turn: bool = False
) -> tuple[frozenset[int], ...]:
    """The tasks for which each one waits, by their numbers."""
    lines = [task.timelines if in_turn else task.timelines - task.channels for task in tasks]
    waits = _closed(
        [
            frozenset(
                other
                for other, before in enumerate(tasks)
                if other != number
                and before.timing.priority >= task.timing.priority
                and (
                    before.timing.priority == task.timing.priority
                    or other in alone
                    or not before.timelines
                    or lines[other] & lines[number]
                )
            )
            for number, task in enumerate(tasks)
        ],
        tasks,
    )
    if not linked:
        return waits
    return tuple(group_of(waits, number) - {number} for number in range(len(tasks)))


def _closed(waits: Sequence[frozenset[int]], tasks: Sequence[TimedTask]) -> tuple[frozenset[int], ...]:
    """The same, and of all that one task waits for, those with timelines in common wait for each other."""
    while True:
        more = list(waits)
        for number in range(len(tasks)):
            for one, other in permutations(group_of(waits, number), 2):
                if (
                    tasks[one].timing.priority < tasks[other].timing.priority
                    and tasks[one].timelines & tasks[other].timelines
                ):
                    more[one] |= {other}
        if more == list(waits):
            return tuple(waits)
        waits = more


def group_of(waits: Sequence[Collection[int]], number: int) -> frozenset[int]:
    """A task, all for which it waits, and for which these wait."""
    group, left = {number}, [number]
    while left:
        more = set(waits[left.pop()]) - group
        group |= more
        left.extend(more)
    return frozenset(group)
