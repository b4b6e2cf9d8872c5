"""Tasks that keep their distance: those around the local buffers of a kernel.

A kernel that works in tiles was planned for nearly all of a small memory. Its tasks stay together as they
are in a run, so that the memory is never asked for more than one frame's tiles longer than that takes.
"""

from collections.abc import Mapping, Sequence

import networkx as nx
from attrs import field, frozen

from target_arch.plan.memory import BufferKind
from target_arch.stages.frames.problem import FrameProblem, names_of
from target_arch.stages.steps.simulation.clock import HOST


@frozen(kw_only=True)
class HeldBytes:
    """Bytes of a memory that a block holds from one of its times to another."""

    memory: str
    bytes: int
    begin: int
    end: int


@frozen(kw_only=True)
class TaskBlock:
    """Tasks with their starts and channels relative to the first one's; most blocks have one task."""

    tasks: tuple[int, ...]
    starts: tuple[int, ...]
    channels: tuple[int, ...]
    held: tuple[HeldBytes, ...] = field(default=(), repr=False)


def blocks_of(problem: FrameProblem, *, narrow: bool = False) -> tuple[TaskBlock, ...]:
    """All tasks in blocks, each after those that its tasks need. `narrow` ones keep to one channel of each
    engine, and leave the others to blocks of another rhythm.
    """
    widths = {} if narrow else problem.widths
    return tuple(_block(problem, group, widths) for group in _sorted(problem, _groups(problem)))


def is_of_host(problem: FrameProblem, block: TaskBlock) -> bool:
    """Whether the block is work of the host's own."""
    return len(block.tasks) == 1 and problem.where[block.tasks[0]] == HOST


def _groups(problem: FrameProblem) -> list[list[int]]:
    """Tasks that have local buffers in common, one with another. Where two groups need each other, they are
    one.
    """
    local = {buffer.name for buffer in problem.run.buffers if buffer.kind is BufferKind.LOCAL}
    root = list(range(len(problem.steps)))

    def find(number: int) -> int:
        while root[number] != number:
            number = root[number]
        return number

    first: dict[str, int] = {}
    for number, step in enumerate(problem.steps):
        for name in local.intersection(names_of(step)):
            one, other = sorted((find(first.setdefault(name, number)), find(number)))
            root[other] = one
    while True:
        members: dict[int, list[int]] = {}
        for number in range(len(root)):
            members.setdefault(find(number), []).append(number)
        cycle = _cycle(problem, [find(number) for number in range(len(root))])
        if cycle is None:
            return [members[key] for key in sorted(members)]
        one, other = sorted(cycle)
        root[other] = one


def _cycle(problem: FrameProblem, group: Sequence[int]) -> tuple[int, int] | None:
    """Two groups each of which needs the other, over others or not; None where there are none."""
    needs = nx.DiGraph(
        (group[number], group[other])
        for number, others in enumerate(problem.before)
        for other in others
        if group[number] != group[other]
    )
    rings = [ring for ring in nx.strongly_connected_components(needs) if len(ring) > 1]
    if not rings:
        return None
    ring = min(rings, key=min)
    return min(ring), min(ring.intersection(needs[min(ring)]))


def _sorted(problem: FrameProblem, groups: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """The groups, each after those it needs; else in the order of their first tasks."""
    group_of = {number: place for place, group in enumerate(groups) for number in group}
    order: list[Sequence[int]] = []
    ready = set[int]()
    while len(order) < len(groups):
        for place, group in enumerate(groups):
            needs = {group_of[other] for number in group for other in problem.before[number]} - {place}
            if place not in ready and needs <= ready:
                ready.add(place)
                order.append(group)
                break
    return order


def _block(problem: FrameProblem, group: Sequence[int], widths: Mapping[str, int]) -> TaskBlock:
    """The tasks of a group as early as their resources allow, then those that fill buffers as late as that
    leaves them.
    """
    inside = set(group)
    starts, channels = _early(problem, group, inside, widths)
    if len(group) > 1:
        starts = _late(problem, group, starts, channels)
    base = min(starts.values())
    starts = {number: start - base for number, start in starts.items()}
    return TaskBlock(
        tasks=tuple(group),
        starts=tuple(starts[number] for number in group),
        channels=tuple(channels[number] for number in group),
        held=_held(problem, starts),
    )


def _early(
    problem: FrameProblem, group: Sequence[int], inside: set[int], widths: Mapping[str, int]
) -> tuple[dict[int, int], dict[int, int]]:
    starts, channels = dict[int, int](), dict[int, int]()
    free: dict[str, list[int]] = {}
    for number in group:
        there = free.setdefault(problem.where[number], [0] * widths.get(problem.where[number], 1))
        before = (other for other in problem.before[number] if other in inside)
        ready = max((starts[other] + problem.takes[other] for other in before), default=0)
        channel = min(range(len(there)), key=lambda n: (max(there[n], ready), n))
        starts[number], channels[number] = max(there[channel], ready), channel
        there[channel] = starts[number] + problem.takes[number]
    return starts, channels


def _late(
    problem: FrameProblem, group: Sequence[int], starts: dict[int, int], channels: dict[int, int]
) -> dict[int, int]:
    """The starts with tasks that need no other of the block as late as those after them allow."""
    moved = dict(starts)
    first = {number for number in group if not set(problem.before[number]) & starts.keys()}
    for number in sorted(first, key=lambda n: (-starts[n], -n)):
        where = (problem.where[number], channels[number])
        later = [other for other in group if number in problem.before[other]]
        later += [
            other
            for other in group
            if (problem.where[other], channels[other]) == where
            and (starts[other], other) > (starts[number], number)
        ]
        if later:
            moved[number] = min(moved[other] for other in later) - problem.takes[number]
    return moved


def _held(problem: FrameProblem, starts: dict[int, int]) -> tuple[HeldBytes, ...]:
    lives: dict[str, tuple[int, int]] = {}
    for number, start in starts.items():
        end = start + problem.takes[number]
        for name in names_of(problem.steps[number]):
            first, last = lives.get(name, (start, end))
            lives[name] = (min(first, start), max(last, end))
    held = (
        buffer for buffer in problem.run.buffers if buffer.kind is BufferKind.LOCAL and buffer.name in lives
    )
    return tuple(
        HeldBytes(memory=one.memory, bytes=one.bytes, begin=lives[one.name][0], end=lives[one.name][1])
        for one in held
    )
