"""Modulo scheduling around a host that is busy.

The host starts everything, so that others wait for it while it is at work itself. Here its own tasks have
their places first, one right after the other, and all else goes around them. A block is not kept at its
distances, which would need a host that is free at each of its moments: each of its tasks begins when the host
can start it, and those behind it later by as much. So the block takes longer, in the order in which it was
planned, and its buffers never need more bytes at once than they did.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from attrs import field, frozen, mutable

from target_arch.plan.memory import Buffer, BufferKind
from target_arch.stages.frames.blocks import HeldBytes, TaskBlock, is_of_host
from target_arch.stages.frames.modulo import ModuloSchedule, in_order
from target_arch.stages.frames.problem import FrameProblem, names_of
from target_arch.stages.frames.turns import Interval, flat, pieces
from target_arch.stages.steps.simulation.clock import HOST

BEGINS = 48
"""The most times at which a block is tried to begin."""
ORDERS = 4
"""The most orders that are tried: a block that found no place has the first one in the next."""

Spot = tuple[int, int]
"""A start and a channel."""


def around_host(
    problem: FrameProblem, blocks: Sequence[TaskBlock], sizes: Mapping[str, int], period: int
) -> ModuloSchedule | None:
    """A schedule of this period with the host's tasks one right after the other; None where none was found.
    `sizes` are the bytes that blocks may hold of memories.
    """
    if problem.busy.get(HOST, 0) > period:
        return None
    found = _Around(problem, sizes, period)
    if not all(found.place(block) for block in blocks):
        return None
    issues = [found.issue(number) for number in range(len(found.starts))]
    return in_order(problem, period, found.starts, issues, found.channels)


def longest_first(
    problem: FrameProblem, blocks: Sequence[TaskBlock], sizes: Mapping[str, int], period: int
) -> ModuloSchedule | None:
    """The same with places for blocks that take longer before those that take less, wherever in the period
    that is; each then goes as many periods later as what it needs is. Frames go through more stages.
    """
    if problem.busy.get(HOST, 0) > period:
        return None
    found = _anywhere(problem, blocks, sizes, period)
    if found is None:
        return None
    starts = found.settled(blocks)
    issues = [found.issue(number) for number in range(len(starts))]
    return in_order(problem, period, starts, issues, found.channels)


def _anywhere(
    problem: FrameProblem, blocks: Sequence[TaskBlock], sizes: Mapping[str, int], period: int
) -> "_Anywhere | None":
    """The places of all blocks in a period; None where none were found."""
    order = sorted(blocks, key=partial(_length, problem), reverse=True)
    for _ in range(ORDERS):
        found = _Anywhere(problem, sizes, period)
        left_over = next((block for block in order if not found.place(block)), None)
        if left_over is None:
            return found
        order = [left_over, *(block for block in order if block is not left_over)]
    return None


def _length(problem: FrameProblem, block: TaskBlock) -> tuple[int, int]:
    """How long a block takes, and of equal ones the first; nothing for work of the host."""
    if is_of_host(problem, block):
        return -1, 0
    ends = (start + problem.takes[task] for task, start in zip(block.tasks, block.starts, strict=True))
    return max(ends), -block.tasks[0]


class _HostTurn:
    """The host's own work of every period: its tasks from the start on, then nothing."""

    def __init__(self, problem: FrameProblem, period: int) -> None:
        self._period = period
        self._places, self.worked = dict[int, int](), 0
        for number, where in enumerate(problem.where):
            if where == HOST:
                self._places[number] = self.worked
                self.worked += problem.takes[number]
        self.moments = sorted({*self._places.values(), self.worked})
        """When it can start something, before it is at leisure."""

    def start(self, task: int, ready: int) -> int:
        """The first time from `ready` on at which it comes to a task of its own."""
        return ready + (self._places[task] - ready) % self._period

    def after(self, time: int) -> int:
        """The first time from that one on at which it can start something."""
        turn, into = divmod(time, self._period)
        if into >= self.worked:
            return time
        return turn * self._period + self.moments[bisect_left(self.moments, into)]

    def before(self, time: int) -> int:
        """The last time up to that one at which it can start something."""
        turn, into = divmod(time, self._period)
        if into >= self.worked:
            return time
        return turn * self._period + self.moments[bisect_right(self.moments, into) - 1]


@mutable
class _Draft:
    """The tasks of a block with their starts and channels, if it begins at some time."""

    spots: dict[int, Spot] = field(factory=dict)
    busy: dict[tuple[str, int], list[Interval]] = field(factory=dict)


