"""Modulo scheduling: the start of every task, such that a frame may be started every period.

A task keeps its resource busy at the same time of every period. So the times modulo the period are what
matters: blocks of tasks are placed one after the other, in the order of the run, where their resources and
memories are free and the tasks before them have ended, as early as possible. As a later frame may use what
an earlier one leaves, any place of the period is early enough: it only takes more stages, and with them more
buffers.

A resource that is busy nearly all the time must not be left with gaps that no task fits in: there tasks are
placed side by side. (Rau, "Iterative modulo scheduling", MICRO 1994, evicts tasks instead.)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from target_arch.stages.frames.blocks import HeldBytes, TaskBlock, is_of_host
from target_arch.stages.frames.problem import FrameProblem
from target_arch.stages.frames.turns import Interval, flat, pieces
from target_arch.stages.steps.simulation.clock import HOST


@frozen(kw_only=True)
class ModuloSchedule:
    """The picoseconds from the start of its frame to that of each task, and the channel of its engine.

    `issues` are the times at which the host starts tasks: before it begins work of its own, where that keeps
    it from doing so in time.
    """

    period: int
    starts: tuple[int, ...]
    issues: tuple[int, ...]
    channels: tuple[int, ...]
    end: int
    """When the last task of a frame ends, and the host is done with waiting for it."""
    patience: int = 0
    """How long after the end of a frame the host waits for it."""

    @property
    def stages(self) -> int:
        """The rounds that a frame takes part in."""
        return self.end // self.period + 1


def in_turn(problem: FrameProblem) -> ModuloSchedule:
    """One frame after the other, and one task after the other."""
    starts, now = list[int](), 0
    for takes in problem.takes:
        starts.append(now)
        now += takes
    return ModuloSchedule(
        period=now + 1, starts=tuple(starts), issues=tuple(starts), channels=(0,) * len(starts), end=now
    )


def modulo_schedule(
    problem: FrameProblem, blocks: Sequence[TaskBlock], sizes: Mapping[str, int], period: int, packed: float
) -> ModuloSchedule | None:
    """A schedule of this period; None where none was found. `sizes` are the bytes that blocks may hold of
    memories. Resources that are busy for at least the part `packed` of the period get no gaps.
    """
    found = _Table(problem, sizes, period, packed)
    if not all(found.place(block) for block in blocks):
        return None
    issues = [found.issue(number) for number in range(len(found.starts))]
    return in_order(problem, period, found.starts, issues, found.channels)


def in_order(
    problem: FrameProblem,
    period: int,
    starts: Sequence[int],
    issues: Sequence[int],
    channels: Sequence[int],
) -> ModuloSchedule | None:
    """The schedule in which tasks start, are begun by the host, and have channels like this; None where a
    task would start before what it takes over from the frame before.
    """
    takes = problem.takes
    if any(starts[one] + takes[one] > starts[other] + period for one, other in problem.carried):
        return None
    return ModuloSchedule(
        period=period,
        starts=tuple(starts),
        issues=tuple(issues),
        channels=tuple(channels),
        end=max((start + takes[number] for number, start in enumerate(starts)), default=0),
    )


class _Table:
    """The reservations of a period so far."""

    def __init__(self, problem: FrameProblem, sizes: Mapping[str, int], period: int, packed: float) -> None:
        self._problem, self._sizes, self._period, self._packed = problem, sizes, period, packed
        self._busy: dict[tuple[str, int], list[Interval]] = {}
        self._held: dict[str, list[tuple[int, int, int]]] = {}
        """By memory, pieces of the period with bytes that are held in them."""
        self._host: list[Interval] = []
        """The host's own work: places in the period, and times."""
        self._windows: list[Interval] = []
        """When asynchronous tasks can be started: from the end of what they wait for to their own start."""
        self.starts = [0] * len(problem.steps)
        self.channels = [0] * len(problem.steps)

    def place(self, block: TaskBlock) -> bool:
        """Place a block; False where it goes nowhere."""
        ready = self._ready(block)
        places = (
            (start, turn)
            for turn in range(self._turns(block))
            if (start := self._earliest(block, turn, ready)) is not None
        )
        place = min(places, default=None)
        if place is not None:
            self._take(block, *place)
        return place is not None

    def issue(self, number: int) -> int:
        """When the host starts a task: at its own start, or before work of the host's own that begins
        earlier and ends later.
        """
        start = self.starts[number]
        if self._problem.where[number] == HOST:
            return start
        return start - self._into_host(start)

    def _into_host(self, time: int) -> int:
        """How long the host has been busy with a task at a time; 0 where it can start others."""
        gone = ((time - begin) % self._period for begin, _ in self._host)
        inside = (into for into, (_, takes) in zip(gone, self._host, strict=True) if 0 < into < takes)
        return next(inside, 0)

    def _ready(self, block: TaskBlock) -> int:
        """The first time at which all that the block needs from others is there, and the host can begin it.
        What follows on a core is issued while the core is at work.
        """
        where = self._problem.where[block.tasks[0]]
        if where == HOST:
            return self._needed(block)
        if where not in self._problem.cores:
            return self._begun(self._needed(block))
        return max(self._needed(block), self._begun(self._needed(block, without=where)))

    def _begun(self, ready: int) -> int:
        """When the host can begin what is ready then."""
        for begin, takes in self._host:
            into = (ready - begin) % self._period
            if 0 < into < takes:
                return ready + takes - into
        return ready

    def _needed(self, block: TaskBlock, without: str | None = None) -> int:
        """When what a block needs is over; without what one resource does, if one is given."""
        inside = set(block.tasks)
        ends = (
            self.starts[other] + self._problem.takes[other] - start
            for number, start in zip(block.tasks, block.starts, strict=True)
            for other in self._problem.before[number]
            if other not in inside and self._problem.where[other] != without
        )
        return max((0, *ends))

    def _turns(self, block: TaskBlock) -> int:
        """The ways to exchange channels."""
        return max(self._problem.widths.get(self._problem.where[number], 1) for number in block.tasks)

    def _where(self, block: TaskBlock, turn: int) -> Iterator[tuple[int, tuple[str, int], int, int]]:
        """The tasks of a block with resource and channel, start and time."""
        for number, start, channel in zip(block.tasks, block.starts, block.channels, strict=True):
            where = self._problem.where[number]
            width = self._problem.widths.get(where, 1)
            yield number, (where, (channel + turn) % width), start, self._problem.takes[number]

    def _earliest(self, block: TaskBlock, turn: int, ready: int) -> int | None:
        """The first start from `ready` on at which the block goes in; None where it never does."""
        impossible, dense = list[Interval](), False
        for _, where, start, takes in self._where(block, turn):
            if takes > self._period:
                return None
            width = self._problem.widths.get(where[0], 1)
            dense |= self._problem.busy[where[0]] >= self._packed * self._period * width
            for begin, end in self._busy.get(where, ()) if takes else ():
                impossible.append((begin - start - takes, end - start))
        impossible += self._overfull(block)
        impossible += self._unissued(block)
        if not impossible:
            return ready
        return _free(impossible, self._period, ready, dense)

    def _unissued(self, block: TaskBlock) -> Iterator[Interval]:
        """The starts with which the host would be busy all the time in which it should start a task."""
        if is_of_host(self._problem, block):
            takes = self._problem.takes[block.tasks[0]]
            for ready, start in self._windows:
                if start - ready < takes:
                    yield start - takes, ready
            return
        starts = dict(zip(block.tasks, block.starts, strict=True))
        for number, start in starts.items():
            before = (other for other in self._problem.before[number] if other in starts)
            ready = max((starts[other] + self._problem.takes[other] for other in before), default=start)
            for begin, takes in self._host if len(starts) > 1 else ():
                if start - ready < takes:
                    yield begin - ready, begin + takes - start

    def _overfull(self, block: TaskBlock) -> Iterator[Interval]:
        """The starts with which a memory would hold too much."""
        for memory in sorted({held.memory for held in block.held}):
            levels = _levels(held for held in block.held if held.memory == memory)
            size = self._sizes[memory]
            for begin, end, own in levels:
                if end - begin > self._period or own > size:
                    yield 0, 2 * self._period
            for first, last, there in flat(self._held.get(memory, ())):
                for begin, end, own in levels:
                    if there + own > size:
                        yield first - end, last - begin

    def _take(self, block: TaskBlock, start: int, turn: int) -> None:
        for number, where, offset, takes in self._where(block, turn):
            self.starts[number], self.channels[number] = start + offset, where[1]
            if where[0] != HOST:
                self._windows.append((self._available(number), self.starts[number]))
            else:
                self._host.append((self.starts[number] % self._period, takes))
            if takes:
                self._busy.setdefault(where, []).extend(pieces(start + offset, takes, self._period))
        for held in block.held:
            there = self._held.setdefault(held.memory, [])
            spans = pieces(start + held.begin, held.end - held.begin, self._period)
            there += [(begin, end, held.bytes) for begin, end in spans]

    def _available(self, number: int) -> int:
        """When the steps have ended for which the host waits before a task."""
        where = (self._problem.where[number], self.channels[number])
        return max(
            (
                self.starts[other] + self._problem.takes[other]
                for other in self._problem.before[number]
                if (self._problem.where[other], self.channels[other]) != where
            ),
            default=0,
        )


