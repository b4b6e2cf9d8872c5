"""The anytime search: the exact search of `descend`, restarted with other preferences each time.

One preference may take a thousand times longer than another, so none gets much at first. A round tries all of
`ORDERS` twice; the next round does so with twice the nodes.

The first attempts take the orders as they are. All later ones learn: each attempt says in which sections of
time the stacks did not fit, and how often, and the buffers of the sections that failed most are preferred;
the letters of the order, every other time with jitter, decide among them. Older failures count half as much
with each attempt. (So do solvers of constraints with the variables of constraints that failed: Boussemart et
al., "Boosting Systematic Search by Weighting Constraints", ECAI 2004.)

The first half of a round asks for the goal. The second half asks in turn for half of the gap to it and for
one byte less than the best so far, so that the plan gets better even where the goal is out of reach. Other
sections fail at other heights, so each of the three learns by itself. A height that an attempt proves
impossible raises the goal of all after it.
"""

from collections.abc import Sequence
from itertools import count
from random import Random
from time import monotonic

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing import cores
from target_arch.stages.memory.packing.descend import FOUND, INFEASIBLE
from target_arch.stages.memory.packing.fast import attempts
from target_arch.stages.memory.packing.measure import Offsets, groups, least, peak
from target_arch.stages.memory.packing.preference import ORDERS, Preference, sections

_FIRST_NODES = 8
"""Nodes per buffer of the attempts of the first round."""

_JITTER = (0, 30)
"""Of `UNIT`, in turn."""

_FAILURES = 2**20
"""The weight of all failures of an attempt together. Integers: alike on every machine."""


def greedy(buffers: Sequence[Buffer], goal: int = 0) -> Offsets:
    """The lowest of all fast plans; the first one that reaches the goal or the bound."""
    return lowest(buffers, max(goal, least(buffers)))


def lowest(buffers: Sequence[Buffer], goal: int) -> Offsets:
    """As `greedy`, with a goal that is not below the bound."""
    best, height = Offsets(found_by="nothing to place"), -1
    for offsets in attempts(buffers) if buffers else ():
        highest = peak(buffers, offsets)
        if height < 0 or highest < height:
            best, height = offsets, highest
        if height <= goal:
            break
    return best


def search(buffers: Sequence[Buffer], *, effort: Effort | None = None) -> Offsets:
    """The lowest plan found within the effort; never higher than `greedy`."""
    effort = effort or Effort()
    best = greedy(buffers, effort.goal)
    return improve(buffers, best, effort)


def improve(buffers: Sequence[Buffer], start: Offsets, effort: Effort) -> Offsets:
    """Search for a lower plan than the start. Groups of buffers that share no step are searched one by one,
    the highest first.
    """
    goal = max(effort.goal, least(buffers))
    clock = _Clock(effort)
    lower, best = 0, Offsets(start, start.found_by, start.lower)
    parts = sorted(groups(buffers), key=lambda part: -peak(part, start))
    left = len(buffers)
    for part in parts:
        if peak(part, best) <= goal:
            break
        clock.share(len(part), left)
        left -= len(part)
        found = _Part(part, best, goal, effort.seed, clock).run()
        best.update(found)
        lower = max(lower, found.lower)
        goal = max(goal, peak(part, found))
        best.found_by, best.core = found.found_by or best.found_by, found.core
    best.lower = lower
    return best


class _Clock:
    """The remaining effort."""

    def __init__(self, effort: Effort) -> None:
        self._timed = effort.seconds is not None
        self._end = monotonic() + (effort.seconds or 0)
        self._nodes = self._part_nodes = effort.nodes
        self._part_end = self._end
        self._rate = 1000.0

    def share(self, part: int, whole: int) -> None:
        """Give the next part its share of the remaining effort."""
        now = monotonic()
        self._part_nodes = self._nodes * part // whole
        self._part_end = now + (self._end - now) * part / whole

    def nodes(self, wanted: int) -> int:
        """How many of the wanted nodes there is effort for."""
        if self._timed:
            return min(wanted, int((self._part_end - monotonic()) * self._rate))
        return min(wanted, self._part_nodes)

    def spend(self, nodes: int, seconds: float) -> None:
        """Subtract the effort of an attempt."""
        self._nodes, self._part_nodes = self._nodes - nodes, self._part_nodes - nodes
        if nodes >= 100:
            self._rate = nodes / max(seconds, 1e-6)


class _Part:
    """The search for one group of buffers."""

    def __init__(self, buffers: list[Buffer], start: Offsets, goal: int, seed: int, clock: _Clock) -> None:
        self._buffers, self._clock = buffers, clock
        self._preference = Preference(buffers)
        self._random = Random(seed)
        self._columns = (
            [buffer.bytes for buffer in buffers],
            [buffer.alignment for buffer in buffers],
            *sections(buffers),
        )
        self._best = Offsets({buffer.name: start[buffer.name] for buffer in buffers})
        self._low, self._high = goal, peak(buffers, start)
        self._tried = 0
        self._failures = [[0] * (max(self._columns[3]) + 1) for _ in range(3)]

    def run(self) -> Offsets:
        """The best plan; `lower` is set where the goal was proven to be out of reach."""
        goal = self._low
        for attempt in count():
            rounds, turn = divmod(attempt, 2 * len(ORDERS))
            letters = ORDERS[turn % len(ORDERS)]
            label, wanted = f"search {letters}", _FIRST_NODES * len(self._buffers) * 2**rounds
            order, share = self._preference.order(letters), 0
            if attempt >= len(ORDERS):
                share = 0 if turn < len(ORDERS) else 1 + turn % 2
                jitter = _JITTER[attempt % len(_JITTER)]
                order = self._preference.order(letters, self._random, jitter, self._failures[share])
                label += f" restart {attempt}"
            if not self._try(order, wanted, share, label):
                break
        self._best.lower = self._low if self._low > goal else 0
        return self._best

    def _try(self, order: list[int], wanted: int, share: int, label: str) -> bool:
        """One descent, at a capacity `share` halves of the gap above the goal. False where the search is
        over.
        """
        if self._low >= self._high:
            return False
        nodes = self._clock.nodes(wanted)
        if nodes <= 0:
            return False
        core, name = cores.fitting((self._tried + nodes) * len(order))
        capacity = self._low + (self._high - 1 - self._low) * share // 2
        begun = monotonic()
        ended, tried, offsets, overfull = core(
            [[column[number] for number in order] for column in self._columns], capacity, nodes
        )
        self._clock.spend(max(tried, 1), monotonic() - begun)
        self._tried += tried
        self._learn(share, overfull)
        if ended == FOUND:
            names = (self._buffers[number].name for number in order)
            found_by = f"{label} after {self._tried:,} nodes"
            self._best = Offsets(zip(names, offsets, strict=True), found_by, core=name)
            self._high = peak(self._buffers, self._best)
        elif ended == INFEASIBLE:
            self._low = capacity + 1
        return self._low < self._high

    def _learn(self, share: int, overfull: Sequence[int]) -> None:
        """Add the failures of an attempt, by section, to half of those before it at such capacities."""
        every = max(sum(overfull), 1)
        self._failures[share] = [
            before // 2 + _FAILURES * times // every
            for before, times in zip(self._failures[share], overfull, strict=True)
        ]
