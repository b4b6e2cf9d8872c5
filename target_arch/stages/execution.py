"""The order in which operators run: a topological order that keeps the peak of live activation bytes low.

An exact search over the sets of operators already run (the fewest live bytes at the peak first) while it is
affordable, then a greedy order; the model's own order is kept unless one of these is strictly better.
"""

import heapq
from collections.abc import Sequence

from target_arch.plan.model import Model, Operator

STATES = 20_000
"""How many sets of executed operators the exact search may visit before it gives up."""


def execution_order(model: Model, states: int = STATES) -> tuple[Operator, ...]:
    """The operators in execution order. Its peak of live bytes is never above that of the model's own
    order.
    """
    problem = _Liveness(model)
    original = tuple(range(len(model.operators)))
    best, peak = original, problem.peak(original)
    for order in (problem.exact(states, peak), problem.greedy()):
        if order is not None and problem.peak(order) < peak:
            best, peak = order, problem.peak(order)
    return tuple(model.operators[index] for index in best)


class _Liveness:
    """Live activation bytes of a model, operators and tensors by number."""

    def __init__(self, model: Model) -> None:
        self.count = len(model.operators)
        produced = {op.output: index for index, op in enumerate(model.operators)}
        self._size = {name: model.tensors[name].bytes for name in (*model.inputs, *produced)}
        self._inputs = [
            tuple(dict.fromkeys(n for n in op.inputs if n in self._size)) for op in model.operators
        ]
        self._output = [op.output for op in model.operators]
        self._before = [sum(1 << produced[n] for n in names if n in produced) for names in self._inputs]
        self._users = dict.fromkeys(self._size, 0)
        for index, names in enumerate(self._inputs):
            for name in names:
                self._users[name] |= 1 << index
        self._kept = frozenset(model.outputs)
        self._start = sum(self._size[name] for name in model.inputs)

    def peak(self, order: Sequence[int]) -> int:
        """The largest sum of live bytes while the operators run in that order."""
        done, live, peak = 0, self._start, self._start
        for index in order:
            at, after = self._run(index, done, live)
            done, live, peak = done | 1 << index, after, max(peak, at)
        return peak

    def greedy(self) -> tuple[int, ...]:
        """Next is always the ready operator that leaves the fewest bytes live."""
        order: list[int] = []
        done, live = 0, self._start
        waiting = list(range(self.count))
        while waiting:
            ready = [index for index in waiting if self._before[index] & ~done == 0]
            index = min(ready, key=lambda ready: (*reversed(self._run(ready, done, live)), ready))
            waiting.remove(index)
            live = self._run(index, done, live)[1]
            done |= 1 << index
            order.append(index)
        return tuple(order)

    def exact(self, states: int, limit: int) -> tuple[int, ...] | None:
        """An order of least peak, or None where `states` do not suffice or no order stays below `limit`."""
        everything = (1 << self.count) - 1
        came: dict[int, tuple[int, int]] = {0: (-1, 0)}
        heap = [(self._start, 0, 0, self._start)]
        settled: set[int] = set()
        while heap and len(settled) < states:
            peak, _, done, live = heapq.heappop(heap)
            if done in settled:
                continue
            if done == everything:
                return self._path(came)
            settled.add(done)
            for index in self._ready(done):
                at, after = self._run(index, done, live)
                then, worst = done | 1 << index, max(peak, at)
                if worst < limit and then not in settled and (then not in came or worst < came[then][1]):
                    came[then] = (index, worst)
                    heapq.heappush(heap, (worst, -then.bit_count(), then, after))
        return None

    def _ready(self, done: int) -> list[int]:
        return [i for i in range(self.count) if not done >> i & 1 and self._before[i] & ~done == 0]

    def _run(self, index: int, done: int, live: int) -> tuple[int, int]:
        """Live bytes while an operator runs and after it."""
        at = live + self._size[self._output[index]]
        after = done | 1 << index
        gone = [
            n
            for n in (*self._inputs[index], self._output[index])
            if n not in self._kept and not self._users[n] & ~after
        ]
        return at, at - sum(self._size[name] for name in gone)

    def _path(self, came: dict[int, tuple[int, int]]) -> tuple[int, ...]:
        order: list[int] = []
        done = (1 << self.count) - 1
        while done:
            index = came[done][0]
            order.append(index)
            done &= ~(1 << index)
        return tuple(reversed(order))
