"""List scheduling of items, so that as many steps as possible run at the same time.

Items are taken as soon as their bytes are ready and memory allows it (`headroom`); first the item with the
longest path to the end (as in HEFT, see `heft`). A copy begins when a channel is free, but before the host
starts long work, all copies are queued that can run meanwhile.

While the host computes, it begins nothing for others. An eager host waits only if nothing else can begin; a
patient one also if something else will be ready before its work ends, and the longer of both paths to the end
is shorter that way.

Runs of one instance keep the order of the program, so placement decides their order.
"""

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from target_arch.stages.program.dependences import dependences
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.steps.headroom import Headroom
from target_arch.stages.steps.simulation.clock import HOST, Clock
from target_arch.stages.steps.simulation.orders import Orders
from target_arch.stages.steps.simulation.times import Times

AHEAD = 32
"""How many partitions ahead of the first unfinished one items are considered."""
NEAR = 1_000
"""How many items ahead, as a partition may be a thousand operators: each is tried whenever memory is free."""
PATIENCE = 5_000
"""A program of more items is ordered for an eager host alone: a second order takes as long as the first."""


@frozen(kw_only=True)
class OrderProblem:
    """A program as a scheduling problem: for every item its predecessors, its time, and its resource.

    `widths` is the number of channels of each engine; every other resource does one thing at a time. `orders`
    are what items of others take of the host.
    """

    program: Program
    before: Sequence[tuple[int, ...]]
    takes: Sequence[int]
    where: Sequence[str]
    widths: Mapping[str, int]
    orders: Orders
    ranks: Sequence[int]
    """Picoseconds from the start of an item to the end of everything that depends on it."""


def problem(work: PartialLowering, program: Program, times: Times) -> OrderProblem:
    """The problem of a program."""
    hosts = frozenset(i.name for i in work.soc.instances if i.arch.host)
    before = dependences(program)
    takes = [_takes(item, times) for item in program.items]
    return OrderProblem(
        program=program,
        before=before,
        takes=takes,
        where=[_where(item, hosts) for item in program.items],
        widths={dma.name: dma.channels for dma in work.soc.dmas},
        orders=times.orders,
        ranks=_ranks(before, takes),
    )


def _ranks(before: Sequence[tuple[int, ...]], takes: Sequence[int]) -> list[int]:
    """Picoseconds from the start of each item to the end of all items that depend on it."""
    ranks = list(takes)
    for number in range(len(takes) - 1, -1, -1):
        for other in before[number]:
            ranks[other] = max(ranks[other], takes[other] + ranks[number])
    return ranks


def list_orders(work: PartialLowering, given: OrderProblem, held: Collection[str] = ()) -> Iterator[Program]:
    """The program with its items in orders that overlap: that of an eager host and, where it differs and the
    program is not long (`PATIENCE`), that of a patient one. In `held` memories no buffer begins early.
    """
    for patient in (False, True):
        interleaver = _Interleaver(given, Headroom(work.soc, given.program, held), patient=patient)
        order = interleaver.order()
        yield evolve(given.program, items=tuple(given.program.items[number] for number in order))
        if not interleaver.hasty or len(given.program.items) > PATIENCE:
            return


def _takes(item: Item, times: Times) -> int:
    if isinstance(item, Run):
        return times.run(item.partition, item.operator)
    return sum(times.transfer(item.path, source.bytes) for source, _ in item.pieces)


def _where(item: Item, hosts: Collection[str]) -> str:
    if isinstance(item, Run):
        return HOST if item.instance in hosts or item.reserved else item.instance
    return item.path.engine if item.path.is_async else HOST