def _levels(held: Iterable[HeldBytes]) -> list[tuple[int, int, int]]:
    return flat((each.begin, each.end, each.bytes) for each in held)


def _free(impossible: Sequence[Interval], period: int, ready: int, dense: bool) -> int | None:
    """The first start from `ready` on that is possible; with `dense`, right beside something."""
    merged = _merged(impossible, period)
    if merged is None:
        return None
    gaps = [(end, begin) for (_, end), (begin, _) in pairwise((*merged, (merged[0][0] + period, 0)))]
    starts = []
    for first, last in gaps:
        length = last - first
        begin = ready + (first - ready) % period
        inside = (ready - first) % period
        if inside > length:
            starts.append(begin)
        elif dense and inside:
            starts.append(ready + length - inside)
        else:
            starts.append(ready)
    return min(starts, default=None)


def _merged(impossible: Sequence[Interval], period: int) -> list[Interval] | None:
    """The intervals of one period, in order and apart; None where nothing is left of it."""
    copies: list[Interval] = []
    for begin, end in impossible:
        if end - begin > period:
            return None
        shift = begin % period - begin
        copies += [(begin + shift + turn, end + shift + turn) for turn in (-period, 0, period)]
    merged: list[Interval] = []
    for begin, end in sorted(copies):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    if any(end - begin > period for begin, end in merged):
        return None
    return [one for one in merged if 0 <= one[0] < period]
