"""The rules of who waits for whom: a task takes no step while a job of one of these is released and not over.

A task waits for those that are more urgent and have a timeline in common with it, so that none of them
finds its timeline busy again and again; for more urgent ones that are the host's alone, as that is never
free while they are there, or that are to be `alone`; and for all of its own priority, with which it shares
memory. Where waiting is `linked`, it waits for all for which these wait, too, as it could have a timeline
that they are about to need. Others run at once with it.
"""

from collections.abc import Collection, Sequence

from target_arch.plan.workloads.tasks import TimedTask


def waits_of(
    tasks: Sequence[TimedTask], alone: Collection[int] = (), *, linked: bool = False
) -> tuple[frozenset[int], ...]:
    """The tasks for which each one waits, by their numbers."""
    lines = [task.timelines for task in tasks]
    waits = tuple(
        frozenset(
            other
            for other, before in enumerate(tasks)
            if other != number
            and before.timing.priority >= task.timing.priority
            and (
                before.timing.priority == task.timing.priority
                or other in alone
                or not lines[other]
                or lines[other] & lines[number]
            )
        )
        for number, task in enumerate(tasks)
    )
    if not linked:
        return waits
    return tuple(group_of(waits, number) - {number} for number in range(len(tasks)))


def group_of(waits: Sequence[Collection[int]], number: int) -> frozenset[int]:
    """A task, all for which it waits, and for which these wait."""
    group, left = {number}, [number]
    while left:
        more = set(waits[left.pop()]) - group
        group |= more
        left.extend(more)
    return frozenset(group)