class _Interleaver:
    """An order in which items are taken. `hasty` says whether the host has begun work for which a patient one
    would have waited.
    """

    def __init__(self, given: OrderProblem, room: Headroom, *, patient: bool) -> None:
        self._given, self._room = given, room
        self._patient, self.hasty = patient, False
        count = len(given.takes)
        self._after: list[list[int]] = [[] for _ in range(count)]
        for number, before in enumerate(given.before):
            for other in before:
                self._after[other].append(number)
        self._missing = [len(before) for before in given.before]
        self._done = [-1] * count
        self._clock = Clock(given.widths, given.orders)
        self._unsettled = set[int]()
        self._turn = self._entered = 0
        self._turns = _turns(given.program.items)
        self._order: list[int] = []
        self._later: list[tuple[int, int, int]] = []
        self._ready: dict[str, list[tuple[int, int]]] = {}
        self._barred: list[tuple[int, int, int]] = []

    def order(self) -> list[int]:
        """The numbers of all items in the order in which they are taken."""
        self._enter()
        while len(self._order) < len(self._done):
            self._queue_ready()
            if not (self._begin_copies(self._clock.now) or self._begin_on_host()):
                self._advance()
        return self._order

    def _enter(self) -> None:
        """Consider items up to some partitions ahead of the first that was not taken."""
        turns, end = self._turns, min(len(self._turns), self._turn + NEAR)
        while self._entered < end and turns[self._entered] <= turns[self._turn] + AHEAD:
            if not self._missing[self._entered]:
                self._await(self._entered)
            self._entered += 1

    def _await(self, number: int) -> None:
        """All predecessors of the item have begun: it can begin when they are over."""
        where, given = self._given.where, self._given
        own = where[number] if where[number] not in given.widths else None
        ends = (self._done[other] for other in given.before[number] if where[other] != own)
        heapq.heappush(self._later, (max(ends, default=0), -given.ranks[number], number))

    def _queue_ready(self) -> None:
        """Move items that have become ready to their queues."""
        while self._barred and self._barred[0][0] <= self._turn:
            _, time, number = heapq.heappop(self._barred)
            heapq.heappush(self._later, (time, -self._given.ranks[number], number))
        while self._later and self._later[0][0] <= self._clock.now:
            _, rank, number = heapq.heappop(self._later)
            heapq.heappush(self._ready.setdefault(self._given.where[number], []), (rank, number))

    def _begin_copies(self, until: int) -> bool:
        """Begin asynchronous items on every resource that is free at `until` or earlier."""
        begun = False
        for where in sorted(self._ready.keys() - {HOST}):
            ready = self._ready[where]
            while ready and (where not in self._given.widths or self._clock.free(where) <= until):
                begun = self._take(heapq.heappop(ready)[1]) or begun
        return begun

    def _begin_on_host(self) -> bool:
        ready = self._ready.get(HOST)
        while ready:
            if (self._patient or not self.hasty) and self._is_better_later(ready[0][1]):
                if self._patient:
                    return False
                self.hasty = True
            number = heapq.heappop(ready)[1]
            if self._refused(number):
                continue
            self._begin_copies(self._clock.now + self._given.takes[number])
            self._begin(number)
            return True
        return False

    def _is_better_later(self, number: int) -> bool:
        """Whether everything ends sooner if the host first waits for an item that others take over, as far as
        the longest paths tell.
        """
        now, takes, ranks = self._clock.now, self._given.takes[number], self._given.ranks
        return any(
            time + max(ranks[other], ranks[number]) < now + max(ranks[number], takes + ranks[other])
            for time, _, other in self._later
            if time < now + takes and self._given.where[other] != HOST
        )

    def _advance(self) -> None:
        """Advance the host's time until another item can begin."""
        busy = [self._clock.free(where) for where, ready in self._ready.items() if ready and where != HOST]
        self._clock.wait_until(min((*busy, *(entry[0] for entry in self._later[:1]))))

    def _take(self, number: int) -> bool:
        if self._refused(number):
            return False
        self._begin(number)
        return True

    def _refused(self, number: int) -> bool:
        """True if the item must wait for memory; it is tried again when that may have changed."""
        refused = self._room.refused(number, self._turn, self._clock.now)
        if refused is None:
            return False
        if refused.until > self._turn:
            heapq.heappush(self._barred, (refused.until, self._clock.now, number))
        else:
            heapq.heappush(self._later, (refused.time, -self._given.ranks[number], number))
        return True

    def _begin(self, number: int) -> None:
        where, takes = self._given.where[number], self._given.takes[number]
        self._settle(number)
        start, self._done[number] = self._clock.begin(where, self._clock.now, takes)
        self._room.take(number, self._turn, start, start + takes)
        self._order.append(number)
        if where in self._given.orders:
            self._unsettled.add(number)
        while self._turn < len(self._done) and self._done[self._turn] >= 0:
            self._turn += 1
        for other in self._after[number]:
            self._missing[other] -= 1
            if not self._missing[other] and other < self._entered:
                self._await(other)
        if self._turn < len(self._done):
            self._enter()

    def _settle(self, number: int) -> None:
        """The host sees that what an item needs of other resources is over."""
        given = self._given
        for other in self._unsettled.intersection(given.before[number]) if self._unsettled else ():
            if given.where[other] != given.where[number]:
                self._unsettled.remove(other)
                self._clock.wait_until(self._clock.now + given.orders[given.where[other]].end)


def _turns(items: Sequence[Item]) -> list[int]:
    """The number of every item's partition, in order."""
    turns: list[int] = []
    last: str | None = None
    for item in items:
        turns.append((turns[-1] if turns else -1) + (item.partition != last))
        last = item.partition
    return turns