@frozen
class _Laid:
    """A draft with the bytes that it holds."""

    spots: Mapping[int, Spot]
    held: tuple[HeldBytes, ...]


class _Around:
    """The reservations of a period so far."""

    def __init__(self, problem: FrameProblem, sizes: Mapping[str, int], period: int) -> None:
        self._problem, self._sizes, self._period = problem, sizes, period
        self._host = _HostTurn(problem, period)
        self._busy: dict[tuple[str, int], list[Interval]] = {}
        self._held: dict[str, list[tuple[int, int, int]]] = {}
        buffers = problem.run.buffers
        self._local: dict[str, Buffer] = {b.name: b for b in buffers if b.kind is BufferKind.LOCAL}
        self.starts = [0] * len(problem.steps)
        self.channels = [0] * len(problem.steps)

    def issue(self, number: int) -> int:
        """When the host starts a task."""
        start = self.starts[number]
        return start if self._problem.where[number] == HOST else self._host.before(start)

    def place(self, block: TaskBlock) -> bool:
        """Place a block so that it ends early; False where it goes nowhere."""
        if is_of_host(self._problem, block):
            (task,) = block.tasks
            self.starts[task] = self._host.start(task, self._ready(task, {}))
            return True
        laid = (self._laid(block, begin) for begin in self._begins(block))
        best = min((each for each in laid if each is not None), key=self._rank, default=None)
        if best is not None:
            self._take(best)
        return best is not None

    def _rank(self, laid: _Laid) -> tuple[int, int]:
        """By the end, then by the time that it takes."""
        end = max(self._end(task, laid.spots) for task in laid.spots)
        return end, end - min(start for start, _ in laid.spots.values())

    def _begins(self, block: TaskBlock) -> Sequence[int]:
        """Times at which the block may begin: when all that it needs is there, and later, whenever the host
        can start something, or something that it needs becomes free.
        """
        inside = set(block.tasks)
        ends = (
            self._end(other, {}) - start
            for task, start in zip(block.tasks, block.starts, strict=True)
            for other in self._problem.before[task]
            if other not in inside
        )
        ready = max((0, *ends))
        moments = {*self._host.moments, *(end for _, end, _ in self._near(block))}
        times = sorted({ready, *(ready + (moment - ready) % self._period for moment in moments)})
        return times[:: -(-len(times) // BEGINS)]

    def _near(self, block: TaskBlock) -> Iterator[tuple[int, int, int]]:
        """The work on the resources of a block, and the bytes held in its memories."""
        resources = {self._problem.where[task] for task in block.tasks}
        for (where, _), there in self._busy.items():
            if where in resources:
                yield from ((begin, end, 0) for begin, end in there)
        for memory in {held.memory for held in block.held}:
            yield from self._held.get(memory, ())

    def _laid(self, block: TaskBlock, begin: int) -> _Laid | None:
        """The block from that time on; None where it does not go in."""
        draft, least = _Draft(), begin
        order = sorted(zip(block.starts, block.tasks, block.channels, strict=True))
        late = 0
        for start, task, channel in order:
            spot = self._spot(task, channel, self._least(begin + start + late, least), draft)
            if spot is None or spot[0] > begin + start + 2 * self._period:
                return None
            draft.spots[task] = spot
            where = (self._problem.where[task], spot[1])
            draft.busy.setdefault(where, []).extend(pieces(spot[0], self._problem.takes[task], self._period))
            least, late = spot[0], spot[0] - begin - start
        held = self._holds(draft.spots) if len(block.tasks) > 1 else ()
        return _Laid(draft.spots, held) if self._fits(held) else None

    def _least(self, planned: int, before: int) -> int:
        """When a task of a block may begin: `planned` by its distances, at `before` the one before does."""
        return planned

    def _spot(self, task: int, channel: int, least: int, draft: _Draft) -> Spot | None:
        """The first start of a task from `least` on, on one of its channels, its own before others."""
        where = self._problem.where[task]
        width = self._problem.widths.get(where, 1)
        starts = (
            (start, turn)
            for turn in range(width)
            if (start := self._start(task, (channel + turn) % width, least, draft)) is not None
        )
        first = min(starts, default=None)
        return None if first is None else (first[0], (channel + first[1]) % width)

    def _start(self, task: int, channel: int, least: int, draft: _Draft) -> int | None:
        """When a task can begin on a channel: the host waits for what is on other resources, and then starts
        it as soon as it can.
        """
        where = (self._problem.where[task], channel)
        waited = (
            self._end(other, draft.spots)
            for other in self._problem.before[task]
            if (self._problem.where[other], self._spot_of(other, draft.spots)[1]) != where
        )
        known = self._host.after(max(waited, default=0))
        begin = max(least, known, self._ready(task, draft.spots))
        busy = (*self._busy.get(where, ()), *draft.busy.get(where, ()))
        return _room(busy, begin, self._problem.takes[task], self._period)

    def _ready(self, task: int, spots: Mapping[int, Spot]) -> int:
        return max((self._end(other, spots) for other in self._problem.before[task]), default=0)

    def _end(self, task: int, spots: Mapping[int, Spot]) -> int:
        return self._spot_of(task, spots)[0] + self._problem.takes[task]

    def _spot_of(self, task: int, spots: Mapping[int, Spot]) -> Spot:
        return spots.get(task, (self.starts[task], self.channels[task]))

    def _holds(self, spots: Mapping[int, Spot]) -> tuple[HeldBytes, ...]:
        """The local buffers, each from when the host starts its first task until it can know of the last."""
        lives: dict[str, Interval] = {}
        for task, (start, _) in spots.items():
            begin, end = self._host.before(start), self._host.after(start + self._problem.takes[task])
            for name in self._local.keys() & set(names_of(self._problem.steps[task])):
                first, last = lives.get(name, (begin, end))
                lives[name] = (min(first, begin), max(last, end))
        return tuple(
            HeldBytes(memory=self._local[name].memory, bytes=self._local[name].bytes, begin=begin, end=end)
            for name, (begin, end) in sorted(lives.items())
        )

    def _fits(self, held: Sequence[HeldBytes]) -> bool:
        """Whether memories have room for these beside what is there."""
        if any(each.end - each.begin > self._period for each in held):
            return False
        return all(
            level <= self._sizes[memory]
            for memory in sorted({each.memory for each in held})
            for _, _, level in flat((*self._held.get(memory, ()), *self._pieces(held, memory)))
        )

    def _pieces(self, held: Sequence[HeldBytes], memory: str) -> Iterator[tuple[int, int, int]]:
        for each in held:
            if each.memory == memory:
                for begin, end in pieces(each.begin, each.end - each.begin, self._period):
                    yield begin, end, each.bytes

    def _take(self, laid: _Laid) -> None:
        for task, (start, channel) in laid.spots.items():
            self.starts[task], self.channels[task] = start, channel
            if self._problem.takes[task]:
                busy = self._busy.setdefault((self._problem.where[task], channel), [])
                busy += pieces(start, self._problem.takes[task], self._period)
        for memory in sorted({each.memory for each in laid.held}):
            self._held.setdefault(memory, []).extend(self._pieces(laid.held, memory))


class _Anywhere(_Around):
    """The reservations where blocks are placed in any order, without regard to others that they need: within
    a block each task comes as early as it can, in the order in which they were planned.
    """

    _own: frozenset[int] = frozenset()
    """The tasks of the block that is placed."""

    def place(self, block: TaskBlock) -> bool:
        self._own = frozenset(block.tasks)
        return super().place(block)

    def settled(self, blocks: Sequence[TaskBlock]) -> Sequence[int]:
        """The starts, in periods in which all that they need is over when the host comes to them. `blocks`
        are each after those.
        """
        for block in blocks:
            self._own = frozenset(block.tasks)
            late = max(
                (
                    self.starts[other] + self._problem.takes[other] - self.issue(task)
                    for task in block.tasks
                    for other in self._problem.before[task]
                    if other not in self._own
                ),
                default=0,
            )
            for task in block.tasks:
                self.starts[task] += -(-late // self._period) * self._period
        return self.starts

    def _rank(self, laid: _Laid) -> tuple[int, int]:
        """By the time that it takes, then by the end."""
        end, takes = super()._rank(laid)
        return takes, end

    def _least(self, planned: int, before: int) -> int:
        return before

    def _end(self, task: int, spots: Mapping[int, Spot]) -> int:
        return super()._end(task, spots) if task in self._own else 0


def _room(busy: Sequence[Interval], time: int, takes: int, period: int) -> int | None:
    """The first start from a time on that meets nothing; None where there is none."""
    if takes > period:
        return None
    shifted = sorted((begin + turn, end + turn) for begin, end in busy for turn in (0, period, 2 * period))
    into = time % period
    for begin, end in shifted if takes else ():
        if begin < into + takes and into < end:
            into = end
    return time - time % period + into if into <= 2 * period else None
